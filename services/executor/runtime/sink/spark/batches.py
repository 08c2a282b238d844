"""Batches on their way to Spark: as rows of the plan, as Arrow with its tasks, or as files in memory."""

import fcntl
import gc
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.arrow_types import recast
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.objects import rows_of_values
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.spark.types import to_spark
from services.executor.runtime.sink.decode.part import Part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL_BYTES = 8 << 20
"""Up to it a batch goes with the tasks of the job; above it, on one machine, over a file in memory. See the workload `ways`."""
_ROWS_WORTH_A_TASK = 5_000
_TASK_BYTES = 64 << 20
"""What goes with one task at most: half of what Spark lets it be by default (spark.rpc.message.maxSize)."""

_PREFIX = "rocketconnect-stage-"
_MEMORY = Path("/dev/shm")  # noqa: S108  # that is its name
HEADER = "header:"
"""Before its name: the column of one header."""
_HEADERS = pa.map_(pa.string(), pa.string())


def columns_of(part: Part, columns: Sequence[str]) -> pa.RecordBatch:
    """The records of a part as columns: any of value, key, topic, queue, offset, row, timestamp, headers and header:NAME."""
    return pa.RecordBatch.from_arrays([_column(part, name) for name in columns], names=list(columns))


def spark_array(columns: Schema | None, values: Sequence[object], schema: Schema | None) -> pa.Array:
    """Values as their schema says, in types that Spark reads; without a schema as rows of columns, where these are given.

    Raises:
        RecordError: a value does not fit, or Spark has no such type.
    """
    if schema is not None or columns is None:
        return to_spark(to_array(values, schema))
    return values.array if isinstance(values, Column) else rows_of_values(values, columns)


def _column(part: Part, name: str) -> pa.Array:
    records = part.records
    count = len(records)
    if name.startswith(HEADER):
        header = name.removeprefix(HEADER)
        texts = None if records.headers is None else [headers.get(header) for headers in records.headers]
        return pa.nulls(count, pa.string()) if texts is None else pa.array(texts, pa.string())
    times = [None] * count if records.timestamps_ms is None else records.timestamps_ms
    makers: dict[str, Callable[[], pa.Array]] = {
        "value": lambda: part.array,
        "key": lambda: pa.nulls(count, pa.string()) if records.keys is None else to_array(records.keys, None),
        "topic": lambda: pa.repeat(records.topic, count),
        "queue": lambda: pa.repeat(records.queue, count),
        "offset": lambda: pa.array(records.offsets, pa.int64()),
        "row": lambda: pa.nulls(count, pa.int64()) if records.rows is None else pa.array(records.rows, pa.int64()),
        "timestamp": lambda: pa.array(times, pa.timestamp("ms", "UTC")),
        "headers": lambda: pa.array([list(headers.items()) for headers in records.headers or [{}] * count], _HEADERS),
    }
    if name not in makers:
        msg = f"the sink asks for a column {name!r}; there are {', '.join(makers)}"
        raise PermanentError(msg)
    return makers[name]()


def in_order(parts: Sequence[Part]) -> list[Part]:
    """Those with records, in the order of their queues and offsets: that of the rows of a batch."""
    return sorted((part for part in parts if len(part.records)), key=lambda part: (part.queue, part.start))


def table_of(parts: Sequence[Part]) -> pa.Table:
    """The table of a batch with at least one record. See in_order."""
    tables = _with_alike_nulls(in_order(parts))
    # Keys without a converter schema can be null in one part and text in the next.
    if all(table.schema == tables[0].schema for table in tables):
        return pa.Table.from_batches(tables)
    return pa.concat_tables([pa.Table.from_batches([table]) for table in tables], promote_options="permissive")


def _with_alike_nulls(parts: Sequence[Part]) -> list[pa.RecordBatch]:
    """The tables of parts. Tombstones alone have no schema: their nulls get the type of the values in other parts."""
    kind = next((part.array.type for part in parts if not _has_nulls_only(part)), None)
    return [part.table if kind is None or not _has_nulls_only(part) else _with_nulls(part.table, kind) for part in parts]


def _has_nulls_only(part: Part) -> bool:
    return part.records.schema is None and part.array.null_count == len(part.array)


def _with_nulls(table: pa.RecordBatch, kind: pa.DataType) -> pa.RecordBatch:
    if "value" not in table.schema.names:
        return table
    return table.set_column(table.schema.names.index("value"), "value", pa.nulls(table.num_rows, kind))


