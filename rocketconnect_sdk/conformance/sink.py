"""What every sink must do.

    class TestMySink(SinkSuite):
        subject = SinkCase(MySink(), {"option": "value"}, read=lambda: values_in_the_target())

A case that needs a directory or a server is a fixture named `case`. A sink on Spark gets a session of its own, local[2].
"""

import hashlib
import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_sdk.conformance.kill import run_and_kill
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RecordRefused, RetriableError, SystemAway
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import STRING, Schema
from rocketconnect_sdk.sink import (
    DataFrameSink,
    DataFrameSinkTask,
    Guarantee,
    QueuePosition,
    RecordSink,
    RecordSinkTask,
    Sink,
    SinkCommit,
    SinkTask,
    SourceMark,
)

QUEUES = ("orders/broker-a/0", "orders/broker-a/1")
_STEPS = 500
_DISK = 8 << 20


def _text(queue: int, offset: int) -> str:
    return f"{queue}:{offset:06d} ünï"


@dataclass(frozen=True, slots=True)
class SinkCase:
    """A sink with an empty target.

    Attributes:
        sink: The sink.
        config: Its own options.
        read: All values in the target, as `value` makes them; of each queue in its order.
        value: The value at an offset of a queue (its number). Different for each place.
        schema: Of the values.
        directory: Where the target is, when it is files: then a full disk is tried.
        calls: Functions ("module:function") before whose calls the process is killed, besides those of the file system.
    """

    sink: Sink
    config: Mapping[str, str]
    read: Callable[[], Sequence[object]]
    value: Callable[[int, int], object] = _text
    schema: Schema | None = STRING
    directory: Path | None = None
    calls: tuple[str, ...] = field(default=())

    @property
    def parsed(self) -> Config:
        """The configuration, parsed."""
        return parse(self.sink.options, self.config)


@cache
def spark_session() -> Any:
    """The session of the suites, for the life of the process."""
    # Spark's Python workers are to find what this process finds.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


class Writer:
    """Drives a task as the runtime does.

    Args:
        case: What is written.
        epoch: Of the owner.
        generation: Of its plan.
    """

    def __init__(self, case: SinkCase, *, epoch: int = 1, generation: int = 1) -> None:
        self._case = case
        self._epoch = epoch
        self._parts = count()
        context = TaskContext(epoch=epoch, generation=generation)
        sink = case.sink
        if not isinstance(sink, DataFrameSink | RecordSink):
            msg = f"{sink.name} is neither a DataFrameSink nor a RecordSink"
            raise TypeError(msg)
        self.task: SinkTask = sink.open(case.parsed, sink.plan(case.parsed, 1).tasks[0], context)
        self.positions: dict[str, QueuePosition] = {}

    def start(self) -> "Writer":
        """Starts, and goes on where the target says."""
        stored = self.task.start()
        self.positions = {queue: stored.get(queue, self.positions.get(queue, QueuePosition(0))) for queue in QUEUES}
        return self

    def commit(self, until: int) -> SinkCommit:
        """Of a batch up to an offset in each queue."""
        before = {queue: position for queue, position in self.positions.items() if position.until < until}
        after = {
            queue: replace(position, until=until, marks={**position.marks, "uid/part": SourceMark(3, 0, (until, 1))})
            for queue, position in before.items()
        }
        rows = sum(until - position.until for position in before.values())
        ranges = ",".join(f"{queue}:{position.until}-{until}" for queue, position in sorted(before.items()))
        token = hashlib.sha256(ranges.encode()).hexdigest()[:32]
        return SinkCommit(TaskContext().connector_uid, 0, self._epoch, before, after, rows, token)

    def write(self, until: int) -> SinkCommit:
        """Writes all queues up to an offset."""
        commit = self.commit(until)
        self.put(commit)
        return commit

    def put(self, commit: SinkCommit) -> None:
        """Writes a batch."""
        if not commit.rows:
            return
        batches = [self._batch(queue, before.until, commit.after[queue].until) for queue, before in sorted(commit.before.items())]
        if isinstance(self.task, RecordSinkTask):
            writer = pickle.loads(pickle.dumps(self.task.writer()))  # noqa: S301  # the suite's own
            receipts = [pickle.loads(pickle.dumps(writer.stage(batch, self._part()))) for batch in batches]  # noqa: S301
            self.task.commit(receipts, commit)
        elif isinstance(self.task, DataFrameSinkTask):
            self.task.write(self._frame(batches), commit)
        self.positions.update(commit.after)

    def _part(self) -> str:
        return f"part-{self._epoch}-{os.getpid()}-{next(self._parts)}"

    def _batch(self, queue: str, begin: int, end: int) -> SinkBatch:
        number = QUEUES.index(queue)
        values = [self._case.value(number, offset) for offset in range(begin, end)]
        return SinkBatch(queue, queue.partition("/")[0], values, range(begin, end), schema=self._case.schema)

    def _frame(self, batches: Sequence[SinkBatch]) -> Any:
        import pyarrow as pa

        from rocketconnect_sdk.arrow import to_array

        values = pa.concat_arrays([to_array(batch.values, batch.schema) for batch in batches])
        return spark_session().createDataFrame(pa.table({"value": values})).coalesce(1)

    def abort(self, until: int) -> None:
        """Stages a batch and gives it up."""
        if isinstance(self.task, RecordSinkTask):
            receipts = [self.task.writer().stage(self._batch(queue, 0, until), self._part()) for queue in QUEUES]
            self.task.abort(receipts)


