"""Sinks on Spark: a DataFrame for each batch, or the record sink's writers in Spark's Python workers."""

import pickle
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.errors import ConnectorError, PermanentError, RecordError, RetriableError, SystemAway
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import DataFrameSinkTask, Receipt, RecordSinkTask, SinkCommit, SinkWriter
from services.executor.runtime.engines import Ready, stage
from services.executor.runtime.failures import Failure, Stage, as_bytes
from services.executor.runtime.parts import BadRecord, Part, Wanted
from services.executor.runtime.spark_batches import SMALL_BYTES, Staging, columns_of, frame_of, in_order, is_local, table_of
from services.executor.runtime.spark_errors import spark_error_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RECORD_COLUMNS = ("queue", "topic", "offset", "value", "key", "timestamp")
_ROWS_WORTH_A_PARTITION = 5_000


class DataFrameEngine:
    """A DataFrame sink."""

    def __init__(self, task: DataFrameSinkTask, session: "SparkSession", name: str, columns: Sequence[str]) -> None:
        self.wanted = Wanted(keys="key" in columns, timestamps="timestamp" in columns, headers="headers" in columns, array=to_array)
        self._task = task
        self._session = session
        self._columns = columns
        self._staging = Staging()
        self._refused: dict[int, BadRecord] = {}
        _use_pool(session, name)

    def finish(self, part: Part) -> None:
        """Makes its table."""
        part.table = columns_of(part, self._columns)

    def write(self, parts: Sequence[Part], commit: SinkCommit, ready: Ready) -> Sequence[BadRecord]:
        """Hands a DataFrame over; when values of it cannot be written, another one without them, for the same ranges."""
        table = table_of(parts) if commit.rows else None
        while True:
            ready(list(self._refused.values()))
            rows = commit.rows - len(self._refused)
            try:
                if table is None or not rows:
                    self._task.move(replace(commit, rows=0))
                else:
                    with frame_of(self._session, _without(table, self._refused), self._staging) as frame, _spark_errors():
                        self._task.write(frame, replace(commit, rows=rows))
            except RecordError as error:
                self._refuse(parts, table, error)
                continue
            refused = list(self._refused.values())
            self._refused = {}
            return refused

    def _refuse(self, parts: Sequence[Part], table: pa.Table | None, error: RecordError) -> None:
        """Asks the task which rows it was, by row of the table."""
        values = None if table is None or "value" not in table.column_names else table.column("value").combine_chunks()
        reasons = {} if values is None else self._task.unwritable(values)
        if not reasons.keys() - self._refused.keys():
            raise PermanentError(str(error)) from error
        ordered = in_order(parts)
        ends = list(accumulate(len(part.records) for part in ordered))
        for row, reason in sorted(reasons.items()):
            number = bisect_right(ends, row)
            records = ordered[number].records
            index = row - ends[number] + len(records)
            failure = Failure.of_value(Stage.WRITE, RecordError(reason), as_bytes(records.values[index]), self._task)
            self._refused[row] = BadRecord(records.queue, records.offsets[index], failure)

    def give_up(self) -> None:
        """Nothing is staged."""
        self._refused = {}

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

    def __init__(self, task: RecordSinkTask, session: "SparkSession", name: str, *, headers: bool) -> None:
        self.wanted = Wanted(headers=headers, array=to_array)
        self._task = task
        self._session = session
        self._name = name
        self._columns = (*_RECORD_COLUMNS, "headers") if headers else _RECORD_COLUMNS
        self._staging = Staging()
        self._staged: dict[int, _Staged] = {}
        self._attempt = 0
        _use_pool(session, name)

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
        with ExitStack() as held:
            slices = [one for one in self._slices(table, held) if one.number not in self._staged]
            if slices:
                self._stage(slices, commit, next((part.records.schema for part in parts if part.records.schema), None))
        staged = [self._staged[number] for number in sorted(self._staged)]
        refused = [bad for one in staged for bad in one.refused]
        ready(refused)
        self._task.commit([receipt for one in staged for receipt in one.receipts], commit)
        self._staged = {}
        return refused

    def give_up(self) -> None:
        """Removes what is staged."""
        receipts = [receipt for one in self._staged.values() for receipt in one.receipts]
        self._staged = {}
        if receipts:
            self._task.abort(receipts)

    def close(self) -> None:
        """Gives back what is held."""
        self._staging.close()

    def _slices(self, table: pa.Table, held: ExitStack) -> list[_Slice]:
        count = max(1, min(self._session.sparkContext.defaultParallelism, table.num_rows // _ROWS_WORTH_A_PARTITION))
        edges = [table.num_rows * index // count for index in range(count + 1)]
        if table.nbytes <= SMALL_BYTES or not is_local(self._session):
            return [
                _Slice(index, "", start, stop, _ipc(table.slice(start, stop - start)))
                for index, (start, stop) in enumerate(pairwise(edges))
            ]
        path = held.enter_context(self._staging.arrow(table))
        return [_Slice(index, path, start, stop) for index, (start, stop) in enumerate(pairwise(edges))]

    def _stage(self, slices: Sequence[_Slice], commit: SinkCommit, schema: Schema | None) -> None:
        self._attempt += 1
        prefix = f"{self._name}-{commit.token[:16]}-{self._attempt}"
        work = _StageSlice(pickle.dumps(self._task.writer()), prefix, schema)
        context = self._session.sparkContext
        with _spark_errors():
            done: list[_Staged] = context.parallelize(slices, len(slices)).map(work).collect()
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
    """A job that Spark gave up is tried again; what a connector raises on purpose passes."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        msg = f"the Spark job failed: {spark_error_text(error)}"
        raise RetriableError(msg) from error


def _without(table: pa.Table, rows: Collection[int]) -> pa.Table:
    return table.filter(pa.array([row not in rows for row in range(table.num_rows)])) if rows else table


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
    return SinkBatch(
        queue,
        rows.column("topic")[0].as_py(),
        values.to_pylist(),
        rows.column("offset").to_pylist(),
        None if keys.null_count == len(keys) else keys.to_pylist(),
        None if times.null_count else times.to_pylist(),
        None if headers is None else [dict(pairs) for pairs in headers],
        schema,
        values.nbytes,
    )


def _use_pool(session: "SparkSession", name: str) -> None:
    """The jobs of the calling thread go to a pool of their own."""
    session.sparkContext.setLocalProperty("spark.scheduler.pool", name)