class Staging:
    """A directory for batches, in memory where the machine has room; removed at the end, or by the next one after a crash.

    A lock on the directory says that its owner lives: process ids mean nothing to a neighbour in another container that shares
    the memory.
    """

    def __init__(self) -> None:
        roots = [root for root in (_MEMORY, Path(tempfile.gettempdir())) if os.access(root, os.W_OK)]
        for root in roots:
            _remove_orphans(root)
        # Made under a name that no cleaner looks for, and renamed once it is locked.
        made = Path(tempfile.mkdtemp(prefix=f"new-{_PREFIX}", dir=roots[0]))
        self._lock = os.open(made, os.O_RDONLY)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._path = made.rename(made.with_name(made.name.removeprefix("new-")))
        self._count = 0

    @contextmanager
    def parquet(self, table: pa.Table) -> Iterator[str]:
        """A Parquet file of a table, for the time of a block."""
        with self._file() as path:
            pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False, row_group_size=65_536)
            yield path

    @contextmanager
    def arrow(self, table: pa.Table) -> Iterator[str]:
        """An Arrow file of a table, for the time of a block."""
        with self._file() as path:
            with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
            yield path

    @contextmanager
    def _file(self) -> Iterator[str]:
        self._count += 1
        path = self._path / str(self._count)
        try:
            yield str(path)
        finally:
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Removes it."""
        shutil.rmtree(self._path, ignore_errors=True)
        os.close(self._lock)


def _remove_orphans(root: Path) -> None:
    for path in root.glob(f"{_PREFIX}*"):
        try:
            directory = os.open(path, os.O_RDONLY)
        except OSError:
            # Another cleaner was quicker, or it is somebody else's.
            continue
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:
            # Its owner lives.
            continue
        finally:
            os.close(directory)


def slices(rows: int, size: int, parallelism: int) -> list[tuple[int, int]]:
    """How the rows of a batch are divided among Spark tasks, as (start, stop): all cores work where there is enough for each.

    Args:
        rows: At least one.
        size: Of all of them, in bytes.
        parallelism: How many tasks run at once.
    """
    count = min(rows, max(1, min(parallelism, rows // _ROWS_WORTH_A_TASK), -(-size // _TASK_BYTES)))
    return list(pairwise(rows * index // count for index in range(count + 1)))


def with_nulls_in_nulls(table: pa.Table) -> pa.Table:
    """A table whose types say that what is part of a null may be null: Spark's own cast refuses it otherwise."""
    for number, field in enumerate(table.schema):
        kind = _loosened(field.type, is_part_of_null=table.column(number).null_count > 0)
        if kind != field.type:
            chunks = [recast(chunk, kind) for chunk in table.column(number).chunks]
            table = table.set_column(number, field.with_type(kind), pa.chunked_array(chunks, kind))
    return table


def _loosened(kind: pa.DataType, *, is_part_of_null: bool) -> pa.DataType:
    def part(field: pa.Field) -> pa.Field:
        inner = _loosened(field.type, is_part_of_null=is_part_of_null or field.nullable)
        return field.with_type(inner).with_nullable(field.nullable or is_part_of_null)

    if pa.types.is_struct(kind):
        return pa.struct([part(field) for field in kind])
    return pa.list_(part(kind.value_field)) if pa.types.is_list(kind) else kind


@contextmanager
def frame_of(session: "SparkSession", table: pa.Table, staging: Staging) -> "Iterator[DataFrame]":
    """A DataFrame of a table, for the time of a block; rows keep their order within each Spark partition."""
    if table.nbytes <= SMALL_BYTES or not is_local(session):
        # Spark makes a task of each chunk.
        whole = with_nulls_in_nulls(table.combine_chunks())
        parts = slices(table.num_rows, table.nbytes, session.sparkContext.defaultParallelism)
        yield session.createDataFrame(pa.concat_tables([whole.slice(start, stop - start) for start, stop in parts]))
        return
    from pyspark.sql.pandas.types import from_arrow_schema

    with staging.parquet(table) as path:
        schema: Any = from_arrow_schema(table.schema, prefer_timestamp_ntz=False)
        yield session.read.schema(schema).parquet(path)


def let_go_of_java() -> None:
    """Frees what Java keeps for objects of Python that are not used any more: a batch, and what came back of it.

    Each object of py4j whose methods were called refers to itself, so that only a search for cycles finds it, and in a host that
    comes once in 100,000 objects. Before this was asked for after each batch, Java ran out of memory once in some hundred large
    ones. All objects are looked at, as those of another task's batch outlive a search; what was there from the start is left out
    (gc.freeze), which makes it take no time to speak of.
    """
    gc.collect()


def is_local(session: "SparkSession") -> bool:
    """Whether Spark runs on this machine, so that it sees its files."""
    return str(session.sparkContext.master).startswith("local")
