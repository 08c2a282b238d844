"""A sink, and what drives it as the runtime does."""

import hashlib
import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

from rocketconnect_sdk.columns.sinks import ArrowSink, ArrowSinkTask, ColumnarSinkTask, DataFrameSink, DataFrameSinkTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import STRING, Schema
from rocketconnect_sdk.sink import (
    BufferedSink,
    BufferedSinkTask,
    QueuePosition,
    RecordSink,
    RecordSinkTask,
    Sink,
    SinkCommit,
    SinkTask,
    SourceMark,
)

QUEUES = ("orders/broker-a/0", "orders/broker-a/1")
_DISK = 8 << 20
_END_SECONDS = 30


def _text(queue: int, offset: int) -> str:
    return f"{queue}:{offset:06d} ünï"


@dataclass(frozen=True, slots=True)
class SinkCase:
    """A sink with an empty target.

    Attributes:
        sink: The sink.
        config: Its own options. The records have no keys: where a template names what is written, let it be ${queue}-${offset}.
        read: All values in the target, as `value` makes them; of each queue in its order. Called in the process of the test, and
            often: a target that cannot be listed is asked for what `config` names, of the queues QUEUES and offsets from 0 on.
        value: The value at an offset of a queue (its number). Different for each place.
        schema: Of the values.
        directory: Where the target is, when it is files: then a full disk is tried.
        unwritable: Of an ArrowSink or a DataFrameSink: a value of that schema that it cannot write; None: there is none.
        settings: Of Spark, for a DataFrameSink that needs some: its `needs.settings`, and its jars as "spark.jars".
        calls: Functions ("module:function") before whose calls the process is killed, besides those of the file system.
        keyed: For WriteSuite, options that replace those of `config`: the key of a record names what is written, and deletions
            are made. None: nothing is named by keys.
    """

    sink: Sink
    config: Mapping[str, str]
    read: Callable[[], Sequence[object]]
    value: Callable[[int, int], object] = _text
    schema: Schema | None = STRING
    directory: Path | None = None
    unwritable: object = None
    settings: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[str, ...] = field(default=())
    keyed: Mapping[str, str] | None = None

    @property
    def parsed(self) -> Config:
        """The configuration, parsed."""
        return parse(self.sink.options, self.config)


def spark_session(settings: Mapping[str, str] | None = None) -> Any:
    """The session of the suites, until one with other settings is wanted: that has a Java process of its own."""
    return _session(frozenset((settings or {}).items()))


