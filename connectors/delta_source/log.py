"""The history of a table of Delta Lake, as a source reads it."""

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from connectors.delta_source.actions import Actions, File, Metadata, Protocol
from connectors.delta_source.columns import Unreadable, columns_of, constants_of, partition_problems
from connectors.delta_source.replay import LogFolder, State
from connectors.lakes.reading.log import Commit, DataFile, Gone, Holds, TableLog
from connectors.lakes.reading.places import TableCoordinate
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.wording.counts import counted

_KNOWN = frozenset(("deletionVectors", "timestampNtz", "vacuumProtocolCheck"))
"""What a reader has to know and this one does: files of which rows are deleted are refused where they would be read."""
_LIST_SECONDS = 30.0
"""So often it is looked whether there are versions behind one that is not there."""
FEED = "delta.enableChangeDataFeed"
_MAPPING = "delta.columnMapping.mode"
_ELSEWHERE = "it is not on a file system of this machine, and such files are not read"
_VECTOR = (
    "some of its rows are deleted by a deletion vector, which is not read. REORG TABLE ... APPLY (PURGE) writes the others anew; "
    "or begin with start=latest"
)


@dataclass(frozen=True, slots=True)
class _Table:
    """What a table is from a version on."""

    metadata: Metadata
    columns: pa.Schema


def unread(metadata: Metadata, protocol: Protocol) -> list[str]:
    """Why a table can't be read right; nothing: it can."""
    found = []
    if protocol.version > 3:
        found.append(f"needs readers of version {protocol.version}, and versions 1 to 3 are known")
    mapping = metadata.settings.get(_MAPPING, "none")
    if mapping != "none":
        found.append(f"has its columns under other names in its files ({_MAPPING}={mapping}), which is not read")
    unknown = [name for name in protocol.features if name not in _KNOWN and name != "columnMapping"]
    if unknown:
        found.append(f"needs what is not known here of its readers: {', '.join(unknown)}")
    try:
        columns = columns_of(metadata.schema)
        found += [f"has a column that is not read: {problem}" for problem in partition_problems(columns, metadata.partitioned_by)]
    except Unreadable as error:
        found.append(f"has a column that is not read: {error}")
    return found


