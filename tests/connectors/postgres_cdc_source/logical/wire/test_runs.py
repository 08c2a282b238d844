"""Messages that are read many at once say what they say one by one."""

import tracemalloc
from collections.abc import Sequence
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.postgres_cdc_source.logical.errors import BadMessage
from connectors.postgres_cdc_source.logical.wire import events as ev
from connectors.postgres_cdc_source.logical.wire.messages import Decoder
from connectors.postgres_cdc_source.logical.wire.runs import LEAST
from connectors.postgres_cdc_source.logical.wire.values import Missing
from connectors.postgres_cdc_source.rows.log_columns import LogColumns, LoggedRows
from rocketconnect_sdk.errors import RecordError
from tests.connectors.postgres_cdc_source.logical.messages import (
    COLUMNS,
    NULL,
    SAME,
    change,
    decoder,
    frame,
    relation,
    resolve,
    row,
    text,
)

BINARY = b"b\0\0\0\x04\0\0\0\5"
BEGIN, COMMIT = b"B" + pack(">QqI", 100, 1_000_000, 77), b"C\0" + pack(">QQq", 100, 110, 1_000_000)
NEW = row(b"N", text("5"), text("ü" * 200), text("2024-02-29"))
OLD, KEY = row(b"O", text("5"), NULL, text("0001-01-01")), row(b"K", text("4"), NULL, NULL)
INSERT, UPDATE, DELETE = change(b"I", NEW), change(b"U", NEW), change(b"D", KEY)
PLAIN = [INSERT, UPDATE, DELETE, change(b"U", OLD, NEW), change(b"D", OLD), change(b"I", row(b"N", text("-7"), NULL, NULL))]
OTHERS = [
    BEGIN,
    COMMIT,
    change(b"U", KEY, NEW),
    change(b"U", row(b"N", text("5"), SAME, NULL)),
    change(b"U", OLD, row(b"N", text("5"), SAME, NULL)),
    change(b"I", NEW, oid=8),
    relation(oid=8),
    relation(),
    relation(b"f", columns=[*COLUMNS, (0, b"more", 16)]),
    b"M\x01" + pack(">Q", 5) + b"app\0" + pack(">I", 2) + b"\0x",
]
WRONG = [
    INSERT[:-1],
    INSERT + b"x",
    change(b"U", OLD, NEW) + b"x",
    change(b"I", KEY),
    change(b"D", NEW),
    change(b"U", OLD, KEY),
    change(b"U", OLD),
    change(b"I", row(b"N", text("5"))),
    change(b"I", row(b"N", BINARY, NULL, NULL)),
    change(b"I", row(b"N", text("5"), b"t\x7f\xff\xff\xffx", NULL)),
    change(b"I"),
    b"",
]


def one_by_one(events: Sequence[ev.Event | ev.Rows]) -> list[ev.Event]:
    """Rows as the changes that they are."""
    found: list[ev.Event] = []
    for event in events:
        if not isinstance(event, ev.Rows):
            found.append(event)
            continue
        relation, kind = event.relation, event.kind
        reader = LogColumns(relation, range(len(relation.columns)))
        nothing = [None] * len(event.lsns)
        old, new = (nothing if rows is None else list(LoggedRows(rows, reader)) for rows in (event.old, event.new))
        for lsn, before, after in zip(event.lsns, old, new, strict=True):
            match kind:
                case ev.Insert:
                    found.append(ev.Insert(lsn, 0, relation, after))
                case ev.Update:
                    found.append(ev.Update(lsn, 0, relation, after, before))
                case ev.Delete:
                    found.append(ev.Delete(lsn, 0, relation, before))
    return found


def without_absent(events: Sequence[ev.Event]) -> list[ev.Event]:
    """Old keys with nulls for what is not part of them, as the server writes them."""
    return [
        event._replace(old=tuple(None if value is Missing.ABSENT else value for value in event.old))
        if isinstance(event, ev.Delete)
        else event
        for event in events
    ]


def decoders() -> tuple[Decoder, Decoder]:
    """Two, which have one description of their table."""
    return decoder(), decoder()


@given(st.lists(st.tuples(st.sampled_from([*PLAIN, *PLAIN, *OTHERS]), st.integers(1, 80)), max_size=12))
def test_many_messages_at_once_are_what_they_are_one_by_one(runs: list[tuple[bytes, int]]) -> None:
    frames = [frame(message, lsn) for message, count in runs for lsn in range(count)]
    at_once, alone = decoders()
    try:
        wanted = without_absent(alone.decode_frames(frames))
    except BadMessage:
        # A change of a table that is not described, or that has other columns.
        with pytest.raises(BadMessage):
            one_by_one(at_once.decode_many(frames))
    else:
        assert without_absent(one_by_one(at_once.decode_many(frames))) == wanted


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_message_among_many_is_the_error_that_it_is_alone(wrong: bytes) -> None:
    at_once, alone = decoders()
    with pytest.raises(BadMessage) as found:
        alone.decode_frames([frame(wrong)])
    with pytest.raises(BadMessage) as again:
        at_once.decode_many([*[frame(INSERT)] * LEAST, frame(wrong), *[frame(INSERT)] * LEAST])
    assert str(again.value) == str(found.value)