@contextmanager
def _writing(case: SinkCase, *, epoch: int = 1, generation: int = 1) -> Iterator[Writer]:
    writer = Writer(case, epoch=epoch, generation=generation)
    with closing(writer.task):
        yield writer


def expected(case: SinkCase, until: int) -> list[list[object]]:
    """The values of each queue up to an offset."""
    return [[case.value(number, offset) for offset in range(until)] for number in range(len(QUEUES))]


def seen(case: SinkCase, until: int) -> list[list[object]]:
    """The values of each queue that are in the target, each queue in the order of the target; what belongs to none fails."""
    owner = {repr(value): number for number, values in enumerate(expected(case, until)) for value in values}
    found: list[list[object]] = [[] for _ in QUEUES]
    for value in case.read():
        assert repr(value) in owner, f"the target holds {value!r}, which was never written"
        found[owner[repr(value)]].append(value)
    return found


class SinkSuite:
    """Subclass it, and give it a `subject`, or a fixture named `case`."""

    subject: SinkCase

    @pytest.fixture
    def case(self) -> SinkCase:
        """What is tested. Override it where the case needs other fixtures."""
        return self.subject

    def _there(self, case: SinkCase, until: int) -> None:
        """Everything up to an offset is in the target, as often as the guarantee says."""
        found = seen(case, until)
        if case.sink.guarantee is Guarantee.AT_LEAST_ONCE:
            found = [list(dict.fromkeys(map(repr, values))) for values in found]
            assert found == [list(map(repr, values)) for values in expected(case, until)]
        else:
            assert found == expected(case, until)

    def test_its_options_are_documented(self, case: SinkCase) -> None:
        """Every option says what it is for, under a key that can be read."""
        for option in case.sink.options:
            assert option.doc.strip(), f"{option.key} has no doc"
            assert option.key == option.key.lower(), f"{option.key} is not lower case"
        assert (case.sink.__doc__ or "").strip(), "the class has no docstring, which is its summary"

    def test_it_accepts_its_configuration(self, case: SinkCase) -> None:
        """check() finds nothing wrong with what works."""
        assert list(case.sink.check(case.parsed)) == []

    def test_a_plan_has_at_most_as_many_tasks_as_allowed(self, case: SinkCase) -> None:
        """And at least one."""
        for tasks in (1, 3, 1000):
            assert 1 <= len(case.sink.plan(case.parsed, tasks).tasks) <= tasks

    def test_every_record_is_there_and_in_order(self, case: SinkCase) -> None:
        """Batch after batch, large and small."""
        with _writing(case) as writer:
            writer.start()
            for until in (1, 2, 40, 41, 300):
                writer.write(until)
                self._there(case, until)

    def test_a_large_batch_is_there_and_in_order(self, case: SinkCase) -> None:
        """Large batches may take another way than small ones."""
        with _writing(case) as writer:
            writer.start()
            writer.write(30_000)
            writer.write(30_001)
            self._there(case, 30_001)

    def test_it_goes_on_where_it_was(self, case: SinkCase) -> None:
        """What was stored with the data comes back from start(), with marks."""
        with _writing(case) as writer:
            commit = writer.start().write(30)
        with _writing(case, epoch=2) as writer:
            writer.start()
            if case.sink.guarantee is Guarantee.EXACTLY_ONCE:
                assert writer.positions == dict(commit.after)
            writer.write(50)
        self._there(case, 50)

    def test_a_start_that_is_made_again_changes_nothing(self, case: SinkCase) -> None:
        """start() is called again after SystemAway and RetriableError."""
        with _writing(case) as writer:
            writer.start().write(30)
            writer.start().write(50)
        self._there(case, 50)

    def test_a_batch_that_is_written_again_is_there_once(self, case: SinkCase) -> None:
        """An answer can get lost after the work was done."""
        self._only_once(case)
        with _writing(case) as writer:
            writer.start().write(20)
            commit = writer.commit(30)
            writer.put(commit)
            writer.put(commit)
            writer.write(40)
        self._there(case, 40)

    def test_what_is_there_already_is_refused(self, case: SinkCase) -> None:
        """Compare and set: a batch continues what is stored."""
        self._only_exactly_once(case)
        with _writing(case) as writer:
            writer.start().write(20)
            writer.write(30)
            again = {queue: QueuePosition(10) for queue in QUEUES}
            writer.positions = dict(again)
            with pytest.raises(PermanentError):
                writer.write(25)
        self._there(case, 30)

    @pytest.mark.parametrize(("older", "newer"), [((1, 1), (1, 2)), ((1, 9), (2, 3))])
    def test_an_older_owner_is_refused(self, case: SinkCase, older: tuple[int, int], newer: tuple[int, int]) -> None:
        """Invariant 3: (generation, epoch) of an owner that was replaced writes nothing any more."""
        self._only_exactly_once(case)
        with _writing(case, generation=older[0], epoch=older[1]) as zombie:
            zombie.start().write(10)
            with _writing(case, generation=newer[0], epoch=newer[1]) as writer:
                writer.start()
                with pytest.raises(PermanentError):
                    zombie.write(20)
                writer.write(15)
                with pytest.raises(PermanentError):
                    zombie.write(20)
                with pytest.raises(PermanentError):
                    zombie.start()
                writer.write(30)
        self._there(case, 30)

    def test_a_batch_that_was_given_up_leaves_nothing(self, case: SinkCase) -> None:
        """abort() undoes stage()."""
        self._only_exactly_once(case)
        with _writing(case) as writer:
            writer.start().write(10)
            writer.abort(20)
            self._there(case, 10)
            writer.write(20)
        self._there(case, 20)

    def test_killed_at_any_step_it_goes_on_with_every_record(self, case: SinkCase) -> None:
        """The process is killed before each call that changes something, and in the middle of each write; then another goes on."""
        until = 0
        for step in range(1, _STEPS):
            until += 20
            epoch = 2 * step
            killed = run_and_kill(lambda until=until, epoch=epoch: _run(case, epoch, until), step, case.calls)  # type: ignore[misc]
            with _writing(case, epoch=epoch + 1) as writer:
                writer.positions = {queue: QueuePosition(until - 20) for queue in QUEUES}
                writer.start()
                writer.write(until)
            self._there(case, until)
            if not killed:
                return
        pytest.fail(f"a batch takes more than {_STEPS} steps")

    def test_a_full_disk_keeps_nothing_of_a_batch_and_goes_on_when_there_is_room(self, case: SinkCase) -> None:
        """Never half a record, and the same batch again is all that is needed."""
        if case.directory is None:
            pytest.skip("the target is not in files here")
        with _disk(case, case.directory) as disk, _writing(case) as writer:
            writer.start().write(100)
            commit = writer.commit(10_000)
            with disk.full(), pytest.raises((SystemAway, RetriableError)):
                writer.put(commit)
            self._there(case, 100)
            writer.put(commit)
            self._there(case, 10_000)

    def test_it_can_be_closed_twice_and_without_a_start(self, case: SinkCase) -> None:
        """close() comes after errors, too."""
        with _writing(case) as writer:
            writer.task.close()
        with _writing(case) as writer:
            writer.start()
            writer.task.close()

    def test_its_flush_policy_is_possible(self, case: SinkCase) -> None:
        """No negative limits."""
        with _writing(case) as writer:
            flush = writer.task.flush
            assert flush.rows >= 0
            assert flush.bytes >= 0
            assert flush.interval >= 0

    def test_a_record_that_cannot_be_written_is_refused_alone(self, case: SinkCase) -> None:
        """The others of its batch are staged."""
        if not isinstance(case.sink, RecordSink):
            pytest.skip("only record sinks refuse single records")
        with _writing(case) as writer:
            writer.start()
            task = writer.task
            assert isinstance(task, RecordSinkTask)
            values = [case.value(0, 0), object(), case.value(0, 1)]
            batch = SinkBatch(QUEUES[0], "orders", values, range(3))
            with pytest.raises(RecordRefused) as refused:
                task.writer().stage(batch, "refused")
            assert list(refused.value.refused) == [1]
            commit = SinkCommit("test", 0, 1, {QUEUES[0]: QueuePosition(0)}, {QUEUES[0]: QueuePosition(3)}, 3, "refused")
            task.commit([refused.value.receipt], commit)
        assert list(case.read()) == [values[0], values[2]]

    @staticmethod
    def _only_once(case: SinkCase) -> None:
        if case.sink.guarantee is Guarantee.AT_LEAST_ONCE:
            pytest.skip("the sink says that it can write doubles")

    @staticmethod
    def _only_exactly_once(case: SinkCase) -> None:
        if case.sink.guarantee is not Guarantee.EXACTLY_ONCE:
            pytest.skip("the sink stores no positions")


