"""What all incremental snapshots have in common, with a table that is a list of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from rocketconnect_sdk.changes import ChangeForm, Operation, Origin, TableChanges
from rocketconnect_sdk.changes.snapshots.asking import ask_all, key_length_problem, key_problem, number_of
from rocketconnect_sdk.changes.snapshots.chunked import Chunk, Chunks, Reading, Texts
from rocketconnect_sdk.changes.snapshots.chunks import Window
from rocketconnect_sdk.changes.snapshots.incremental import Requests, partition_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketconnect_sdk.schema import STRING, Schema, struct


class Altered(RetriableError):
    """Its definition has changed."""


@dataclass(frozen=True)
class Table:
    name: str
    key: tuple[str, ...] = ("id",)

    @property
    def schema(self) -> Schema:
        return struct([("id", STRING)])


class Places:
    """Rows are numbers from 1 on, and their offsets the same, behind the number of the run."""

    def __init__(self, begin: Offset, run: int) -> None:
        self.last: Offset = begin
        self._run = run

    def of(self, texts: Texts) -> tuple[list[Offset], Offset]:
        offsets: list[Offset] = [(self._run, 0, int(text)) for text in texts[0].to_pylist()]
        self.last = offsets[-1]
        return offsets, ()

    def go_on(self, end: Offset) -> None:
        self.last = end


class Numbers(Chunk[Table, Places]):
    def __init__(self, reading: Reading[Table, Places], most: int, found: list[bytes]) -> None:
        super().__init__(reading, most)
        self._found = found
        self.closed = False

    @property
    def finished(self) -> bool:
        return not self._found

    def more(self, most: int, most_bytes: int) -> list[bytes]:
        del most, most_bytes
        found, self._found = self._found, []
        return found

    def texts(self, rows: Sequence[bytes]) -> Texts:
        return [pa.array([row.decode() for row in rows])]

    def keys(self, texts: Texts) -> list[object]:
        return [(text,) for text in texts[0].to_pylist()]

    @property
    def source(self) -> tuple[object, ...]:
        return ()

    def batch(self, texts: Texts, offsets: Sequence[Offset], ts_ms: int) -> SourceBatch:
        for offset, text in zip(offsets, texts[0].to_pylist(), strict=True):
            self.reading.changes.add(Operation.READ, None, (text,), offset=offset, ts_ms=ts_ms)
        return self.reading.changes.take()

    def close(self) -> None:
        self.closed = True


class TableWindow(Window[int]):
    spoiled = False


@dataclass
class Log:
    """Of which all is behind what the rows show."""

    window: Any = None
    held: list[SourceBatch] = field(default_factory=list)

    def take(self) -> Sequence[SourceBatch]:
        return self.held


class Incremental(Chunks[Table, Places, Numbers, Log]):
    altered = Altered

    def __init__(self, requests: Requests, size: int, rows: int, rate: int = 0) -> None:
        super().__init__(requests, TaskContext(), rows=rows, rate=rate)
        self.size = size
        self.table: Table | None = Table("shop.t")
        self.failure: ConnectorError | None = None
        self.is_there = True
        self.begun: list[Numbers] = []

    def begin(self, wanted: str, log: Log) -> tuple[Numbers, TableWindow] | list[SourceBatch]:
        del log
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        reading = self.about(wanted, self.table)
        if isinstance(reading, list):
            return reading
        first = (*reading.places.last, 0, 0, 0)[2]
        found = [b"%d" % number for number in range(first + 1, self.size + 1)][: self.rows]
        self.begun.append(Numbers(reading, self.rows, found))
        return self.begun[-1], TableWindow(lambda _: False)

    def is_time(self, chunk: Numbers, log: Log) -> bool:
        del chunk, log
        return self.is_there

    def reading(self, wanted: str, table: Table, begin: Offset, run: int) -> Reading[Table, Places]:
        del wanted
        columns = struct([("id", STRING)])
        form = ChangeForm(envelope=False)
        changes = TableChanges(
            form, Origin("d", "s", "shop", "", "t"), columns, ["id"], struct([]), partition=partition_of("shop.t"), topic="t"
        )
        return Reading(table, changes, Places(begin, run), run)

    def problem(self, table: Table) -> str | None:
        return key_problem(table)

    def number(self, table: Table) -> int:
        return number_of(table.key)

    def again(self, wanted: str, error: ConnectorError) -> list[SourceBatch]:
        del wanted, error
        return []


def _asked() -> Requests:
    requests = Requests({})
    requests.ask("shop.t")
    return requests


def _read(reader: Incremental, log: Log, polls: int = 12) -> list[str]:
    return [str(value["id"]) for _ in range(polls) for batch in reader.poll(log) for value in list[Any](batch.values)]


def test_all_rows_come_in_chunks_and_then_the_table_is_done() -> None:
    requests = _asked()
    reader = Incremental(requests, 7, rows=3)
    assert _read(reader, Log()) == [str(number) for number in range(1, 8)]
    assert [len(chunk.rows) for chunk in reader.begun] == [3, 3, 1]
    assert requests.open == []
    assert all(chunk.closed for chunk in reader.begun)


def test_a_row_that_the_log_tells_newer_is_left_out_and_rows_come_when_it_is_their_time() -> None:
    log, reader = Log(), Incremental(_asked(), 3, rows=9)
    reader.is_there = False
    assert _read(reader, log) == []
    log.window.saw(1, ("2",))
    reader.is_there = True
    assert _read(reader, log) == ["1", "3"]


def test_a_chunk_of_which_all_rows_are_left_out_moves_the_position() -> None:
    requests, log = _asked(), Log()
    reader = Incremental(requests, 3, rows=9)
    reader.poll(log)
    log.window.saw_truncate(1)
    moved, done = reader.poll(log)
    assert (len(moved), moved.end) == (0, (1, 0, 3, number_of(("id",))))
    assert done.end == requests.place("shop.t") == (1, 2)


def test_a_chunk_that_is_spoiled_is_read_again() -> None:
    log, reader = Log(), Incremental(_asked(), 3, rows=9)
    reader.poll(log)
    log.window.spoiled = True
    assert reader.poll(log) == []
    assert log.window is None
    assert _read(reader, log) == ["1", "2", "3"]
    assert len(reader.begun) == 2


def test_a_table_that_is_altered_is_begun_again_and_one_that_is_refused_is_given_up() -> None:
    requests = _asked()
    reader = Incremental(requests, 3, rows=9)
    reader.failure = Altered("altered")
    assert reader.poll(Log()) == []
    assert requests.open == ["shop.t"]
    reader.failure = PermanentError("refused")
    assert [batch.end for batch in reader.poll(Log())] == [(1, 2)]
    assert requests.open == []


def test_a_table_that_gets_another_key_is_read_from_its_beginning_and_one_that_is_gone_is_done() -> None:
    requests, log = _asked(), Log()
    reader = Incremental(requests, 5, rows=2)
    assert _read(reader, log, polls=2) == ["1", "2"]
    reader.table = Table("shop.t", ("other",))
    assert [batch.end for batch in reader.poll(log)] == [(2,)]
    reader.table = None
    assert [batch.end for batch in reader.poll(log)] == [(2, 2)]
    assert requests.open == []


def test_a_table_that_is_not_wanted_any_more_ends_its_chunk() -> None:
    requests, log = _asked(), Log()
    reader = Incremental(requests, 5, rows=2)
    reader.poll(log)
    requests.done("shop.t")
    assert reader.poll(log) == []
    assert (reader.begun[0].closed, log.window) == (True, None)


def test_chunks_are_no_larger_than_the_rows_of_a_second_and_wait_for_it() -> None:
    log, reader = Log(), Incremental(_asked(), 5, rows=9, rate=2)
    assert _read(reader, log, polls=5) == ["1", "2"]


def test_tables_are_asked_for_all_or_none_with_what_is_wrong_with_each() -> None:
    requests = _asked()
    with pytest.raises(ValueError, match=r"a snapshot of shop\.t is asked for already.*; shop\.k is wrong"):
        ask_all(requests, ["shop.t", "shop.k", "shop.u"], "", lambda text: f"{text} is wrong" if text == "shop.k" else None)
    assert requests.open == ["shop.t"]
    assert len(ask_all(requests, ["shop.u", "shop.u"], "", lambda _: None)) == 1
    assert requests.open == ["shop.t", "shop.u"]


def test_a_table_without_a_key_is_told_with_what_to_do() -> None:
    assert key_problem(Table("shop.t")) is None
    assert "give it one" in str(key_problem(Table("shop.t", ())))


def _asked_by(keys: str) -> Requests:
    requests = Requests({})
    requests.ask("shop.t", keys)
    return requests


def _deleted(batches: Sequence[SourceBatch]) -> list[object]:
    return [key for batch in batches for key, value in zip(batch.keys or (), batch.values, strict=False) if value is None]


@pytest.mark.parametrize("rows", [2, 100])
def test_keys_that_are_not_there_are_sent_as_deleted_behind_the_rows(rows: int) -> None:
    requests, log = _asked_by('[["1"], ["3"], ["9"], ["2"], ["8"]]'), Log()
    chunks = Incremental(requests, size=3, rows=rows)
    made = [batch for _ in range(20) for batch in chunks.poll(log)]
    assert _deleted(made) == [{"id": "9"}, {"id": "8"}]
    assert made[-1].offsets == [(1, 2, 3), (1, 2, 5)]
    assert made[-1].end == (1, 2, 6)
    ends = [batch.end for batch in made]
    assert ends == sorted(ends)
    assert requests.open == []


def test_a_key_of_which_the_log_has_said_something_since_is_left_to_it() -> None:
    requests, log = _asked_by('[["8"], ["9"]]'), Log()
    chunks = Incremental(requests, size=3, rows=100)
    chunks.is_there = False
    chunks.poll(log)
    chunks.poll(log)
    log.window.saw(1, ("9",))
    chunks.is_there = True
    assert _deleted(chunks.poll(log)) == [{"id": "8"}]


def test_a_table_of_which_only_some_keys_were_looked_for_before_a_restart_is_begun_again() -> None:
    requests, log = _asked_by('[["1"], ["2"], ["9"]]'), Log()
    first = Incremental(requests, size=3, rows=2)
    while not first.requests.place("shop.t")[1:]:
        first.poll(log)
    second = Incremental(requests, size=3, rows=2)
    made = [batch for _ in range(20) for batch in second.poll(log)]
    assert made[0].partition == "condition shop.t"
    assert requests.place("shop.t")[0] == 2
    assert _deleted(made) == [{"id": "9"}]


def test_keys_of_another_length_than_that_of_the_table_are_told() -> None:
    assert key_length_problem(Table("shop.t"), '[["1", "2"]]') == "the key of shop.t is id, and ['1', '2'] has 2 values"
    assert key_length_problem(Table("shop.t"), '[["1"]]') is None
    assert key_length_problem(Table("shop.t"), "id = 1") is None
