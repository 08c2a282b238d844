"""The log as batches: many changes that are read at once come as they do one by one."""

from collections.abc import Sequence
from struct import pack
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.postgres_cdc_source.logical.stream import Batch, Stream
from connectors.postgres_cdc_source.logical.wire import messages
from connectors.postgres_cdc_source.logical.wire.messages import Decoder
from connectors.postgres_cdc_source.logical.wire.runs import LEAST
from connectors.postgres_cdc_source.settings import SOURCE
from connectors.postgres_cdc_source.streaming import LogReader
from connectors.postgres_cdc_source.tables import Filter, Name
from rocketconnect_sdk.changes import ChangeForm
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.making import Making, Path
from rocketconnect_sdk.record import Offset
from tests.connectors.postgres_cdc_source.logical.messages import NULL, SAME, change, frame, relation, resolve, row, text

NEW, OLD, KEY = row(b"N", text("5"), text("a"), NULL), row(b"O", text("5"), text("b"), NULL), row(b"K", text("4"), NULL, NULL)
INSERT = change(b"I", NEW)
CHANGES = [
    INSERT,
    change(b"U", NEW),
    change(b"U", OLD, NEW),
    change(b"U", row(b"O", text("7"), NULL, NULL), NEW),
    change(b"D", KEY),
    change(b"D", OLD),
    change(b"U", KEY, NEW),
    change(b"U", row(b"N", text("5"), SAME, text("2024-02-29"))),
    change(b"I", row(b"N", text("5"), NULL, text("infinity"))),
    change(b"I", NEW, oid=8),
    b"T" + pack(">IBI", 1, 0, 7),
]
_TOMBSTONES = ChangeForm(tombstones=True)


class Scripted:
    """A stream that has these frames, so many at a time."""

    def __init__(self, frames: list[bytes], at_a_time: int) -> None:
        self._pieces = [frames[place : place + at_a_time] for place in range(0, len(frames), at_a_time)]

    def read(self, timeout: float, **most: int) -> Batch:
        del timeout, most
        return Batch(self._pieces.pop(0) if self._pieces else [], 0)


def reader(
    frames: list[bytes],
    form: ChangeForm,
    columns: bool,
    behind: Offset = (),
    at_a_time: int = 1_000,
    excluded: Sequence[str] = (),
) -> LogReader:
    positions = {"table public.t": behind} if behind else {}
    making: Making[Name] = Making(
        form, "postgresql", "s", lambda name: Path("d", *name), SOURCE, "t", "${table}", columnar=columns, positions=positions
    )
    chosen = Filter([], [], excluded)
    stream = cast("Stream", Scripted(frames, at_a_time))
    return LogReader(stream, Decoder(resolve), making, chosen, lambda _: ["id"], lambda *_: None, TaskContext(columns=columns))


def records(frames: list[bytes], *args: Any) -> list[Any]:
    """Each with all that it has but for when it was read."""
    made = reader(frames, *args)
    found: list[Any] = []
    while batches := made.poll():
        for batch in batches:
            rows: list[Any] = list(batch.values)
            values = [{**each, "ts_ms": 0} if each is not None and "ts_ms" in each else each for each in rows]
            keys = [None] * len(batch) if batch.keys is None else list(batch.keys)
            headers = batch.headers or [{}] * len(batch)
            times = batch.timestamps_ms or ()
            found += zip([batch.partition] * len(batch), batch.offsets, keys, times, headers, values, strict=True)
    return sorted(found, key=lambda record: record[:2])


def transaction(number: int, changes: list[bytes]) -> list[bytes]:
    begin = b"B" + pack(">QqI", number * 10_000, number * 1_000_000, number)
    return [begin, *changes, b"C\0" + pack(">QQq", number * 10_000, number * 10_000 + 1, number * 1_000_000)]


@given(
    st.lists(st.lists(st.tuples(st.sampled_from([INSERT, *CHANGES]), st.integers(1, 250)), max_size=4), min_size=1, max_size=3),
    st.sampled_from([ChangeForm(), ChangeForm(envelope=False), _TOMBSTONES]),
    st.sampled_from([(), (10_000, 3), (20_000, 100)]),
    st.sampled_from([LEAST - 1, 1_000]),
    st.sampled_from([(), (r"public\.t\.day",)]),
)
def test_changes_come_one_by_one_as_they_do_at_once(
    transactions: list[list[tuple[bytes, int]]], form: ChangeForm, behind: Offset, at_a_time: int, excluded: Sequence[str]
) -> None:
    sent = [relation(), relation(oid=8)]
    for number, runs in enumerate(transactions, 1):
        sent += transaction(number, [message for message, count in runs for _ in range(count)])
    frames = [frame(message, lsn) for lsn, message in enumerate(sent)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(messages, "LEAST", 1 << 62)
        wanted = records(frames, form, False, behind, at_a_time, excluded)
    assert records(frames, form, True, behind, at_a_time, excluded) == wanted
    assert records(frames, form, False, behind, at_a_time, excluded) == wanted


def test_many_changes_of_several_reads_are_one_batch_of_columns() -> None:
    sent = [relation(), *transaction(1, [INSERT] * 400)]
    (batch,) = reader([frame(message) for message in sent], ChangeForm(), True, (), 60).poll()
    assert len(batch) == 400
    assert isinstance(batch.values, Column)
