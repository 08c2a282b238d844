"""Messages of pgoutput as events."""

from contextlib import suppress
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.postgres_cdc_source.logical.errors import BadMessage
from connectors.postgres_cdc_source.logical.wire import events as ev
from connectors.postgres_cdc_source.logical.wire.messages import Decoder
from connectors.postgres_cdc_source.logical.wire.values import Beyond, Missing
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

INSERT = change(b"I", row(b"N", text("5"), text("ü" * 200), text("2024-02-29")))


def test_a_relation_says_its_columns_and_its_key() -> None:
    found = Decoder(resolve).decode(relation(), 0, 9)
    assert isinstance(found, ev.Relation)
    assert (found.lsn, found.oid, found.namespace, found.name, found.identity) == (9, 7, "public", "t", "d")
    assert [(column.name, column.in_key) for column in found.columns] == [("id", True), ("name", False), ("day", False)]
    assert found.key == (0,)
    assert [field.name for field in found.schema.fields] == ["id", "name", "day"]


def test_a_transaction_has_its_number_its_places_and_its_time() -> None:
    made = Decoder(resolve)
    assert made.decode(b"B" + pack(">QqI", 100, 1_000_000, 77), 0, 90) == ev.Begin(90, 77, 100, 946_684_801_000_000)
    assert made.decode(b"C\0" + pack(">QQq", 100, 110, 1_000_000), 0, 110) == ev.Commit(110, 100, 110, 946_684_801_000_000)


def test_origins_types_and_messages_are_events() -> None:
    made = Decoder(resolve)
    assert made.decode(b"O" + pack(">Q", 5) + b"other\0") == ev.Origin(0, 5, "other")
    assert made.decode(b"Y" + pack(">I", 9) + b"\0mood\0") == ev.NamedType(0, 0, 9, "pg_catalog", "mood")
    assert made.decode(b"M\x01" + pack(">Q", 5) + b"app\0" + pack(">I", 2) + b"\0x", 0, 4) == ev.Message(5, 0, True, "app", b"\0x")


def test_rows_are_typed_alone_and_in_frames() -> None:
    made = decoder()
    found = made.decode(INSERT, 0, 3)
    assert isinstance(found, ev.Insert)
    assert found.new[:2] == (5, "ü" * 200)
    assert str(found.new[2]) == "2024-02-29"
    assert made.decode_frames([frame(INSERT, 3)]) == [found]


def test_a_changed_row_is_the_same_alone_and_in_frames() -> None:
    made = decoder()
    for message in (change(b"U", row(b"N", text("5"), SAME, NULL)), change(b"U", row(b"K", text("4"), NULL, NULL), INSERT[5:])):
        assert made.decode_frames([frame(message, 3)]) == [made.decode(message, 0, 3)]


def test_null_is_none_and_unchanged_is_not() -> None:
    found = decoder().decode(change(b"U", row(b"N", text("5"), SAME, NULL)))
    assert isinstance(found, ev.Update)
    assert found.new == (5, Missing.UNCHANGED, None)
    assert found.old is None


def test_an_old_key_has_nothing_but_the_key() -> None:
    found = decoder().decode(change(b"U", row(b"K", text("4"), NULL, NULL), row(b"N", text("5"), text("a"), NULL)))
    assert isinstance(found, ev.Update)
    assert found.old == (4, Missing.ABSENT, Missing.ABSENT)
    gone = decoder().decode(change(b"D", row(b"K", text("4"), NULL, NULL)))
    assert isinstance(gone, ev.Delete)
    assert gone.old == (4, Missing.ABSENT, Missing.ABSENT)


def test_what_did_not_change_is_taken_from_a_whole_old_row() -> None:
    found = decoder(b"f").decode(change(b"U", row(b"O", text("5"), text("big"), NULL), row(b"N", text("6"), SAME, NULL)))
    assert isinstance(found, ev.Update)
    assert found.new == (6, "big", None)
    assert found.old == (5, "big", None)


def test_a_value_that_python_lacks_does_not_spoil_its_row() -> None:
    insert = change(b"I", row(b"N", text("5"), text("a"), text("infinity")))
    made = decoder()
    for found in (made.decode(insert), *made.decode_frames([frame(insert)])):
        assert isinstance(found, ev.Insert)
        assert found.new == (5, "a", Beyond("infinity"))


def test_a_truncation_names_its_tables() -> None:
    found = decoder().decode(b"T" + pack(">IBI", 1, 3, 7))
    assert isinstance(found, ev.Truncate)
    assert ([each.name for each in found.relations], found.cascade, found.restart_identity) == (["t"], True, True)


