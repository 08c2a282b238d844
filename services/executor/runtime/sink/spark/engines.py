"""Sinks on Spark: a DataFrame for each batch, or the record sink's writers in Spark's Python workers."""

import pickle
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.arrow_types import readable
from rocketconnect_sdk.columns.sinks import DataFrameSinkTask
from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import Receipt, RecordSinkTask, SinkCommit, SinkWriter
from rocketconnect_sdk.targets.by_topic import ByTopic
from services.executor.runtime.sink.columnar.batches import columns_of, in_order, table_of
from services.executor.runtime.sink.columnar.engine import ColumnarEngine
from services.executor.runtime.sink.decode.part import BadRecord, DecodeSettings, Part
from services.executor.runtime.sink.engines import Commits, Ready, stage
from services.executor.runtime.sink.spark.batches import Staging, frame_of, is_local, let_go_of_java, slices
from services.executor.runtime.sink.spark.errors import comes_again, spark_error_text
from services.executor.runtime.sink.spark.steps import Steps

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SMALL_BYTES = 1 << 20
"""Up to it the slices of a batch are pickled with their tasks; above it, on one machine, they are parts of a file in memory."""
_RECORD_COLUMNS = ("queue", "topic", "offset", "row", "value", "key", "timestamp")
_GATHER_SECONDS = 0.5
"""To plan and start a job costs Spark as much as 300,000 lines do (docs/performance.md)."""


class DataFrameEngine(ColumnarEngine[DataFrameSinkTask]):
    """A DataFrame sink."""

    gather_seconds = _GATHER_SECONDS

    def __init__(self, task: DataFrameSinkTask, session: "SparkSession", name: str, columns: Sequence[str], steps: Steps) -> None:
        super().__init__(task, columns)
        self._session = session
        self._steps = steps
        self._staging = Staging()
        _enter(session, name)

    def _task_of(self, topic: str) -> DataFrameSinkTask:
        return self._task.of_topic(topic) if isinstance(self._task, ByTopic) else self._task

    def _hand_over(self, task: DataFrameSinkTask, table: pa.Table, commit: SinkCommit) -> None:
        try:
            with self._steps.timed("write"), frame_of(self._session, table, self._staging) as frame, _spark_errors():
                task.write(frame, commit)
            del frame
        finally:
            let_go_of_java()

    def close(self) -> None:
        """Gives back what is held."""
        self._staging.close()


@dataclass(frozen=True, slots=True)
class _Slice:
    """What one Spark task stages: rows [start, stop) of an Arrow file, or the Arrow bytes themselves."""

    number: int
    path: str
    start: int
    stop: int
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class _Staged:
    """What became of a slice: receipts, or why not."""

    number: int
    receipts: Sequence[Receipt]
    refused: Sequence[BadRecord]
    error: type[ConnectorError] | None = None
    message: str = ""


class RecordsOnSparkEngine:
    """A record sink whose writers run in Spark's Python workers; it commits here, on the driver."""

    gather_seconds = _GATHER_SECONDS

    def __init__(self, task: RecordSinkTask, session: "SparkSession", name: str, steps: Steps, *, headers: bool) -> None:
        self.wanted = DecodeSettings(headers=headers, array=to_array)
        self._task = task
        self._session = session
        self._name = name
        self._steps = steps
        self._columns = (*_RECORD_COLUMNS, "headers") if headers else _RECORD_COLUMNS
        self._staging = Staging()
        self._staged: dict[int, _Staged] = {}
        self._commits = Commits(task)
        self._attempt = 0
        _enter(session, name)

    def finish(self, part: Part) -> None:
        """Makes its table."""
        part.table = columns_of(part, self._columns)

    def write(self, parts: Sequence[Part], commit: SinkCommit, ready: Ready) -> Sequence[BadRecord]:
        """Stages slices side by side, then commits; what is staged stays so when it is called again."""
        if not commit.rows:
            ready(())
            self._task.move(commit)
            return ()
        table = table_of(parts)
        with self._steps.timed("stage"), ExitStack() as held:
            slices = [one for one in self._slices(table, held) if one.number not in self._staged]
            if slices:
                self._stage(slices, commit, next((part.records.schema for part in parts if part.records.schema), None), ready)
        staged = [self._staged[number] for number in sorted(self._staged)]
        refused = [bad for one in staged for bad in one.refused]
        receipts = [receipt for one in staged for receipt in one.receipts]
        # With what there is to do before it: the lease, dead letters.
        with self._steps.timed("commit"):
            refused = self._commits.run([part.records for part in in_order(parts)], receipts, refused, commit, ready)
        self._staged = {}
        return refused

    def give_up(self) -> None:
        """Removes what is staged."""
        self._commits.forget()
        receipts = [receipt for one in self._staged.values() for receipt in one.receipts]
        self._staged = {}
        if receipts:
            self._task.abort(receipts)

    def close(self) -> None:
        """Gives back what is held."""
        self._staging.close()

    def _slices(self, table: pa.Table, held: ExitStack) -> list[_Slice]:
        parts = slices(table.num_rows, table.nbytes, self._session.sparkContext.defaultParallelism)
        if table.nbytes <= _SMALL_BYTES or not is_local(self._session):
            return [
                _Slice(index, "", start, stop, _ipc(table.slice(start, stop - start))) for index, (start, stop) in enumerate(parts)
            ]
        path = held.enter_context(self._staging.arrow(table))
        return [_Slice(index, path, start, stop) for index, (start, stop) in enumerate(parts)]

    def _stage(self, slices: Sequence[_Slice], commit: SinkCommit, schema: Schema | None, ready: Ready) -> None:
        self._attempt += 1
        prefix = f"{self._name}-{commit.token[:16]}-{self._attempt}"
        work = _StageSlice(pickle.dumps(self._task.writer()), prefix, schema)
        context = self._session.sparkContext
        ready(())
        try:
            with _spark_errors():
                done: list[_Staged] = context.parallelize(slices, len(slices)).map(work).collect()
        finally:
            let_go_of_java()
        self._staged.update({one.number: one for one in done if one.error is None})
        for one in done:
            if one.error is not None:
                raise one.error(one.message)


