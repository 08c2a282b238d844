"""A directory of Parquet or ORC files. Spark writes them where nobody looks; a manifest counts them; then they get their names."""

import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from connectors.file_sink.columns import Columns
from connectors.file_sink.forms import unwritable
from connectors.file_sink.jobs import STAGED, check_all_there, parts_of, rows_in, staged_job, uri
from connectors.file_sink.rows import rows_as, rows_of
from connectors.file_sink.there import HIDDEN
from rocketconnect_sdk.columns.objects import rows_of_array
from rocketconnect_sdk.columns.sinks import DataFrameSinkTask
from rocketconnect_sdk.converters.json.schema import from_json, to_json
from rocketconnect_sdk.errors import RetriableError
from rocketconnect_sdk.files import Manifest, ManifestLog, Owner
from rocketconnect_sdk.files.manifest import sync
from rocketconnect_sdk.files.trouble import understood
from rocketconnect_sdk.permissions.roots import writing
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, SinkCommit

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_SCHEMA = "schema"
"""The columns, in the state of the manifests."""
_LONGEST_NAME = 210
"""Leaves room within the 255 bytes of a name for the number of the batch, that of the file in it, and the ending."""
_ROWS_OF_A_FILE = 250_000
_Stored = Mapping[str, Any] | None


def file_name(commit: SinkCommit) -> str:
    """The name of the files of a batch, without their endings: the ranges of its queues; where those are too many, a short form."""
    homes: dict[str, list[tuple[int, str]]] = {}
    for queue, before in commit.before.items():
        home, _, number = queue.rpartition("/")
        again = (f"-i{before.incarnation}" if before.incarnation else "") + (f"-e{before.era}" if before.era else "")
        homes.setdefault(home, []).append((int(number), f"{before.until}-{commit.after[queue].until}{again}"))
    name = "+".join(
        f"{home.replace('/', '-')}-{'_'.join(f'q{number}.{span}' for number, span in sorted(spans))}"
        for home, spans in sorted(homes.items())
    )
    if len(name) > _LONGEST_NAME:
        topics = "+".join(sorted({home.partition("/")[0] for home in homes}))
        name = f"{topics[:60]}-{len(commit.before)}queues-{commit.rows}rows-{commit.token[:16]}"
    # Names that begin with "_" or "." are hidden from readers of data sets.
    return re.sub(r"^[_.]", "x\\g<0>", re.sub(r"[^A-Za-z0-9_.+%|-]", "_", name))


