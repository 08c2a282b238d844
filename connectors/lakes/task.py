"""What the tasks of sinks of lakes have in common."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.file_sink.forms import unwritable
from connectors.file_sink.rows import rows_as
from rocketconnect_sdk.columns.objects import rows_of_array
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import DataFrameSinkTask, FlushPolicy, SinkCommit

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

ROWS_OF_A_FILE = 250_000
"""Up to so many a commit has them in one file."""


def files_of(rows: "DataFrame", commit: SinkCommit) -> "DataFrame":
    """The rows of a batch in as many partitions as it is to have files: small files cost every reader time."""
    return rows.coalesce(1) if commit.rows <= ROWS_OF_A_FILE else rows


class LakeTask(DataFrameSinkTask):
    """Writes a table in a directory of this machine with Spark.

    Args:
        root: The directory of the table.
        context: Of the task.
        columns: What JSON text is made of; None: those of the schemas of the values, text without one as one column "value".
        flush: When batches are closed.
    """

    def __init__(self, root: Path, context: TaskContext, columns: Schema | None, flush: FlushPolicy) -> None:
        self._root = root
        self._context = context
        self._columns = columns
        self._flush = flush

    @property
    def flush(self) -> FlushPolicy:
        """See SinkTask."""
        return self._flush

    @property
    def columns(self) -> Sequence[str]:
        """See DataFrameSinkTask."""
        return ("value",)

    @property
    def rows_as(self) -> Schema | None:
        """See DataFrameSinkTask."""
        return None if self._columns is None else rows_as(self._columns)

    def unwritable(self, values: "pa.Array") -> Mapping[int, str]:
        """See DataFrameSinkTask."""
        return {} if self._columns is None else unwritable(values, partial(rows_of_array, columns=self._columns))

    def close(self) -> None:
        """Nothing is held between batches."""

    @property
    def _session(self) -> "SparkSession":
        session = self._context.spark
        if session is None:
            msg = f"{self._root}: there is no Spark session"
            raise PermanentError(msg)
        return session

    def _check_master(self) -> None:
        """Raises PermanentError: who writes files is not on this machine."""
        master = str(self._session.sparkContext.master)
        if not master.startswith("local"):
            msg = f"{self._root}: Spark's workers are elsewhere (spark.master={master}). Set spark.profile to one with local[*]"
            raise PermanentError(msg)
