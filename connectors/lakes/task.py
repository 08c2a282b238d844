"""What the tasks of sinks of lakes have in common."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from connectors.file_sink.forms import unwritable
from connectors.file_sink.rows import rows_as
from connectors.lakes.compaction import Compaction
from connectors.lakes.partition_values import none_lost
from connectors.lakes.seen import Seen
from rocketconnect_sdk.columns.objects import rows_of_array
from rocketconnect_sdk.columns.sinks import DataFrameSinkTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError, PermanentError
from rocketconnect_sdk.evolution.tables import VALUE
from rocketconnect_sdk.files.trouble import understood
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, SinkCommit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_OF_A_FILE = 250_000
"""Up to so many a commit has them in one file."""


def files_of(rows: "DataFrame", commit: SinkCommit) -> "DataFrame":
    """The rows of a batch in as many partitions as it is to have files: small files cost every reader time."""
    return rows.coalesce(1) if commit.rows <= ROWS_OF_A_FILE else rows


class LakeTask(DataFrameSinkTask):
    """Writes a table in a directory with Spark, which this process and all workers of Spark's see.

    Args:
        root: The directory of the table.
        context: Of the task.
        columns: What JSON text is made of; None: those of the schemas of the values, text without one as one column "value".
        flush: When batches are closed.
        compaction: When small files are put together; None: never.
    """

    def __init__(
        self, root: Path, context: TaskContext, columns: Schema | None, flush: FlushPolicy, compaction: Compaction | None = None
    ) -> None:
        self._root = root
        self._context = context
        self._columns = columns
        self._flush = flush
        self._compaction = compaction
        self._seen = Seen()

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

    def unwritable(self, values: pa.Array) -> Mapping[int, str]:
        """See DataFrameSinkTask."""
        return unwritable(values, self._look_at)

    def _partitioned(self) -> Sequence[str]:
        """The columns whose values are in the names of partitions, which cannot hold all; of Iceberg's tables none are."""
        return ()

    def _look_at(self, values: pa.Array) -> None:
        """Raises RecordError: values that cannot be written."""
        if self._columns is not None:
            values = rows_of_array(values, self._columns)
        if pa.types.is_struct(values.type):
            none_lost(pa.Table.from_struct_array(values), self._partitioned())
        else:
            none_lost(pa.table({VALUE: values}), self._partitioned())

    def close(self) -> None:
        """Nothing is held between batches."""

    def _compact_if_due(self) -> None:
        """To be called when a batch is in the table, which then counts whatever becomes of this: what goes wrong is logged."""
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        compaction = self._compaction
        if compaction is None or self._context.task != 0 or not compaction.is_due():
            return
        try:
            with understood(self._root):
                before, after = self._compact(compaction)
        except (ConnectorError, Py4JError, PySparkException) as error:
            self._context.log.warning(
                "small files were not put together, which is tried again in %g s: %s", compaction.interval, error
            )
        else:
            if before:
                self._context.log.info("put %d small files together, into %d", before, after)
        compaction.done()

    def _compact(self, compaction: Compaction) -> tuple[int, int]:
        """Puts small files together, in a commit of its own; gives how many they were, and have become.

        Raises:
            ConnectorError: it is not done; what was written for it is in no commit.
        """
        del compaction
        return 0, 0

    @property
    def _session(self) -> "SparkSession":
        session = self._context.spark
        if session is None:
            msg = f"{self._root}: there is no Spark session"
            raise PermanentError(msg)
        return session