@lru_cache(maxsize=1)
def _session(settings: frozenset[tuple[str, str]]) -> Any:
    # Spark's Python workers are to find what this process finds.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    _end_spark()
    made = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.log.level": "ERROR",
        **dict(settings),
    }
    builder = SparkSession.builder
    for key, value in made.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _end_spark() -> None:
    """Ends the Java process of an earlier session, which has its jars and its settings for life."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    session, gateway = SparkSession.getActiveSession(), SparkContext._gateway  # noqa: SLF001  # the only place where it is
    if session is not None:
        session.stop()
    if gateway is not None:
        gateway.shutdown()
        process = gateway.proc
        process.stdin.close()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            # Something that Java runs at its end does not end.
            process.kill()
            process.wait()
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001


def columns_of(case: SinkCase, values: Sequence[object], schema: Schema | None) -> Any:
    """Values as the runtime hands them to a sink of columns: a table of Arrow, or a DataFrame."""
    import pyarrow as pa

    from rocketconnect_sdk.arrow import to_array
    from rocketconnect_sdk.spark.types import to_spark

    table = pa.table({"value": to_spark(to_array(values, schema))})
    return table if isinstance(case.sink, ArrowSink) else spark_session(case.settings).createDataFrame(table).coalesce(1)


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
        sink = case.sink
        spark = spark_session(case.settings) if isinstance(sink, DataFrameSink) else None
        context = TaskContext(epoch=epoch, generation=generation, spark=spark)
        if not isinstance(sink, ArrowSink | DataFrameSink | RecordSink | BufferedSink):
            msg = f"{sink.name} is no ArrowSink, DataFrameSink, RecordSink or BufferedSink"
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

    def put(self, commit: SinkCommit, made: Any = None) -> None:
        """Writes a batch; `made` are its columns, where they are there already."""
        if not commit.rows:
            return
        if isinstance(self.task, RecordSinkTask):
            writer = pickle.loads(pickle.dumps(self.task.writer()))  # noqa: S301  # the suite's own
            staged = [writer.stage(batch, self._part()) for batch in self.batches(commit)]
            self.task.commit([pickle.loads(pickle.dumps(receipt)) for receipt in staged], commit)  # noqa: S301
        elif isinstance(self.task, ArrowSinkTask | DataFrameSinkTask):
            self.task.write(self.columns(commit) if made is None else made, commit)
        elif isinstance(self.task, BufferedSinkTask):
            for batch in self.batches(commit):
                self.task.put(batch)
            told = self.task.durable(True)
            assert {queue: told.get(queue) for queue in commit.after} == {q: each.until for q, each in commit.after.items()}
        self.positions.update(commit.after)

    def columns(self, commit: SinkCommit) -> Any:
        """The columns of a batch; None: the sink takes records."""
        if not isinstance(self.task, ColumnarSinkTask):
            return None
        return columns_of(self._case, [value for batch in self.batches(commit) for value in batch.values], self._case.schema)

    def batches(self, commit: SinkCommit) -> list[SinkBatch]:
        """Its records, by queue."""
        return [self._batch(queue, before.until, commit.after[queue].until) for queue, before in sorted(commit.before.items())]

    def _part(self) -> str:
        return f"part-{self._epoch}-{os.getpid()}-{next(self._parts)}"

    def _batch(self, queue: str, begin: int, end: int) -> SinkBatch:
        number = QUEUES.index(queue)
        values = [self._case.value(number, offset) for offset in range(begin, end)]
        return SinkBatch(queue, queue.partition("/")[0], values, range(begin, end), schema=self._case.schema)

    def abort(self, until: int) -> None:
        """Stages a batch and gives it up."""
        if isinstance(self.task, RecordSinkTask):
            receipts = [self.task.writer().stage(self._batch(queue, 0, until), self._part()) for queue in QUEUES]
            self.task.abort(receipts)


@contextmanager
def writing(case: SinkCase, *, epoch: int = 1, generation: int = 1) -> Iterator[Writer]:
    """A writer of a task that is opened, and closed at the end."""
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


class Disk:
    """A disk that can be full, for some processes.

    Args:
        processes: Their ids.
    """

    def __init__(self, processes: Sequence[int]) -> None:
        self._processes = processes

    @contextmanager
    def full(self) -> Iterator[None]:
        """No file of these processes can grow beyond 1 KiB within the block."""
        with ExitStack() as held:
            for process in self._processes:
                soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
                resource.prlimit(process, resource.RLIMIT_FSIZE, (1 << 10, hard))
                held.callback(resource.prlimit, process, resource.RLIMIT_FSIZE, (soft, hard))
            yield

    def faults(self) -> Iterator[AbstractContextManager[None]]:
        """What can be wrong with a disk here, one after the other: it is so within the block."""
        yield self.full()


class _SmallDisk(Disk):
    """A small file system."""

    def __init__(self, directory: Path) -> None:
        super().__init__(())
        self._directory = directory
        self._ballast = directory / "ballast"

    def faults(self) -> Iterator[AbstractContextManager[None]]:
        """See Disk. A file system of which a file is open to be written stays as it is."""
        yield self.full()
        if self._mounted("ro"):
            yield self._read_only()

    @contextmanager
    def _read_only(self) -> Iterator[None]:
        try:
            yield
        finally:
            assert self._mounted("rw"), "the file system stays read-only"

    def _mounted(self, how: str) -> bool:
        command = ["mount", "-o", f"remount,{how}", str(self._directory)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

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
def small_disk(case: SinkCase, directory: Path) -> Iterator[Disk]:
    """For root, where mount is allowed, a file system of 8 MiB; else a limit on the files of this process and of Spark's Java."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(directory)]
    made = subprocess.run(command, capture_output=True, text=True, check=False) if os.geteuid() == 0 else None
    if made is None or made.returncode:
        yield Disk([os.getpid(), *([_java(case)] if isinstance(case.sink, DataFrameSink) else [])])
        return
    try:
        yield _SmallDisk(directory)
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)  # noqa: S607


def _java(case: SinkCase) -> int:
    """The process of Spark."""
    process: int = spark_session(case.settings).sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # noqa: SLF001  # the way to Java
    return process
