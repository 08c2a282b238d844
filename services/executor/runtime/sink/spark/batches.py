"""Batches on their way to Spark: as rows of the plan, as Arrow with its tasks, or as files in memory."""

import fcntl
import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from rocketconnect_sdk.columns.arrow_types import recast

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL_BYTES = 8 << 20
"""Up to it a batch goes with the tasks of the job; above it, on one machine, over a file in memory. See the workload `ways`."""
_ROWS_WORTH_A_TASK = 5_000
_TASK_BYTES = 64 << 20
"""What goes with one task at most: half of what Spark lets it be by default (spark.rpc.message.maxSize)."""

_PREFIX = "rocketconnect-stage-"
_MEMORY = Path("/dev/shm")  # noqa: S108  # that is its name


class Staging:
    """A directory for batches, in memory where the machine has room; removed at the end, or by the next one after a crash.

    A lock on the directory says that its owner lives: process ids mean nothing to a neighbour in another container that shares
    the memory.
    """

    def __init__(self) -> None:
        roots = [root for root in (_MEMORY, Path(tempfile.gettempdir())) if os.access(root, os.W_OK)]
        for root in roots:
            remove_orphans(root)
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


def remove_orphans(root: Path = _MEMORY) -> None:
    """Removes the directories in it whose owners have died. Several may do so at once."""
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
