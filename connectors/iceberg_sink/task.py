"""A batch becomes one commit of the table: its rows, and the positions and the claim of its task.

They are properties of the table: a commit counts only where the state that was looked at is still the newest one, so what was seen
of all claims is still so when it counts (invariant 3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors.file_sink.columns import Columns
from connectors.file_sink.rows import rows_of
from connectors.iceberg_sink.catalogs import Catalog, Overtaken
from connectors.iceberg_sink.partitions import Transform
from connectors.iceberg_sink.table import Change, Table, TableState
from connectors.lakes.compaction import Compaction
from connectors.lakes.kept import Kept
from connectors.lakes.staging import quoted
from connectors.lakes.task import LakeTask, files_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.evolution import nullable
from rocketconnect_sdk.files.trouble import understood
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, SinkCommit
from rocketconnect_sdk.targets.commits import is_written, told

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_TRIES = 10


class IcebergTask(LakeTask):
    """Appends to an Iceberg table, exactly once. Several tasks of the connector, and other writers, may write to the same one.

    Args:
        root: The directory of the table.
        context: Of the task.
        columns: See LakeTask.
        evolving: What becomes of the columns where `columns` does not say them.
        partitions: How a table is partitioned that is made here.
        flush: When batches are closed.
        compaction: See LakeTask.
        catalog: Where the table is, for a session of Spark.
    """

    def __init__(
        self,
        root: Path,
        context: TaskContext,
        columns: Schema | None,
        evolving: Columns,
        partitions: Sequence[Transform],
        flush: FlushPolicy,
        compaction: Compaction,
        catalog: "Callable[[SparkSession], Catalog]",
    ) -> None:
        super().__init__(root, context, columns, flush, compaction)
        self._kept = Kept(context)
        self._evolving = evolving
        self._partitions = partitions
        self._catalog = catalog
        self._opened: Table | None = None
        self._makes = False
        self._adds: Schema | None = None
        self._may_be_there = False

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask. A table that is not there is made where its columns are known, else in front of the first batch."""
        with understood(self._root):
            if self._columns is not None and self._table.look() is None:
                from rocketconnect_sdk.spark.types import to_spark_type

                kind: Any = to_spark_type(nullable(self._columns))
                self._table.make(kind, self._partitions)
            return {} if self._table.look() is None else self._commit(None, Change())

    def columns_for(self, schema: Schema) -> Schema | None:
        """See DataFrameSinkTask. The table gets its new columns in front of the batch."""
        if self._columns is not None:
            return None
        from rocketconnect_sdk.spark.types import from_spark_type

        look = self._table.look()
        self._makes = look is None
        settled = self._evolving.settle(None if look is None else from_spark_type(look.columns), schema)
        self._adds = settled.table if look is not None and settled.changes else None
        return settled.table

    def write(self, frame: "DataFrame", commit: SinkCommit) -> None:
        """See DataFrameSinkTask."""
        with understood(self._root):
            rows = rows_of(frame, self._columns)
            look = self._found(rows.schema)
            # An owner that was replaced, and a batch that is there already, have nothing written.
            if is_written(self._kept.positions(look.properties), commit):
                return
            if self._adds is not None:
                from rocketconnect_sdk.spark.types import to_spark_type

                kind: Any = to_spark_type(self._adds)
                self._commit(None, Change(columns=kind))
                look = self._found(rows.schema)
            self._publish(look, commit, Change(files=look.stage(self._aligned(files_of(rows, commit), look))))
        self._compact_if_due()

    def close(self) -> None:
        """See SinkTask."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def move(self, commit: SinkCommit) -> None:
        """See SinkTask. Where there is no table yet, there is nowhere to store it: such messages are left out again."""
        with understood(self._root):
            if self._table.look() is not None:
                self._commit(commit, Change())

    def _found(self, columns: "StructType") -> TableState:
        """The table, which is made where there is none, and which Spark's workers see."""
        look = self._table.look()
        if look is None:
            from rocketconnect_sdk.spark.types import from_spark_type, to_spark_type

            kind: Any = to_spark_type(nullable(from_spark_type(columns)))
            self._table.make(kind, self._partitions)
            look = self._table.look()
        elif self._makes:
            # Then its columns are looked at again.
            msg = f"{self._root}: another one has made the table meanwhile"
            raise RetriableError(msg, wait=0.1)
        self._makes = False
        if look is None:
            msg = f"{self._root}: the table was made, and is gone again"
            raise RetriableError(msg)
        self._seen.check(self._session, look.location)
        return look

    def _aligned(self, rows: "DataFrame", look: TableState) -> "DataFrame":
        """The rows in the columns of the table. Raises PermanentError: it does not have theirs."""
        from pyspark.sql.functions import col, lit

        there = look.columns
        if missing := [name for name in rows.columns if name not in there.names]:
            fix = "Add it to the table, or change the columns of the connector"
            msg = f"{self._root}: the table has no column {', '.join(missing)}, which the rows have. {fix}"
            raise PermanentError(msg)
        if needed := [each.name for each in there if each.name not in rows.columns and not each.nullable]:
            fix = "Add it to the columns of the connector, or let the column take nulls"
            msg = f"{self._root}: the column {', '.join(needed)} of the table takes no null, and the rows have none. {fix}"
            raise PermanentError(msg)
        named = {name: col(quoted(name)) for name in rows.columns}
        return rows.select([named.get(each.name, lit(None).cast(each.dataType).alias(each.name)) for each in there])

    def _compact(self, compaction: Compaction) -> tuple[int, int]:
        """See LakeTask."""
        look = self._table.look()
        if look is None:
            return 0, 0
        tasks = look.tasks()
        found = [task.file() for task in tasks]
        groups = compaction.groups(((file.specId(), str(file.partition())), int(file.fileSizeInBytes())) for file in found)
        files: list[Any] = []
        try:
            for group in groups:
                with look.reading(self._session, [tasks[number] for number in group]) as rows:
                    files += look.stage(rows.coalesce(1))
        except BaseException:
            look.forget(files)
            raise
        gone = [found[number] for group in groups for number in group]
        if gone:
            self._publish(look, None, Change(files=files, gone=gone, compacts=True, on=look.snapshot))
        return len(gone), len(files)

    def _publish(self, look: TableState, commit: SinkCommit | None, change: Change) -> None:
        """Makes a change with files that were staged; they go when no commit can have them. Raises: as _commit."""
        self._may_be_there = False
        try:
            self._commit(commit, change)
        except (Overtaken, PermanentError):
            if not self._may_be_there:
                look.forget(change.files)
            raise

    def _commit(self, commit: SinkCommit | None, change: Change) -> Mapping[str, QueuePosition]:
        """Makes a change, with the claim of this owner; gives the positions that are stored with it.

        Args:
            commit: The batch; None: the positions stay.
            change: What else the commit does.

        Raises:
            Overtaken: others were faster, again and again; nothing was done.
            RetriableError: it is not known whether it is there.
            PermanentError: a newer owner writes there, or the batch does not continue what is there.
        """
        reason: Overtaken | None = None
        for _ in range(_TRIES):
            look = self._table.look()
            if look is None:
                msg = f"{self._root}: the table is gone"
                raise RetriableError(msg)
            stored = self._kept.positions(look.properties)
            if commit is not None and is_written(stored, commit):
                return stored
            if change.on not in (None, look.snapshot):
                msg = f"{self._root}: another commit was faster, and has changed the rows that were looked at"
                raise Overtaken(msg, wait=0.1)
            try:
                return self._committed(look, {**stored, **(commit.after if commit else {})}, change)
            except Overtaken as error:
                # Then it is looked at again who owns what.
                reason = error
        msg = f"{self._root}: nothing could be committed in {_TRIES} tries: {reason}"
        raise Overtaken(msg, wait=0.1) from reason

    def _committed(self, look: TableState, positions: Mapping[str, QueuePosition], change: Change) -> Mapping[str, QueuePosition]:
        version, properties = self._kept.next(look.properties, positions)
        said = told(self._context.connector_uid, self._context.task, positions)
        try:
            look.commit(replace(change, properties=properties, said=said))
        finally:
            self._may_be_there = look.may_be_there
        newest = self._table.look()
        if newest is None or self._kept.version(newest.properties) != version:
            # A newer owner has come since; or the number of the state was free again, as the states up to there were removed while
            # this owner stood still.
            msg = f"{self._root}: version {version} of {self._kept.name} is not that of the newest state of the table"
            raise RetriableError(msg, wait=0.1)
        return positions

    @property
    def _table(self) -> Table:
        if self._opened is None:
            self._opened = Table(self._root, self._catalog(self._session), self._session)
        return self._opened