def _run(case: SinkCase, epoch: int, until: int) -> None:
    with _writing(case, epoch=epoch) as writer:
        writer.positions = {queue: QueuePosition(until - 20) for queue in QUEUES}
        writer.start()
        writer.write(until - 10)
        writer.write(until)


class _Disk:
    """A disk that can be full."""

    @contextmanager
    def full(self) -> Iterator[None]:
        """No file of this process can grow beyond 1 KiB within the block."""
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 10, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


class _SmallDisk(_Disk):
    """A small file system."""

    def __init__(self, directory: Path) -> None:
        self._ballast = directory / "ballast"

    @contextmanager
    def full(self) -> Iterator[None]:
        """All room is taken within the block."""
        with self._ballast.open("wb", buffering=0) as file:
            for size in (1 << 16, 1 << 10, 1):
                while True:
                    try:
                        file.write(bytes(size))
                    except OSError:
                        break
        try:
            yield
        finally:
            self._ballast.unlink()


@contextmanager
def _disk(case: SinkCase, directory: Path) -> Iterator[_Disk]:
    """For root, where mount is allowed, a file system of 8 MiB; else a limit on the files of this process (not of Spark's)."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(directory)]
    made = subprocess.run(command, capture_output=True, text=True, check=False) if os.geteuid() == 0 else None
    if made is None or made.returncode:
        if isinstance(case.sink, DataFrameSink):
            pytest.skip("a small disk for Spark can only be made by root, where mount is allowed")
        yield _Disk()
        return
    try:
        yield _SmallDisk(directory)
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)  # noqa: S607
