"""Batches on their way to Spark: small ones with the task, large ones as files in memory."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.errors import PermanentError
from services.executor.runtime.parts import Part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL_BYTES = 1 << 20
"""Below it a batch goes with the job itself; above it, on one machine, over a file in memory."""

_PREFIX = "rocketconnect-stage-"
_MEMORY = Path("/dev/shm")  # noqa: S108  # that is its name
_HEADERS = pa.map_(pa.string(), pa.string())


def columns_of(part: Part, columns: Sequence[str]) -> pa.RecordBatch:
    """The records of a part as columns: any of value, key, topic, queue, offset, timestamp and headers."""
    return pa.RecordBatch.from_arrays([_column(part, name) for name in columns], names=list(columns))


def _column(part: Part, name: str) -> pa.Array:
    records = part.records
    count = len(records)
    times = [None] * count if records.timestamps_ms is None else records.timestamps_ms
    makers: dict[str, Callable[[], pa.Array]] = {
        "value": lambda: part.array,
        "key": lambda: pa.nulls(count, pa.string()) if records.keys is None else to_array(records.keys, None),
        "topic": lambda: pa.repeat(records.topic, count),
        "queue": lambda: pa.repeat(records.queue, count),
        "offset": lambda: pa.array(records.offsets, pa.int64()),
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
    tables = [part.table for part in in_order(parts)]
    # Keys without a converter schema can be null in one part and text in the next.
    if all(table.schema == tables[0].schema for table in tables):
        return pa.Table.from_batches(tables)
    return pa.concat_tables([pa.Table.from_batches([table]) for table in tables], promote_options="permissive")


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


@contextmanager
def frame_of(session: "SparkSession", table: pa.Table, staging: Staging) -> "Iterator[DataFrame]":
    """A DataFrame of a table, for the time of a block; rows keep their order within each Spark partition."""
    if table.nbytes <= SMALL_BYTES or not is_local(session):
        yield session.createDataFrame(table)
        return
    from pyspark.sql.pandas.types import from_arrow_schema

    with staging.parquet(table) as path:
        schema: Any = from_arrow_schema(table.schema, prefer_timestamp_ntz=False)
        yield session.read.schema(schema).parquet(path)


def is_local(session: "SparkSession") -> bool:
    """Whether Spark runs on this machine, so that it sees its files."""
    return str(session.sparkContext.master).startswith("local")