def test_parts_of_a_transaction_in_progress_have_its_number() -> None:
    made = Decoder(resolve)
    assert made.decode(b"S" + pack(">IB", 77, 1)) == ev.StreamStart(0, 77, True)
    described = relation()
    made.decode(described[:1] + pack(">I", 77) + described[1:])
    found = made.decode_frames([frame(INSERT[:1] + pack(">I", 78) + INSERT[1:])])[0]
    assert isinstance(found, ev.Insert)
    assert (found.xid, found.new[0]) == (78, 5)
    assert made.decode(b"E") == ev.StreamStop(0)
    assert made.decode(b"A" + pack(">II", 77, 78)) == ev.StreamAbort(0, 77, 78)
    assert made.decode(b"c" + pack(">IBQQq", 77, 0, 100, 110, 0)) == ev.StreamCommit(0, 77, 100, 110, 946_684_800_000_000)
    # Behind it there is no number any more.
    assert isinstance(made.decode(INSERT), ev.Insert)


def test_a_table_that_was_altered_is_read_by_its_new_description() -> None:
    made = decoder()
    made.decode(relation(columns=[*COLUMNS, (0, b"more", 16)]))
    found = made.decode(change(b"I", row(b"N", text("5"), NULL, NULL, text("t"))))
    assert isinstance(found, ev.Insert)
    assert found.new == (5, None, None, True)


def test_a_table_of_1600_columns_is_read() -> None:
    made = Decoder(resolve)
    made.decode(relation(columns=[(0, b"c%d" % number, 23) for number in range(1600)]))
    found = made.decode(change(b"I", row(b"N", *(text(str(number)) for number in range(1600)))))
    assert isinstance(found, ev.Insert)
    assert found.new == tuple(range(1600))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "bytes are missing"),
        (b"?", "no message of kind '\\?'"),
        (b"B\0", "bytes are missing"),
        (b"C\0" + bytes(25), "longer than what it says"),
        (b"Y\0\0\0\0abc", "no end"),
        (b"Y\0\0\0\0\xff\0x\0", "not UTF-8"),
        (relation(b"x"), "replica identity"),
        (relation()[:-1], "bytes are missing"),
        (b"I\0\0\0\x08", "not described"),
        (b"T\xff\xff\xff\xff\0", "bytes are missing"),
        (b"M\0" + bytes(8) + b"\0\xff\xff\xff\xff", "bytes are missing"),
        (change(b"I", row(b"K", text("5"), NULL, NULL)), "new row is missing"),
        (change(b"D", row(b"N", text("5"), NULL, NULL)), "row is missing"),
        (change(b"I", row(b"N", text("5"))), "has 1 column"),
        (change(b"I", row(b"N", text("5"), NULL, b"")), "before column 'day'"),
        (change(b"I", row(b"N", text("5"), NULL, b"t\0\0")), "column 'day' is longer"),
        (change(b"I", row(b"N", text("5"), NULL, b"t\x7f\xff\xff\xffx")), "column 'day' is longer"),
        (change(b"I", row(b"N", text("5"), b"t\x7f\xff\xff\xffx", NULL)), "column 'name' is longer"),
        (change(b"I", row(b"N", text("5"), NULL, b"x")), "column 'day' is of no kind"),
        (change(b"I", row(b"N", b"b\0\0\0\x04\0\0\0\5", NULL, NULL)), "binary form"),
        (change(b"I", row(b"N", text("five"), NULL, NULL)), "column 'id' is none of its type"),
        (change(b"I", row(b"N", text("5"), b"t\0\0\0\x01\xff", NULL)), "column 'name' is none of its type"),
        (INSERT + b"x", "longer than what it says"),
    ],
)
def test_bad_bytes_are_one_error_that_says_what_is_wrong(message: bytes, reason: str) -> None:
    with pytest.raises(BadMessage, match=reason):
        decoder().decode(message)
    with pytest.raises(BadMessage, match=reason if message else "the message is empty"):
        decoder().decode_frames([frame(message)])


MESSAGES = [
    relation(),
    INSERT,
    change(b"U", row(b"O", text("5"), SAME, NULL), row(b"N", text("5"), SAME, text("2024-02-29"))),
    change(b"D", row(b"K", text("5"), NULL, NULL)),
    b"T" + pack(">IBI", 1, 3, 7),
    b"S" + pack(">IB", 77, 1),
    b"Y" + pack(">I", 9) + b"\0mood\0",
]


@given(st.binary(max_size=200))
def test_any_bytes_are_an_event_or_the_error(message: bytes) -> None:
    _decode(decoder(), message)


@given(st.lists(st.tuples(st.sampled_from(MESSAGES), st.integers(0, 400), st.integers(0, 255)), max_size=5))
def test_a_wrong_byte_anywhere_is_an_event_or_the_error(changes: list[tuple[bytes, int, int]]) -> None:
    made = decoder()
    for message, place, byte in changes:
        at = place % len(message)
        _decode(made, message[:at] + bytes([byte]) + message[at + 1 :])


@given(st.sampled_from(MESSAGES), st.integers(0, 400))
def test_a_message_that_is_cut_off_is_the_error(message: bytes, length: int) -> None:
    with pytest.raises(BadMessage):
        decoder().decode(message[: length % len(message)])


def _decode(made: Decoder, message: bytes) -> None:
    for decode in (lambda: made.decode(message), lambda: made.decode_frames([frame(message)])):
        with suppress(BadMessage):
            decode()