class _StageSlice:
    """Runs in a Spark worker: everything that it has is pickled, and what it gives back as well."""

    def __init__(self, writer: bytes, prefix: str, schema: Schema | None) -> None:
        self._writer = writer
        self._prefix = prefix
        self._schema = schema

    def __call__(self, piece: _Slice) -> _Staged:
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = context.attemptNumber() if context is not None else 0
        writer: SinkWriter = pickle.loads(self._writer)  # noqa: S301  # pickled by this program's own driver
        receipts: list[Receipt] = []
        refused: list[BadRecord] = []
        for index, batch in enumerate(_batches(_rows(piece), self._schema)):
            try:
                receipt, bad = stage(writer, batch, f"{self._prefix}-{piece.number}-{index}-{attempt}")
            except (SystemAway, RetriableError, PermanentError) as error:
                # As a result, not as an exception: Spark would hand only its text to the driver.
                return _Staged(piece.number, (), (), type(error), str(error))
            receipts.append(receipt)
            refused += bad
        return _Staged(piece.number, receipts, refused)


@contextmanager
def _spark_errors() -> Iterator[None]:
    """A job that Spark gave up is tried again, where that can help; what a connector raises on purpose passes."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        if comes_again(error):
            fix = "Change the records with a transform, or what the sink writes into, and restart the task"
            msg = f"the Spark job failed, as it would again with the same records: {spark_error_text(error)}. {fix}"
            raise PermanentError(msg) from error
        msg = f"the Spark job failed: {spark_error_text(error)}"
        raise RetriableError(msg) from error


def _ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _rows(piece: _Slice) -> pa.Table:
    if not piece.path:
        return pa.ipc.open_file(pa.BufferReader(piece.data)).read_all()
    with pa.memory_map(piece.path) as mapped:
        return pa.ipc.open_file(mapped).read_all().slice(piece.start, piece.stop - piece.start)


def _batches(table: pa.Table, schema: Schema | None) -> list[SinkBatch]:
    """One for each queue; rows of a queue stand together."""
    batches = []
    queues = table.column("queue").to_pylist()
    start = 0
    while start < len(queues):
        stop = start
        while stop < len(queues) and queues[stop] == queues[start]:
            stop += 1
        batches.append(_batch(table.slice(start, stop - start), queues[start], schema))
        start = stop
    return batches


def _batch(rows: pa.Table, queue: str, schema: Schema | None) -> SinkBatch:
    keys = rows.column("key")
    times = rows.column("timestamp").cast(pa.int64())
    headers = rows.column("headers").to_pylist() if "headers" in rows.column_names else None
    values = rows.column("value")
    numbers = rows.column("row")
    return SinkBatch(
        queue,
        rows.column("topic")[0].as_py(),
        readable(values).to_pylist(maps_as_pydicts="strict"),
        rows.column("offset").to_pylist(),
        None if keys.null_count == len(keys) else keys.to_pylist(),
        None if times.null_count else times.to_pylist(),
        None if headers is None else [dict(pairs) for pairs in headers],
        schema,
        values.nbytes,
        None if numbers.null_count else numbers.to_pylist(),
    )


def _enter(session: "SparkSession", pool: str) -> None:
    """What the calling thread runs is of this session, and its jobs go to a pool of their own.

    Java has a session for each thread, which a format asks for its settings. PySpark sets it only where a frame is made of rows: of
    one that is read from a file a thread would find no session, and no catalogue that was set for it.
    """
    jvm = session._jvm  # noqa: SLF001 - pyspark sets it by itself in createDataFrame alone
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)  # type: ignore[union-attr]  # noqa: SLF001
    session.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
