"""Sinks that write whole batches as columns: what their engines share, and that of those that write tables of Arrow."""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Generic, TypeVar

import pyarrow as pa

from rocketconnect_sdk.columns.sinks import ArrowSinkTask, ColumnarSinkTask
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.evolution import OtherColumns
from rocketconnect_sdk.evolution.fitting import fit
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import SinkCommit
from rocketconnect_sdk.spark.types import to_spark
from rocketconnect_sdk.stages import Stage
from services.executor.runtime.errors.failure import Failure, as_bytes, beyond
from services.executor.runtime.sink.columnar.batches import HEADER, columns_of, in_order, spark_array, table_of
from services.executor.runtime.sink.decode.part import BadRecord, DecodeSettings, Part, place_in
from services.executor.runtime.sink.engines import Ready
from services.executor.runtime.sink.refusals import Stopping

T = TypeVar("T", bound=ColumnarSinkTask)


class ColumnarEngine(ABC, Generic[T]):
    """Writes batches as columns; what the task can't write goes by the error policy.

    Args:
        task: What writes.
        columns: Of a batch. See ColumnarSink.
    """

    gather_seconds = 0.0

    def __init__(self, task: T, columns: Sequence[str]) -> None:
        rows_as = task.rows_as
        named = [name.removeprefix(HEADER) for name in columns if name.startswith(HEADER)]
        self.wanted = DecodeSettings(
            keys="key" in columns,
            timestamps="timestamp" in columns,
            headers="headers" in columns or bool(named),
            header_names=() if "headers" in columns else named,
            array=partial(spark_array, rows_as),
            rows_as=rows_as,
        )
        self._task = task
        self._columns = columns
        self._refused: dict[int, BadRecord] = {}

    def finish(self, part: Part) -> None:
        """Makes its table."""
        # Packed messages are not made arrays by `wanted`.
        part.array = to_spark(part.array)
        part.table = columns_of(part, self._columns)

    def write(self, parts: Sequence[Part], commit: SinkCommit, ready: Ready) -> Sequence[BadRecord]:
        """Hands a batch over; when values of it cannot be written, another one without them, for the same ranges.

        Raises:
            Stopping: the columns of its records are not to be written.
        """
        try:
            return self._write(parts, commit, ready)
        except OtherColumns as error:
            left = [row for row in range(sum(len(part.records) for part in parts)) if row not in self._refused]
            records, index = _finder(parts)(left[error.first])
            place = place_in(records.queue, records.offsets[index], None if records.rows is None else records.rows[index])
            msg = f"{place}: {error}"
            raise Stopping(msg, beyond(records.queue, (records.offsets[index] + 1,))) from error

    def _write(self, parts: Sequence[Part], commit: SinkCommit, ready: Ready) -> Sequence[BadRecord]:
        task = self._task_of(parts[0].topic)
        table = self._with_columns(task, parts, ready) if commit.rows else None
        while True:
            ready(list(self._refused.values()))
            rows = commit.rows - len(self._refused)
            try:
                if table is None or not rows:
                    task.move(replace(commit, rows=0))
                else:
                    self._hand_over(task, _without(table, self._refused), replace(commit, rows=rows))
            except RecordError as error:
                self._ask(task, parts, table, error)
                continue
            refused = list(self._refused.values())
            self._refused = {}
            return refused

    def _task_of(self, topic: str) -> T:
        """What writes the records of a topic."""
        del topic
        return self._task

    @abstractmethod
    def _hand_over(self, task: T, table: pa.Table, commit: SinkCommit) -> None:
        """Gives the task a batch with at least one record. Raises as ArrowSinkTask.write."""

    def _with_columns(self, task: T, parts: Sequence[Part], ready: Ready) -> pa.Table:
        """The batch, with the columns that the task has for its schema; the rows that do not have them are refused."""
        table = table_of(parts)
        schema = next((part.records.schema for part in parts if part.records.schema), None)
        if schema is None or "value" not in table.column_names:
            return table
        ready(list(self._refused.values()))
        try:
            columns = task.columns_for(schema)
        except RecordError as error:
            self._refuse(parts, dict.fromkeys(range(table.num_rows), str(error)))
            return table
        if columns is None:
            return table
        values, reasons = fit(table.column("value").combine_chunks(), schema, columns)
        self._refuse(parts, reasons)
        return table.set_column(table.column_names.index("value"), "value", values)

    def _ask(self, task: T, parts: Sequence[Part], table: pa.Table | None, error: RecordError) -> None:
        """Asks the task which rows it was of those that it was given; they are refused by row of the table."""
        if table is None or "value" not in table.column_names:
            raise PermanentError(str(error)) from error
        given = [row for row in range(table.num_rows) if row not in self._refused]
        reasons = task.unwritable(_without(table, self._refused).column("value").combine_chunks())
        if not reasons:
            raise PermanentError(str(error)) from error
        self._refuse(parts, {given[index]: reason for index, reason in reasons.items()})

    def _refuse(self, parts: Sequence[Part], reasons: Mapping[int, str]) -> None:
        find = _finder(parts)
        for row, reason in sorted(reasons.items()):
            records, index = find(row)
            failure = Failure.of_value(Stage.WRITE, RecordError(reason), as_bytes(records.values[index]), self._task)
            in_message = None if records.rows is None else records.rows[index]
            self._refused[row] = BadRecord(records.queue, records.offsets[index], failure, row=in_message)
        packed = [part.records for part in parts if part.records.rows is not None]
        if not packed:
            return
        rows = Counter((records.queue, offset) for records in packed for offset in records.offsets)
        bad = Counter((record.queue, record.offset) for record in self._refused.values())
        for row, record in self._refused.items():
            place = record.queue, record.offset
            self._refused[row] = replace(record, has_company=bad[place] < rows[place])

    def give_up(self) -> None:
        """Nothing is staged."""
        self._refused = {}


class ArrowEngine(ColumnarEngine[ArrowSinkTask]):
    """A sink that writes tables, in this process."""

    def _hand_over(self, task: ArrowSinkTask, table: pa.Table, commit: SinkCommit) -> None:
        task.write(table, commit)


def _finder(parts: Sequence[Part]) -> Callable[[int], tuple[SinkBatch, int]]:
    """Finds the records in which a row of the batch is, and its index there."""
    ordered = in_order(parts)
    ends = list(accumulate(len(part.records) for part in ordered))

    def find(row: int) -> tuple[SinkBatch, int]:
        number = bisect_right(ends, row)
        records = ordered[number].records
        return records, row - ends[number] + len(records)

    return find


def _without(table: pa.Table, rows: Collection[int]) -> pa.Table:
    return table.filter(pa.array([row not in rows for row in range(table.num_rows)])) if rows else table
