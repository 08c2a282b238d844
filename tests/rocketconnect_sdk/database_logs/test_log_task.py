"""The life of a task that reads the log of a database, over a log in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from rocketconnect_sdk.changes import ChangeForm, ColumnMasks, MessageKeys
from rocketconnect_sdk.changes.snapshots.asking import ask_all
from rocketconnect_sdk.changes.snapshots.incremental import Requests, partition_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.capture import Capture
from rocketconnect_sdk.database_logs.locked import TableLocked
from rocketconnect_sdk.database_logs.task import LogTask
from rocketconnect_sdk.database_logs.watermarks import PARTITION, stored_watermark
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.record import Offset, Position, SourceBatch


@dataclass(frozen=True)
class Mark:
    place: int
    snapshot_done: bool

    @property
    def offset(self) -> Offset:
        return (self.place, int(self.snapshot_done))

    @classmethod
    def of(cls, offset: Offset) -> "Mark":
        place, done = offset
        return cls(place, bool(done))


class Altered(RetriableError):
    pass


class Database:
    """Rows of one table, and a log whose entries are numbers."""

    def __init__(self, rows: Sequence[int] = (), log: Sequence[int] = ()) -> None:
        self.rows, self.log = list(rows), list(log)
        self.failures: list[Exception] = []
        self.closed = 0

    def fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)


class Rows:
    finished = False

    def __init__(self, database: Database, begin: Offset) -> None:
        self._database = database
        self._left = [row for row in database.rows if (row,) > begin]

    @property
    def left(self) -> int:
        return len(self._left)

    def poll(self) -> SourceBatch | None:
        self._database.fail()
        if not self._left:
            self.finished = True
            return None
        row = self._left.pop(0)
        return SourceBatch("snapshot t", [row], [(row,)])

    def close(self) -> None:
        self._database.closed += 1


class Log:
    def __init__(self, database: Database, place: int) -> None:
        self._database, self.place = database, place

    def poll(self) -> Sequence[SourceBatch]:
        self._database.fail()
        if self.place >= len(self._database.log):
            return []
        self.place += 1
        return [SourceBatch("table t", [self._database.log[self.place - 1]], [(self.place,)])]


class NoChunks:
    is_open = False

    def poll(self, log: Log) -> Sequence[SourceBatch]:
        del log
        return []

    def close(self) -> None:
        pass


class Task(LogTask[Mark, Log]):
    altered = Altered

    def __init__(self, database: Database, capture: Capture) -> None:
        super().__init__(capture, TaskContext())
        self._database, self._wanted = database, capture

    def open_at(self, positions: Mapping[str, Offset]) -> Mark:
        self._database.fail()
        self.requests = Requests(positions)
        if PARTITION in positions:
            mark = stored_watermark(Mark.of, positions[PARTITION])
        else:
            mark = Mark(0, not self._wanted.snapshot)
            if self._wanted.incremental:
                self.ask_for_all(["t"])
        if not mark.snapshot_done:
            self.read_snapshot(Rows(self._database, positions.get("snapshot t", ())))
        return mark

    def open_log(self, mark: Mark) -> None:
        self.log, self.chunks = Log(self._database, mark.place), NoChunks()

    def read_on(self, held: Mark) -> Mark | None:
        mark = Mark(held.place if self.log is None else self.log.place, snapshot_done=True)
        return None if mark == held else mark

    def is_at_end(self, mark: Mark) -> bool:
        return (mark.place if self.log is None else self.log.place) >= len(self._database.log)

    def left_of_log(self) -> int | None:
        return None if self.log is None else len(self._database.log) - self.log.place

    def ask(self, tables: Sequence[str], condition: str) -> list[SourceBatch]:
        return ask_all(self.requests, tables, condition, lambda name: None if name == "t" else f"{name} is no table")


def _capture(**changed: object) -> Capture:
    form, keys, masks = ChangeForm(), MessageKeys(), ColumnMasks()
    mode: Mapping[str, bool] = {"snapshot": True, "log": True, "incremental": False}
    chunks, records = {"chunk_rows": 10, "chunk_rate": 0}, {"form": form, "keys": keys, "masks": masks}
    made = Capture(**mode, **chunks, **records, heartbeat=0.0, name="", topic="t", template="${table}")  # type: ignore[arg-type]
    return replace(made, **changed)  # type: ignore[arg-type]


def _started(database: Database, positions: Mapping[str, Offset] | None = None, **capture: object) -> Task:
    task = Task(database, _capture(**capture))
    task.start({name: Position(offset) for name, offset in (positions or {}).items()})
    return task


def _batches(task: Task, polls: int = 20) -> list[SourceBatch]:
    return [batch for _ in range(polls) if (batch := task.poll()) is not None]


def _values(batches: Sequence[SourceBatch]) -> list[object]:
    return [value for batch in batches for value in batch.values]


def _store(task: Task, batches: Sequence[SourceBatch]) -> dict[str, Offset]:
    stored = {batch.partition: batch.end or batch.offsets[-1] for batch in batches}
    task.committed({name: Position(offset) for name, offset in stored.items()})
    return stored


def test_the_rows_that_are_there_come_before_the_log() -> None:
    task = _started(Database([1, 2], [7, 8]))
    assert (task.remaining_unit, task.remaining()) == ("rows", 2)
    first = _batches(task)
    stored = _store(task, first)
    second = _batches(task)
    assert _values(first) + _values(second) == [1, 2, 7, 8]
    assert stored[PARTITION] == (0, 0)
    assert (task.remaining_unit, task.remaining(), task.caught_up) == ("bytes", 0, True)


def test_the_position_of_the_log_moves_only_when_what_was_given_before_is_stored() -> None:
    task = _started(Database([1], [7, 8]), heartbeat=0.0)
    given = _batches(task)
    assert [batch.end for batch in given if batch.partition == PARTITION] == [(0, 0)]
    assert _batches(task) == []
    _store(task, given)
    assert [batch.end for batch in _batches(task) if batch.partition == PARTITION] == [(0, 1), (2, 1)]


@pytest.mark.parametrize("killed", range(1, 12))
def test_a_task_that_is_killed_after_any_batch_gives_all_that_was_not_stored_again_and_nothing_else(killed: int) -> None:
    database = Database([1, 2], [7, 8, 9])
    task = _started(database)
    stored: dict[str, Offset] = {}
    written: dict[tuple[str, Offset], object] = {}
    for _ in range(killed):
        batch = task.poll()
        if batch is not None:
            written |= {(batch.partition, offset): value for offset, value in zip(batch.offsets, batch.values, strict=True)}
            stored |= _store(task, [batch])
    task.close()
    task = _started(database, stored)
    for _ in range(20):
        batch = task.poll()
        if batch is not None:
            again = {(batch.partition, offset): value for offset, value in zip(batch.offsets, batch.values, strict=True)}
            assert all(written.get(place, value) == value for place, value in again.items())
            written |= again
            _store(task, [batch])
    assert sorted(map(str, written.values())) == ["1", "2", "7", "8", "9"]


def test_who_has_a_place_in_the_log_has_what_was_asked_for_at_the_beginning_too() -> None:
    given = _batches(_started(Database(log=[7]), snapshot=False, incremental=True))
    partitions = [batch.partition for batch in given]
    assert partitions.index(partition_of("t")) < partitions.index(PARTITION)


def test_a_table_that_is_locked_lets_go_of_an_open_chunk_and_is_told_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(log=[7, 8])
    task = _started(database, snapshot=False)
    assert _values(_batches(task, 2)) == [7]
    database.failures = [TableLocked("somebody waits")]
    monkeypatch.setattr(NoChunks, "is_open", True)
    assert task.poll() is None
    assert task.chunks is None
    assert _values(_batches(task))[-1] == 8
    database.log.append(9)
    database.failures = [TableLocked("somebody has it")]
    monkeypatch.setattr(NoChunks, "is_open", False)
    with pytest.raises(TableLocked, match="somebody has it"):
        _batches(task)


def test_a_server_that_goes_away_is_opened_again_behind_what_was_given() -> None:
    database = Database([1, 2, 3])
    task = _started(database)
    first = [task.poll(), task.poll()]
    database.failures = [SystemAway("gone"), SystemAway("still gone")]
    for _ in range(2):
        with pytest.raises(SystemAway):
            task.poll()
    assert database.closed == 1
    assert _values([batch for batch in first if batch is not None] + _batches(task)) == [1, 2, 3]


def test_a_snapshot_whose_table_was_altered_goes_on_in_a_new_transaction() -> None:
    database = Database([1, 2])
    task = _started(database)
    assert _values([batch for batch in (task.poll(), task.poll()) if batch is not None]) == [1]
    database.failures = [Altered("another column")]
    assert task.poll() is None
    assert _values(_batches(task)) == [2]


def test_what_was_asked_for_is_told_as_stored_when_it_is(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    task = _started(Database(), snapshot=False)
    told = task.signal("execute-snapshot", {"tables": "t"})
    assert "tables that are to be read: t" in told
    given = _batches(task)
    assert not caplog.messages
    _store(task, given)
    assert caplog.messages == ["what was told of incremental t is stored"]


def test_of_a_snapshot_that_is_stopped_nothing_more_is_given() -> None:
    task = _started(Database(), snapshot=False)
    task.signal("execute-snapshot", {"tables": "t"})
    task.signal("stop-snapshot", {"tables": "t"})
    assert [batch.end[-1] for batch in _batches(task) if batch.partition == partition_of("t")] == [2]


def test_a_task_that_reads_no_log_says_so_to_who_asks_for_chunks_and_ends_with_its_rows() -> None:
    task = _started(Database([1]), log=False)
    with pytest.raises(ValueError, match="reads no log"):
        task.signal("execute-snapshot", {"tables": "t"})
    given = _batches(task)
    assert not task.finished
    _store(task, given)
    _batches(task)
    assert task.finished


def test_a_position_that_is_none_is_refused_with_its_integers() -> None:
    with pytest.raises(PermanentError, match=r"the position \[1, 2, 3\] of log .*: put back one that it had"):
        _started(Database(), {PARTITION: (1, 2, 3)})