class DeltaLog(TableLog):
    """The log of one table.

    Args:
        root: The directory of the table.
        wants_changes: Versions bring the changes of rows, as far as the table keeps them; otherwise the rows that are added.
        clock: Seconds that only grow.

    Raises:
        SystemAway: there is no table.
        PermanentError: it can't be read right.
    """

    def __init__(self, root: Path, *, wants_changes: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._folder = LogFolder(root)
        self._wants_changes = wants_changes
        self._clock = clock
        self._names = self._folder.names()
        self._tables: dict[int, _Table] = {}
        self._next_list = 0.0
        newest = self._names.newest
        if newest < 0:
            msg = f"{root}: there is no Delta table: its log is empty"
            raise SystemAway(msg)
        self._marked = (newest, self._folder.mark(newest))
        """A commit of the table, and what tells it from another one of the same name."""
        state = self._folder.state(self._names, newest)
        if state is None:
            msg = f"{root}: the log has neither all commits nor a checkpoint of the classic form, so it can't be read"
            raise PermanentError(msg)
        self._refuse(state)
        self.identity = state.metadata.table
        self.keeps_changes = state.metadata.settings.get(FEED) == "true"
        """Whether the newest version says which rows are changed."""
        self.columns = columns_of(state.metadata.schema)
        """Of the newest version."""

    def newest(self) -> int:
        """See TableLog."""
        self._names = self._folder.names()
        return self._names.newest

    @property
    def earliest(self) -> int:
        """See TableLog."""
        return self._names.earliest

    def version_of(self, name: int) -> int:
        """See TableLog."""
        newest = self.newest()
        if not self.earliest <= name <= newest + 1:
            msg = f"there is no version {name}: the log has {self.earliest} to {newest}"
            raise PermanentError(msg)
        return name

    def whole(self, version: int) -> Commit:
        """See TableLog."""
        self._names = self._folder.names()
        if version > self._names.newest:
            msg = f"{self._root} has no version {version}: the newest is {self._names.newest}"
            raise PermanentError(msg)
        state = self._folder.state(self._names, version, files=True)
        if state is None:
            msg = f"the rows that {self._root} had at version {version}, of which its log does not tell any more,"
            raise Gone(msg, TableCoordinate(version + 1))
        table = self._learn(version, state)
        time = max((file.time_ms for file in state.files), default=0)
        return Commit(version, 1, self._files(table, state.files), table.columns, time or None)

    def commit(self, version: int) -> Commit | None:
        """See TableLog."""
        actions = self._folder.commit(version)
        # Not before: what was read is of the table whose mark is still there.
        self._compare(version)
        if actions is None:
            self._look_for_gap(version)
            return None
        table = self._table(version, actions)
        self._marked = (version, self._folder.mark(version))
        files, rewrite = self._brought(table, actions)
        return Commit(version, 0, files, table.columns, actions.time_ms, rewrite)

    def first_since(self, seconds: float) -> int | None:
        """See TableLog."""
        self._names = self._folder.names()
        latest = 0
        for version in self._names.commits:
            actions = self._folder.commit(version)
            # Clocks of writers differ: a version is not older than the one before it.
            latest = max(latest, (actions.time_ms or 0) if actions else 0)
            if latest >= seconds * 1000:
                if version == self._names.commits[0] > 0:
                    msg = f"the log goes back to version {version} only, which is not older: name this version, or a later time"
                    raise PermanentError(msg)
                return version
        return None

    def _compare(self, version: int) -> None:
        """Finds out whether this is still the same table: one that is made anew begins with version 0 again."""
        if self._marked[1] == self._folder.mark(self._marked[0]):
            return
        self._names = self._folder.names()
        newest = self._names.newest
        if newest < 0:
            msg = f"{self._root}: the log of the table is empty: there is no Delta table now"
            raise SystemAway(msg)
        self._marked = (newest, self._folder.mark(newest))
        state = self._folder.state(self._names, newest)
        if state is not None and state.metadata.table != self.identity:
            raise self._other(state.metadata.table, version)

    def _look_for_gap(self, version: int) -> None:
        """Raises Gone: a version that is not there is not still to come."""
        if self._clock() < self._next_list:
            return
        self._names = self._folder.names()
        self._next_list = self._clock() + _LIST_SECONDS
        if version > self._names.newest + 1:
            msg = (
                f"{self._root}: the position is at version {version}, and the newest is {self._names.newest}: the table was "
                "restored from a copy, or its log was cut. Reset the connector, or set its position"
            )
            raise PermanentError(msg)
        if version <= self._names.newest and version not in self._names.commits:
            raise self._gone(version)

    def _gone(self, version: int) -> Gone:
        behind = next((number for number in self._names.commits if number > version), self._names.newest + 1)
        versions = f"version {version}" if behind == version + 1 else f"the versions {version} to {behind - 1}"
        return Gone(
            f"the rows that {versions} brought to {self._root}, of which its log does not tell any more,", TableCoordinate(behind)
        )

    def _table(self, version: int, actions: Actions) -> _Table:
        """What the table is at a version whose commit is known."""
        if actions.metadata is not None or actions.protocol is not None:
            before = self._before(version)
            metadata = actions.metadata or (None if before is None else before.metadata)
            if metadata is not None:
                if metadata.table != self.identity:
                    raise self._other(metadata.table, version)
                protocol = actions.protocol or Protocol(0, ())
                return self._learn(version, State(metadata, protocol, []))
        found = self._before(version + 1)
        if found is None:
            found = self._learn(version, self._state(version))
        return found

    def _before(self, version: int) -> _Table | None:
        """What the table was, by what was seen just before a version."""
        known = sorted(self._tables)
        place = bisect_right(known, version - 1)
        return self._tables[known[place - 1]] if place else None

    def _state(self, version: int) -> State:
        """The table at a version, or at the first one behind it whose state can be told, if it was the same by then."""
        self._names = self._folder.names()
        for number in range(version, self._names.newest + 1):
            state = self._folder.state(self._names, number)
            if state is not None:
                self._refuse(state)
                return state
            following = self._folder.commit(number + 1)
            if following is None or following.metadata is not None:
                break
        raise self._gone(version)

    def _refuse(self, state: State) -> None:
        if problems := unread(state.metadata, state.protocol):
            msg = f"{self._root} {'; '.join(problems)}"
            raise PermanentError(msg)

    def _learn(self, version: int, state: State) -> _Table:
        self._refuse(state)
        table = _Table(state.metadata, columns_of(state.metadata.schema))
        self._tables[version] = table
        return table

    def _brought(self, table: _Table, actions: Actions) -> tuple[Sequence[DataFile], str]:
        """What a commit brings, and what it does beside that."""
        adds = [file for file in actions.adds if file.brings_data]
        rewrite = _rewrite(actions, adds)
        if not self._wants_changes or not rewrite:
            return self._files(table, adds), rewrite
        if actions.changes:
            return self._files(table, actions.changes, Holds.CHANGES), ""
        if table.metadata.settings.get(FEED) != "true":
            return (), f"{rewrite}, and {FEED} was not set, so what became of which row is not known"
        removes = [file for file in actions.removes if file.brings_data]
        return [*self._files(table, removes, Holds.DELETED), *self._files(table, adds)], ""

    def _files(self, table: _Table, files: Iterable[File], holds: Holds = Holds.ADDED) -> Sequence[DataFile]:
        return [replace(self._file(table, file), holds=holds) for file in files]

    def _file(self, table: _Table, file: File) -> DataFile:
        path = file.path
        if "://" in path:
            return DataFile(Path(path), file.size, file.rows, {}, _ELSEWHERE)
        try:
            constants = constants_of(table.columns, table.metadata.partitioned_by, file.partition)
        except Unreadable as error:
            return DataFile(self._root / path, file.size, file.rows, {}, str(error))
        return DataFile(self._root / path, file.size, file.rows, constants, _VECTOR if file.vector else "")

    def _other(self, table: str, version: int) -> PermanentError:
        return PermanentError(
            f"{self._root}: the table {self.identity} was read up to version {version - 1}, and the table that is there now is "
            f"{table}: it was made anew, or replaced. Reset the connector to read this one from where `start` says"
        )


def _rewrite(actions: Actions, adds: Sequence[File]) -> str:
    """What a commit does beside adding rows; empty: nothing."""
    removes = [file for file in actions.removes if file.brings_data]
    if not removes:
        return ""
    added = f" and added {_counted(adds)}" if adds else ""
    return f"{actions.operation or 'it'} removed {_counted(removes)}{added}"


def _counted(files: Sequence[File]) -> str:
    known = [file.rows for file in files if file.rows is not None]
    rows = f" with {counted(sum(known), 'row')}" if len(known) == len(files) else ""
    return f"{counted(len(files), 'file')}{rows}"