@given(st.sampled_from([INSERT, change(b"U", OLD, NEW)]), st.integers(0, 400), st.integers(0, 255))
def test_a_wrong_byte_among_many_messages_changes_no_other(message: bytes, place: int, byte: int) -> None:
    at = place % len(message)
    wrong = message[:at] + bytes([byte]) + message[at + 1 :]
    frames = [*[frame(INSERT, 3)] * LEAST, frame(wrong, 4), *[frame(DELETE, 5)] * LEAST]
    at_once, alone = decoders()
    try:
        wanted = without_absent(alone.decode_frames(frames))
    except BadMessage:
        with pytest.raises(BadMessage):
            one_by_one(at_once.decode_many(frames))
    else:
        assert without_absent(one_by_one(at_once.decode_many(frames))) == wanted


def test_many_changes_that_are_alike_are_one_event_within_others() -> None:
    frames = [BEGIN, *[INSERT] * LEAST, *[change(b"U", OLD, NEW)] * 2, DELETE, change(b"U", KEY, NEW), UPDATE, COMMIT]
    found = decoder().decode_many([frame(message, lsn) for lsn, message in enumerate(frames)])
    kinds = [event.kind if isinstance(event, ev.Rows) else type(event) for event in found]
    assert kinds == [ev.Begin, ev.Insert, ev.Update, ev.Delete, ev.Update, ev.Update, ev.Commit]
    assert [isinstance(event, ev.Rows) for event in found] == [False, True, True, True, False, True, False]
    rows = next(event for event in found if isinstance(event, ev.Rows))
    assert (rows.relation.name, rows.lsns) == ("t", list(range(1, LEAST + 1)))


def test_changes_in_a_transaction_that_is_not_over_are_read_one_by_one() -> None:
    made = Decoder(resolve)
    frames = [frame(b"S" + pack(">IB", 77, 1)), frame(b"R" + pack(">I", 77) + relation()[1:])]
    frames += [frame(INSERT[:1] + pack(">I", 78) + INSERT[1:])] * LEAST
    for found in made.decode_many(frames)[2:]:
        assert isinstance(found, ev.Insert)
        assert found.xid == 78


def test_columns_are_those_that_are_captured_of_all_rows_of_several_batches() -> None:
    made = decoder()
    (first,) = made.decode_many([frame(INSERT)] * LEAST)
    second = made.decode_many([*[frame(DELETE)] * LEAST, *[frame(change(b"D", OLD))] * 2])
    assert isinstance(first, ev.Rows)
    reader = LogColumns(first.relation, [2, 0])
    found = [rows for event in (first, *second) if isinstance(event, ev.Rows) for rows in (event.old, event.new) if rows]
    images = [LoggedRows(rows, reader) for rows in found]
    days, numbers = (array.to_pylist() for array in reader.arrays(images))
    assert list(zip(days, numbers, strict=True)) == [row for held in images for row in held]
    assert numbers == [5] * LEAST + [4] * LEAST + [5] * 2


@pytest.mark.parametrize("day", ["infinity", "2024-02-30", "0044-03-15 BC"])
def test_a_value_that_is_none_of_its_column_is_for_the_error_policy(day: str) -> None:
    inserts = [frame(change(b"I", row(b"N", text("5"), text("a"), text(each)))) for each in ["2024-02-29"] * LEAST + [day]]
    (found,) = decoder().decode_many(inserts)
    assert isinstance(found, ev.Rows)
    assert found.new is not None
    reader = LogColumns(found.relation, range(3))
    with pytest.raises(RecordError):
        reader.arrays([LoggedRows(found.new, reader)])


def test_changes_of_two_kinds_in_turns_take_no_more_memory_than_one_after_the_other() -> None:
    update = change(b"U", OLD, NEW)

    def peak(frames: list[bytes]) -> int:
        images = [LoggedRows(event.new, reader) for event in made.decode_many(frames) if isinstance(event, ev.Rows) and event.new]
        tracemalloc.start()
        reader.arrays(images)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    made = decoder()
    (first,) = made.decode_many([frame(INSERT)] * LEAST)
    assert isinstance(first, ev.Rows)
    reader = LogColumns(first.relation, range(3))
    assert peak([frame(INSERT), frame(update)] * 500) < 2 * peak([frame(INSERT)] * 500 + [frame(update)] * 500)
