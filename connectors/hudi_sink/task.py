"""A batch becomes one commit of the table: its rows and, in the metadata of the commit, the positions and the claim of its task.

A commit keeps what the one before it has kept of all tasks, and counts only where the state that was looked at is still the
newest one, so what was seen of all claims is still so when it counts (invariant 3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from connectors.file_sink.columns import Columns
from connectors.file_sink.jobs import staged_job
from connectors.file_sink.rows import rows_of
from connectors.hudi_sink.columns import COLUMNS, believed, said_of
from connectors.hudi_sink.table import Change, Overtaken, Table, TableState
from connectors.lakes.kept import Kept
from connectors.lakes.task import LakeTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.evolution import nullable
from rocketconnect_sdk.files.trouble import understood
from rocketconnect_sdk.schema import Field, Schema
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, SinkCommit
from rocketconnect_sdk.targets.commits import is_written, told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TRIES = 10
_SAID = "rocketconnect.commit"
_VERSIONS = ("8", "9")


class HudiTask(LakeTask):
    """Appends to a table of Hudi, exactly once. Several tasks and connectors may write to the same one, one after the other.

    Args:
        root: The directory of the table.
        context: Of the task.
        columns: See LakeTask.
        evolving: What becomes of the columns where `columns` does not say them.
        partitions: The columns by which a table is partitioned that is made here.
        flush: When batches are closed.
        settings: Of Hudi's.
    """

    def __init__(
        self,
        root: Path,
        context: TaskContext,
        columns: Schema | None,
        evolving: Columns,
        partitions: Sequence[str],
        flush: FlushPolicy,
        settings: Mapping[str, str],
    ) -> None:
        super().__init__(root, context, columns, flush)
        self._kept = Kept(context)
        self._evolving = evolving
        self._partitions = partitions
        self._settings = settings
        self._opened: Table | None = None
        self._makes = False
        self._settled: Schema | None = None

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask. A table that is not there is made where its columns are known, else in front of the first batch."""
        self._check_master()
        with understood(self._root):
            look = self._table.look()
            if look is None and self._columns is not None:
                look = self._found(nullable(self._columns))
            if look is None:
                return {}
            self._check(look)
            return self._commit(None, Change(), look.columns)

    def columns_for(self, schema: Schema) -> Schema | None:
        """See DataFrameSinkTask. The table gets its new columns with the batch."""
        if self._columns is not None:
            return None
        look = self._table.look()
        self._makes = look is None
        self._settled = self._evolving.settle(None if look is None else look.columns, schema).table
        return self._settled

    def write(self, frame: "DataFrame", commit: SinkCommit) -> None:
        """See DataFrameSinkTask."""
        from rocketconnect_sdk.spark.types import from_spark_type

        with understood(self._root):
            rows = rows_of(frame, self._columns)
            settled, self._settled = self._settled, None
            columns = nullable(self._columns or settled or from_spark_type(rows.schema))
            look = self._found(columns)
            # An owner that was replaced, and a batch that is there already, cost no more than a look.
            if is_written(self._kept.positions(look.kept), commit):
                return
            with staged_job(self._root):
                held = rows.toArrow()
            change = Change(self._whole(held, look), token=f"{commit.token[:16]}_{self._context.epoch}")
            self._commit(commit, change, joined(look, columns))

    def move(self, commit: SinkCommit) -> None:
        """See SinkTask. Where there is no table yet, there is nowhere to store it: such messages are left out again."""
        with understood(self._root):
            look = self._table.look()
            if look is not None:
                self._commit(commit, Change(), look.columns)

    def _check_master(self) -> None:
        """Raises PermanentError: Spark is not on this machine."""
        master = str(self._session.sparkContext.master)
        if not master.startswith("local"):
            msg = f"{self._root}: Spark's workers are elsewhere (spark.master={master}). Set spark.profile to one with local[*]"
            raise PermanentError(msg)

    @property
    def _key(self) -> Sequence[str]:
        """The columns of the key of a table that is made here."""
        return ()

    def _check(self, look: TableState) -> None:
        """Raises PermanentError: it is no table for this sink."""
        kind, version = look.settings.get("hoodie.table.type", ""), look.settings.get("hoodie.table.version", "")
        if kind != "COPY_ON_WRITE":
            msg = f"{self._root}: the table is {kind}, and only COPY_ON_WRITE is written. Name another table"
            raise PermanentError(msg)
        if version not in _VERSIONS:
            msg = f"{self._root}: the table has version {version}, and {' and '.join(_VERSIONS)} are written. Upgrade it"
            raise PermanentError(msg)
        if look.settings.get("hoodie.populate.meta.fields", "true") == "false":
            msg = f"{self._root}: the table is without Hudi's own columns (hoodie.populate.meta.fields=false). Name another table"
            raise PermanentError(msg)

    def _found(self, columns: Schema) -> TableState:
        """The table, which is made where there is none."""
        look = self._table.look()
        if look is None:
            self._table.make(nullable(columns), self._key, self._partitions)
            look = self._table.look()
        elif self._makes:
            # Then its columns are looked at again.
            msg = f"{self._root}: another one has made the table meanwhile"
            raise RetriableError(msg, wait=0.1)
        self._makes = False
        if look is None:
            msg = f"{self._root}: the table was made, and is gone again"
            raise RetriableError(msg)
        self._check(look)
        return look

    def _whole(self, rows: pa.Table, look: TableState) -> pa.Table:
        """The rows. Raises PermanentError: the table does not have their columns, or needs more."""
        there = {each.name: each.schema for each in look.columns.fields}
        if self._columns is not None and (missing := [name for name in rows.column_names if name not in there]):
            fix = "Add it to the table, or change the columns of the connector"
            msg = f"{self._root}: the table has no column {', '.join(missing)}, which the rows have. {fix}"
            raise PermanentError(msg)
        if needed := [name for name, schema in there.items() if name not in rows.column_names and not schema.optional]:
            fix = "Add it to the columns of the connector, or let the column take nulls"
            msg = f"{self._root}: the column {', '.join(needed)} of the table takes no null, and the rows have none. {fix}"
            raise PermanentError(msg)
        return rows

    def _commit(
        self, commit: SinkCommit | None, change: Change, columns: Schema, *, on: str | None = None
    ) -> Mapping[str, QueuePosition]:
        """Makes a change, with the claim of this owner; gives the positions that are stored with it.

        Args:
            commit: The batch; None: the positions stay.
            change: What else the commit does.
            columns: Of the table, behind it.
            on: The state on which alone the change is right; None: on any.

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
            stored = self._kept.positions(look.kept)
            if commit is not None and is_written(stored, commit):
                return stored
            if on not in (None, look.state):
                msg = f"{self._root}: another commit was faster, and may have changed the rows that were looked at"
                raise Overtaken(msg, wait=0.1)
            try:
                self._committed(look, {**stored, **(commit.after if commit else {})}, change, joined(look, columns))
            except Overtaken as error:
                # Then it is looked at again who owns what.
                reason = error
                continue
            return {**stored, **(commit.after if commit else {})}
        msg = f"{self._root}: nothing could be committed in {_TRIES} tries: {reason}"
        raise Overtaken(msg, wait=0.1) from reason

    def _committed(self, look: TableState, positions: Mapping[str, QueuePosition], change: Change, columns: Schema) -> None:
        _, kept = self._kept.next(look.kept, positions)
        said = {_SAID: told(self._context.connector_uid, self._context.task, positions), COLUMNS: said_of(columns)}
        self._table.commit(look, change, {**look.kept, **kept, **said})

    @property
    def _table(self) -> Table:
        if self._opened is None:
            self._opened = Table(self._root, self._session, self._settings)
        return self._opened


def joined(look: TableState, rows: Schema) -> Schema:
    """The columns of a table, and behind them those of rows that it does not have; of a new one as the rows say."""
    said = {} if look.state else {each.name: each.schema for each in rows.fields}
    there = tuple(Field(each.name, believed(each.schema, said.get(each.name))) for each in look.columns.fields)
    names = {each.name for each in there}
    return replace(look.columns, fields=(*there, *(each for each in rows.fields if each.name not in names)))
