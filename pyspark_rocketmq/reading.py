"""Reads a range of a queue as columns. Runs in Spark's Python workers, and needs nothing but the options and the range."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from pyspark_rocketmq.form import PROBLEM, VALUE
from pyspark_rocketmq.ranges import Missing, Range
from pyspark_rocketmq.settings import Settings
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.columns.rows import is_packed
from rocketconnect_sdk.errors import PermanentError, RecordError, SystemAway
from rocketconnect_sdk.evolution.fitting import fit
from rocketconnect_sdk.evolution.tables import as_table
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Type
from rocketconnect_sdk.sink import SourceMark
from rocketconnect_sdk.spark.types import from_spark_field, stored_type, to_spark
from rocketconnect_sdk.stages import Stage
from rocketconnect_sdk.transforms.chain import Chain
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import QueueGap, RetriableError
from rocketmq_remoting.pulls.stream import PullStream
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.rocketmq.queue_names import parse
from services.executor.runtime.sink.columnar.batches import columns_of, spark_array
from services.executor.runtime.sink.decode.decoder import Decoder
from services.executor.runtime.sink.decode.decoders import decoder
from services.executor.runtime.sink.decode.part import BadRecord, DecodeSettings, Part
from services.executor.runtime.sink.duplicates import select
from services.executor.runtime.sink.positions import merged

_BUFFER_BYTES = 16 << 20
_PIECE_BYTES = 4 << 20
_log = logging.getLogger("pyspark_rocketmq")


class RangeReader:
    """Reads ranges into columns; used by one thread.

    Args:
        settings: The options.
        schema: The columns that are wanted: of those that the form of a topic has.
    """

    def __init__(self, settings: Settings, schema: StructType) -> None:
        config = settings.config
        self._settings = settings
        self._names = [name for name in schema.names if name != PROBLEM]
        self._schema = pa.schema([_arrow_field(field) for field in schema])
        self._value = from_spark_field(schema[VALUE]).schema if VALUE in schema.names else None
        rows_as = self._value if self._value is not None and self._value.type is Type.STRUCT else None
        self._wanted = DecodeSettings(
            keys="key" in self._names,
            timestamps="timestamp" in self._names,
            headers="headers" in self._names,
            array=partial(spark_array, rows_as),
            rows_as=rows_as,
        )
        self._is_tolerant = config["errors.tolerance"] == "all"
        self._timeout: float = config["timeout"]

    def read(self, part: Range) -> Iterator[pa.RecordBatch]:
        """The messages of a range, without what is twice in it.

        Raises:
            Missing: some of them are gone, and on.gap is fail.
            PermanentError: one can't be read, and errors.tolerance is none; the broker refuses.
            SystemAway: the broker gives no answer.
        """
        with self._settings.connect() as client:
            marks = self._marks_before(client, part)
            decoding: Decoder | None = None
            for batch in self._pulled(client, part.queue, part.start, part.stop):
                decoding = decoding or self._decoder(batch)
                kept, moved, left_out = select(batch.raw_properties, marks)
                parts = decoding.decode(batch, kept, batch.offsets[0], moved, time.monotonic(), marks)
                marks = merged(marks, moved)
                for one in left_out:
                    _log.info("%d messages of %s in %s are left out: they are there twice", one.messages, one.key, part.queue)
                for each in parts:
                    yield from self._batches(each)

    def _decoder(self, first: DecodedBatch) -> Decoder:
        is_row = self._value is not None and self._value.type is Type.STRUCT
        otherwise = "arrow" if is_packed(bytes(first.bodies[0])) else "json" if is_row else "string"
        key, value = self._settings.converter("key", "string"), self._settings.converter("value", otherwise)
        return decoder(key, value, ErrorPolicy.of_nobody(), self._wanted, Chain(()))

    def _marks_before(self, client: Client, part: Range) -> Mapping[str, SourceMark]:
        """What is known of the sources of a queue where the range begins."""
        first = max(client.min_offset(parse(part.queue)), part.start - self._settings.config["look.back"])
        marks: Mapping[str, SourceMark] = {}
        for batch in self._pulled(client, part.queue, first, part.start) if first < part.start else ():
            marks = merged(marks, select(batch.raw_properties, marks).moved)
        return marks

    def _pulled(self, client: Client, queue: str, start: int, stop: int) -> Iterator[DecodedBatch]:
        until = time.monotonic() + self._timeout
        with closing(PullStream(client, parse(queue), start, max_bytes_buffered=_BUFFER_BYTES, suspend=0.0)) as stream:
            at = start
            while at < stop:
                try:
                    batch = stream.next(max(0.0, until - time.monotonic()), max_bytes=_PIECE_BYTES)
                except QueueGap as gap:
                    if self._settings.config["on.gap"] == "fail" or gap.resume_at <= at:
                        raise Missing(queue, at, max(at + 1, min(stop, gap.resume_at))) from gap
                    at = gap.resume_at
                    stream.seek(at)
                    continue
                except RetriableError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(0.1)
                    continue
                if batch is None:
                    msg = f"queue {queue} has given no messages from offset {at} on for {self._timeout:g} s"
                    raise SystemAway(msg)
                at = batch.offsets[-1] + 1
                until = time.monotonic() + self._timeout
                if len(wanted := batch.between(start, stop)):
                    yield wanted

    def _batches(self, part: Part) -> Iterator[pa.RecordBatch]:
        """A part as columns, and what is bad of it."""
        bad = list(part.bad)
        if len(part.records):
            part.array, reasons = self._fitted(part)
            if reasons:
                bad += [_refused(part, index, why) for index, why in reasons.items()]
                good = [index for index in range(len(part.records)) if index not in reasons]
                part.records, part.array = part.records.take(good), part.array.take(pa.array(good, pa.int64()))
        if bad and not self._is_tolerant:
            worst = min(bad, key=lambda record: (record.offset, record.row or 0))
            msg = f"{worst.place}: {worst.failure.message}. With errors.tolerance=all it becomes a row that says so"
            raise PermanentError(msg)
        if len(part.records):
            yield self._with_types(columns_of(part, self._names))
        for record in bad:
            yield self._with_types(self._of_bad(part, record), record.failure.message)

    def _fitted(self, part: Part) -> tuple[pa.Array, Mapping[int, str]]:
        """The values in the type that is wanted; by index those that do not fit, and why."""
        array, schema = to_spark(part.array), part.records.schema
        if self._value is None:
            return pa.nulls(len(array)), {}
        if schema is None:
            return array, {}
        if (schema.type is Type.STRUCT) != (self._value.type is Type.STRUCT):
            why = f"is {type_name(schema)}, and {type_name(self._value)} is wanted: see value.converter and columns"
            return pa.nulls(len(array), stored_type(to_arrow_type(self._value))), dict.fromkeys(range(len(array)), why)
        made, reasons = fit(array, schema, as_table(self._value))
        return (made if self._value.type is Type.STRUCT else made.field(0)), reasons

    def _of_bad(self, part: Part, record: BadRecord) -> pa.RecordBatch:
        records = SinkBatch(record.queue, part.records.topic, [None], [record.offset])
        records.rows = None if record.row is None else [record.row]
        alone = Part(record.queue, record.offset, record.offset + 1, {}, records, 1, 0)
        alone.array = pa.nulls(1)
        return columns_of(alone, self._names)

    def _with_types(self, batch: pa.RecordBatch, problem: str | None = None) -> pa.RecordBatch:
        """A batch with the columns of the schema, in its types."""
        arrays = []
        for field in self._schema:
            column: Any = pa.repeat(problem, len(batch)) if field.name == PROBLEM and problem is not None else None
            if column is None:
                column = pa.nulls(len(batch)) if field.name == PROBLEM else batch.column(field.name)
            arrays.append(_cast(column, field))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _arrow_field(field: StructField) -> pa.Field:
    """A column as Spark reads it."""
    return pa.field(field.name, stored_type(to_arrow_type(from_spark_field(field).schema)), field.nullable)


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    if column.type == field.type:
        return column
    if column.null_count == len(column):
        return pa.nulls(len(column), field.type)
    try:
        return column.cast(field.type)
    except (pa.ArrowException, ValueError) as error:
        msg = f"the column {field.name} is {column.type}, which is no {field.type}: {error}"
        raise PermanentError(msg) from error


def _refused(part: Part, index: int, why: str) -> BadRecord:
    failure = Failure.of_value(Stage.CONVERT, RecordError(why), b"", RangeReader)
    row = None if part.records.rows is None else part.records.rows[index]
    return BadRecord(part.queue, part.records.offsets[index], failure, row=row)
