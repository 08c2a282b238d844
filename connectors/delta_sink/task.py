"""A batch becomes one commit of the table: its rows, and the number of the file with its positions.

Delta keeps a number with each application transaction id, in the log, in the commit of the data: rocketconnect_sdk.targets.claims
says what these are. What has a lower one than is there Delta itself leaves out.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors.delta_sink.ids import claims_of, id_of, left_by
from connectors.delta_sink.positions import HIDDEN, PositionFiles
from connectors.delta_sink.table import Attempt, Snapshot, Table, Transaction
from connectors.file_sink.columns import Columns
from connectors.file_sink.rows import rows_of
from connectors.lakes.compaction import Compaction
from connectors.lakes.partition_values import none_lost_of
from connectors.lakes.task import LakeTask, files_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.files.trouble import understood
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, SinkCommit
from rocketconnect_sdk.targets.claims import Claims, Version, closing, is_mine, merged, next_version
from rocketconnect_sdk.targets.commits import is_written, told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TRIES = 10
_FORGETS = "delta.setTransactionRetentionDuration"


class DeltaTask(LakeTask):
    """Appends to a Delta table, exactly once. Several tasks of the connector, and other writers, may write to the same one.

    Args:
        root: The directory of the table.
        context: Of the task.
        columns: What JSON text is made of; None: those of the schemas of the values, text without one as one column "value".
        evolving: What becomes of the columns where `columns` does not say them.
        partitions: The columns by which a table is partitioned that is made here.
        flush: When batches are closed.
        compaction: See LakeTask.
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
    ) -> None:
        super().__init__(root, context, columns, flush, compaction)
        self._owner = context.generation, context.epoch
        self._prefix = f"rocketconnect/{context.connector_uid}/"
        self._plan = f"{self._prefix}plan"
        self._files = PositionFiles(root, context.connector_uid)
        self._evolving = evolving
        self._partitions = partitions
        self._merges = False
        self._makes = False

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask. A table that is not there is made where its columns are known, else in front of the first batch."""
        with understood(self._root):
            self._files.make()
            if self._columns is not None and self._table.snapshot() is None:
                from rocketconnect_sdk.spark.types import to_spark_type

                kind: Any = to_spark_type(self._columns)
                self._table.make(self._session.createDataFrame([], kind), self._partitions)
            return self._claim()

    def columns_for(self, schema: Schema) -> Schema | None:
        """See DataFrameSinkTask. The table gets its new columns with the batch."""
        if self._columns is not None:
            return None
        from rocketconnect_sdk.spark.types import from_spark_type

        snapshot = self._table.snapshot()
        self._makes = snapshot is None
        settled = self._evolving.settle(None if snapshot is None else from_spark_type(snapshot.columns), schema)
        self._merges = snapshot is not None and bool(settled.changes)
        return settled.table

    def write(self, frame: "DataFrame", commit: SinkCommit) -> None:
        """See DataFrameSinkTask."""
        with understood(self._root):
            rows = rows_of(frame, self._columns)
            snapshot = self._found(rows.limit(0))
            stored = self._stored(snapshot)
            if is_written(stored, commit):
                return
            none_lost_of(rows, snapshot.partitions)
            rows = files_of(rows, commit)
            with self._attempt(snapshot.number, {**stored, **commit.after}) as attempt:
                self._table.append(rows, attempt, merges=self._merges)
        self._compact_if_due()

    def move(self, commit: SinkCommit) -> None:
        """See SinkTask. Where there is no table yet, there is nowhere to store it: such messages are left out again."""
        with understood(self._root):
            transaction = self._table.begin()
            if transaction is None:
                return
            stored = self._stored(transaction.snapshot)
            if not is_written(stored, commit):
                version = self._reserve({**stored, **commit.after})
                transaction.commit(dict([self._id(version)]))
                self._files.remove_before(self._context.task, version)

    def _partitioned(self) -> Sequence[str]:
        snapshot = self._table.snapshot()
        return self._partitions if snapshot is None else snapshot.partitions

    def _compact(self, compaction: Compaction) -> tuple[int, int]:
        """See LakeTask."""
        return self._table.compact(compaction.size, compaction.small)

    def _claim(self) -> Mapping[str, QueuePosition]:
        """Makes this owner the one of its task, and takes over what tasks of older plans had; gives the positions."""
        reason: Exception | None = None
        for _ in range(_TRIES):
            transaction = self._table.begin()
            if transaction is None:
                return {}
            try:
                return self._claimed(transaction)
            except (RetriableError, FileNotFoundError, FileExistsError) as error:
                # Another one was faster: then it is looked at again who owns what.
                reason = error
        msg = f"{self._root}: the table could not be claimed in {_TRIES} tries: {reason}"
        raise RetriableError(msg) from reason

    def _claimed(self, transaction: Transaction) -> Mapping[str, QueuePosition]:
        plan, found = self._ids(transaction.snapshot)
        claims = claims_of(plan, found)
        mine = self._context.task
        is_mine(self._owner, mine, claims)
        if forgets := transaction.snapshot.setting(_FORGETS):
            fix = f"ALTER TABLE delta.`{self._root}` UNSET TBLPROPERTIES ('{_FORGETS}')"
            msg = f"{self._root}: with {_FORGETS}={forgets} Delta forgets who writes the table, and up to where. Run {fix}"
            raise PermanentError(msg)
        positions = merged(self._files.read(task, version) for task, version in claims.open.items())
        taken = {**closing(self._owner, mine, claims), mine: self._reserve(positions)}
        versions = dict(self._id(version, task) for task, version in taken.items())
        versions |= {f"{self._prefix}{name}": number for name, number in left_by(found, mine, taken[mine]).items()}
        transaction.commit({self._plan: self._owner[0], **versions})
        for task, version in taken.items():
            self._files.remove_before(task, version)
        return positions

    def _found(self, nothing: "DataFrame") -> Snapshot:
        """The table, which is made of no rows where there is none: nothing is written to a table that is not claimed."""
        snapshot = self._table.snapshot()
        if snapshot is None:
            self._table.make(nothing, self._partitions)
            snapshot = self._table.snapshot()
        elif self._makes:
            # Then its columns are looked at again.
            msg = f"{self._root}: another one has made the table meanwhile"
            raise RetriableError(msg, wait=0.1)
        self._makes = False
        if snapshot is None:
            msg = f"{self._root}: the table was made, and is gone again"
            raise RetriableError(msg)
        return snapshot

    def _stored(self, snapshot: Snapshot) -> Mapping[str, QueuePosition]:
        """The positions in the table, once this owner has claimed it: it may have been made by another one since start()."""
        claims = self._claims(snapshot)
        if not is_mine(self._owner, self._context.task, claims):
            return self._claim()
        try:
            return self._files.read(self._context.task, claims.tasks[self._context.task])
        except FileNotFoundError as error:
            msg = f"{self._root}: the positions in the table are gone: a newer owner removes them, or somebody: {error}"
            raise RetriableError(msg) from error

    @contextmanager
    def _attempt(self, before: int, positions: Mapping[str, QueuePosition]) -> Iterator[Attempt]:
        """What a commit of rows is to have besides them; behind the block it is looked at whether the table has it.

        Args:
            before: The number of the state that was looked at.
            positions: Those that count with the rows.
        """
        version = self._reserve(positions)
        said = told(self._context.connector_uid, self._context.task, positions)
        name, number = self._id(version)
        yield Attempt(name, number, said)
        newest = self._table.snapshot()
        claims = Claims() if newest is None else self._claims(newest)
        is_mine(self._owner, self._context.task, claims)
        if claims.tasks.get(self._context.task) != version:
            msg = f"{self._root}: Delta left the batch out: version {number} of {name} is not in the table"
            raise RetriableError(msg)
        self._table.sync(before, name, number)
        self._files.remove_before(self._context.task, version)

    def _reserve(self, positions: Mapping[str, QueuePosition]) -> Version:
        """A version that nobody has tried yet, with the file of its positions."""
        task = self._context.task
        version = next_version(self._owner[1], self._files.versions(task))
        self._files.write(task, version, positions)
        return version

    def _claims(self, snapshot: Snapshot) -> Claims:
        return claims_of(*self._ids(snapshot))

    def _ids(self, snapshot: Snapshot) -> tuple[int, dict[str, int]]:
        """The plan, and the versions of all other ids of the connector behind its prefix."""
        found = snapshot.transactions(self._prefix)
        plan = found.pop(self._plan, 0)
        return plan, {name.removeprefix(self._prefix): version for name, version in found.items()}

    def _id(self, version: Version, task: int | None = None) -> tuple[str, int]:
        """The id of a task, by default this one, and what is its version."""
        name, number = id_of(self._context.task if task is None else task, version)
        return f"{self._prefix}{name}", number

    @property
    def _table(self) -> Table:
        # Spark's workers read the log of a table, too.
        self._seen.check(self._session, self._root / HIDDEN)
        return Table(self._root, self._session)