class DatasetTask(DataFrameSinkTask):
    """Adds files to a directory, exactly once. Several tasks of the connector, and other connectors, may write to the same one.

    Args:
        root: The directory.
        owner: Who writes.
        format: parquet or orc.
        columns: What JSON text is made of; None: those of the schemas of the values, text without one as one column "value".
        evolving: What becomes of the columns where `columns` does not say them.
        flush: When batches are closed.
    """

    def __init__(
        self,
        root: Path,
        owner: Owner,
        format: str,  # noqa: A002
        columns: Schema | None,
        evolving: Columns,
        flush: FlushPolicy,
    ) -> None:
        self._root = root
        self._owner = owner
        self._format = format
        self._columns = columns
        self._evolving = evolving
        self._flush = flush
        self._directory = root / HIDDEN / re.sub(r"[^A-Za-z0-9_-]", "_", owner.connector_uid)
        self._manifests = ManifestLog(self._directory, owner, exclusive=False)
        self._roots = writing()
        self._attempt = 0
        self._settled: tuple[_Stored, _Stored] = None, None
        """The columns before and after the batch that is written next."""

    @property
    def flush(self) -> FlushPolicy:
        """See SinkTask."""
        return self._flush

    @property
    def rows_as(self) -> Schema | None:
        """See DataFrameSinkTask."""
        return None if self._columns is None else rows_as(self._columns)

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask. Files that a manifest counts and that have no name yet get it now."""
        with understood(self._root):
            self._roots.make_folder(self._root)
            self._roots.make_folder(self._directory.parent)
        with self._manifests.locked() as newest, understood(self._root):
            if newest is not None:
                self._rename(pair for pairs in newest.state.get("renames", {}).values() for pair in pairs)
            claimed = self._manifests.claim(newest, {**_kept(newest), "renames": {}})
            self._remove_staged()
        return claimed.queues

    def columns_for(self, schema: Schema) -> Schema | None:
        """See DataFrameSinkTask. The columns are stored with the batch."""
        if self._columns is not None:
            return None
        with self._manifests.locked() as newest:
            stored = self._manifests.mine(newest).state.get(_SCHEMA)
        settled = self._evolving.settle(None if stored is None else from_json(stored), schema)
        self._settled = stored, stored if stored is not None and not settled.changes else to_json(settled.table)
        return settled.table

    def write(self, frame: "DataFrame", commit: SinkCommit) -> None:
        """See DataFrameSinkTask."""
        self._attempt += 1
        staged = f"staged/{self._owner.generation}-{self._owner.task}-{self._owner.epoch}-{commit.token[:16]}-{self._attempt}"
        directory = self._directory / staged
        counted = False
        try:
            with staged_job(directory):
                rows = rows_of(frame, self._columns)
                if commit.rows <= _ROWS_OF_A_FILE:
                    rows = rows.coalesce(1)
                rows.write.options(**STAGED).format(self._format).save(uri(directory))
            with understood(directory):
                parts = parts_of(directory)
                there = rows_in(parts, self._format)
                check_all_there(directory, parts, there=there, written=commit.rows, unit="rows")
                for part in parts:
                    sync(part)
                sync(directory)
            with self._manifests.locked() as newest, understood(self._root):
                mine = self._manifests.mine(newest)
                if not self._manifests.written(mine, commit):
                    # Invariant 2: from here on the batch counts; a crash before the renames is mended at start.
                    mine = self._commit(mine, parts, staged, commit)
                    counted = True
                # Those of an earlier attempt, when that one counts and could not finish.
                self._rename(mine.state["renames"].get(str(self._owner.task), ()))
                counted = False
        finally:
            if not counted:
                self._roots.remove_folder(directory)

    def unwritable(self, values: "pa.Array") -> Mapping[int, str]:
        """See DataFrameSinkTask."""
        return {} if self._columns is None else unwritable(values, partial(rows_of_array, columns=self._columns))

    def move(self, commit: SinkCommit) -> None:
        """See SinkTask."""
        with self._manifests.locked() as newest, understood(self._root):
            mine = self._manifests.mine(newest)
            if not self._manifests.written(mine, commit):
                self._manifests.commit(mine, commit, mine.state)

    def end(self) -> None:
        """Of a connector that is deleted: files that count get their names, and what is staged besides is removed.

        The manifests stay: they tell a connector that adopts the uid where it was. Where the directory is not there, the tasks were
        on another machine, or wrote nothing.

        Raises:
            SystemAway, RetriableError, PermanentError: as write().
        """
        if not self._directory.is_dir():
            return
        with self._manifests.locked() as newest, understood(self._root):
            if newest is not None:
                self._rename(pair for pairs in newest.state.get("renames", {}).values() for pair in pairs)
            self._roots.remove_folder(self._directory / "staged")

    def close(self) -> None:
        """Nothing is held between batches."""

    def _commit(self, mine: Manifest, parts: Iterable[Path], staged: str, commit: SinkCommit) -> Manifest:
        schema = self._schema(mine.state.get(_SCHEMA))
        name = file_name(commit)
        parts = list(parts)
        if any(self._root.glob(f"{name}[.-]*")):
            name = f"{name}-{mine.number + 1}"
        renames = []
        for index, part in enumerate(parts):
            ending = "".join(part.name.partition("-c000")[2:]) or f".{self._format}"
            number = f"-{index}" if len(parts) > 1 else ""
            renames.append((f"{staged}/{part.name}", f"{name}{number}{ending}"))
        others = {task: pairs for task, pairs in mine.state.get("renames", {}).items() if task != str(self._owner.task)}
        return self._manifests.commit(mine, commit, {_SCHEMA: schema, "renames": {**others, str(self._owner.task): renames}})

    def _schema(self, stored: _Stored) -> _Stored:
        """What is stored with the batch in the place of these columns.

        Raises:
            RetriableError: another task has changed the columns since they were settled.
        """
        before, after = self._settled
        if before == after:
            return stored
        if stored not in (before, after):
            msg = f"{self._root}: another task has changed the columns meanwhile"
            raise RetriableError(msg, wait=0.1)
        return after

    def _rename(self, renames: Iterable[tuple[str, str]]) -> None:
        done = False
        for staged, name in renames:
            if (self._directory / staged).exists():
                self._roots.rename(self._directory / staged, self._root / name)
                done = True
        if done:
            sync(self._root)

    def _remove_staged(self) -> None:
        """What earlier owners of this task, and earlier plans, have left."""
        staged = self._directory / "staged"
        self._roots.make_folder(staged)
        for name in self._roots.names(staged):
            generation, task, *_ = name.split("-")
            if int(generation) < self._owner.generation or int(task) == self._owner.task:
                self._roots.remove_folder(staged / name)


def _kept(newest: Manifest | None) -> Mapping[str, Any]:
    """What outlives an owner of the directory."""
    return {} if newest is None else {_SCHEMA: newest.state.get(_SCHEMA)}
