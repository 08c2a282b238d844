"""A batch of rows and changes of rows becomes one commit of the table, by MERGE: each key has one row."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors.delta_sink.task import DeltaTask
from connectors.file_sink.columns import Columns
from connectors.lakes.compaction import Compaction
from connectors.lakes.upserts import Keyed, Upserting, Upserts
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.evolution import Settled, nullable
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, SinkCommit
from rocketconnect_sdk.targets.commits import is_written
from rocketconnect_sdk.targets.fitted import only
from rocketconnect_sdk.targets.merging import Merge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class UpsertTask(Upserting, DeltaTask):
    """Keeps a Delta table as changes say, exactly once.

    Args:
        root: See DeltaTask.
        context: See DeltaTask.
        columns: See DeltaTask.
        evolving: See DeltaTask.
        partitions: See DeltaTask.
        flush: See DeltaTask.
        compaction: See DeltaTask.
        keyed: The key, and what may happen to rows.
    """

    def __init__(
        self,
        root: Path,
        context: TaskContext,
        columns: Schema | None,
        evolving: Columns,
        partitions: Sequence[str],
        flush: FlushPolicy,
        compaction: Compaction,
        keyed: Keyed,
    ) -> None:
        super().__init__(root, context, columns, evolving, partitions, flush, compaction)
        self._upserts = Upserts(root, columns, evolving, keyed)
        self._own: SparkSession | None = None

    @property
    def _session(self) -> "SparkSession":
        """Of this task alone: MERGE takes the claim of its commit from the settings of the session."""
        if self._own is None:
            self._own = super()._session.newSession()
        return self._own

    def _known(self) -> Schema | None:
        from rocketconnect_sdk.spark.types import from_spark_type

        snapshot = self._table.snapshot()
        return None if snapshot is None else from_spark_type(snapshot.columns)

    def _merge(self, merge: Merge, settled: Settled, commit: SinkCommit, *, makes: bool) -> None:
        from rocketconnect_sdk.spark.types import to_spark_type

        kind: Any = to_spark_type(settled.table)
        self._makes = makes
        snapshot = self._found(self._session.createDataFrame([], kind))
        stored = self._stored(snapshot)
        if is_written(stored, commit):
            return
        if not merge.gone and not merge.truncates:
            self.move(commit)
            return
        # Of a row that goes there is but the key.
        columns: Any = to_spark_type(only(nullable(settled.table), merge.rows.column_names))
        evolves = not makes and bool(settled.changes)
        with self._attempt(snapshot.number, {**stored, **commit.after}) as attempt:
            self._table.merge(merge, columns, self._upserts.key, attempt, evolves=evolves)
