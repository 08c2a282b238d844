"""The history of a table of Hudi, as a source reads it. A version is when a commit was completed, as Hudi writes times."""

import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from connectors.hudi_source.base_files import BaseFile, Named, all_files, files_in, has_rows, named, newest_of, removed, size_of
from connectors.hudi_source.columns import columns_of
from connectors.hudi_source.timeline import Instant, Seen, Timeline
from connectors.lakes.reading.log import Commit, DataFile, Gone, Holds, TableLog
from connectors.lakes.reading.places import TableCoordinate
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.wording.counts import counted

_VERSIONS = ("6", "8", "9")
_LAID_OUT_ANEW = ("CLUSTER", "COMPACT", "LOG_COMPACT")
_UNKNOWN = "UNKNOWN"
_RESET = "Reset the connector to read this one from where `start` says"


def unread(settings: Mapping[str, str]) -> Iterator[str]:
    """Why a table can't be read right; nothing: it can."""
    kind, version = settings.get("hoodie.table.type", "COPY_ON_WRITE"), settings.get("hoodie.table.version", "0")
    if kind != "COPY_ON_WRITE":
        yield f"is {kind}, and COPY_ON_WRITE is read: the rows of its log files would be missing"
    if version not in _VERSIONS:
        yield f"has version {version}, and the versions {', '.join(_VERSIONS)} are read"
    if settings.get("hoodie.populate.meta.fields", "true").lower() != "true":
        yield "has no columns of Hudi's own (hoodie.populate.meta.fields=false): which rows of a file are new is not said"
    if settings.get("hoodie.datasource.write.drop.partition.columns", "false").lower() == "true":
        yield "has partitions by columns that its files lack (hoodie.datasource.write.drop.partition.columns=true)"
    if settings.get("hoodie.table.base.file.format", "PARQUET").upper() != "PARQUET":
        yield f"has files of {settings['hoodie.table.base.file.format']}, and those of Parquet are read"
    if settings.get("hoodie.bootstrap.base.path"):
        yield "has rows in files elsewhere (hoodie.bootstrap.base.path)"


class HudiLog(TableLog):
    """The timeline of one table.

    Args:
        root: The directory of the table.
        wants_changes: Versions bring the changes of rows; otherwise the rows that are added.

    Raises:
        SystemAway: there is no table.
        PermanentError: it can't be read right.
    """

    def __init__(self, root: Path, *, wants_changes: bool = False) -> None:
        self._root = root
        self._timeline = Timeline(root)
        self._wants_changes = wants_changes
        settings = self._timeline.settings
        if problems := list(unread(settings)):
            msg = f"{root} {'; '.join(problems)}"
            raise PermanentError(msg)
        names = (settings.get("hoodie.database.name", ""), settings.get("hoodie.table.name", "table"))
        self.identity = ".".join(quote(name, safe="") for name in names if name)
        self.key: Sequence[str] = [name for name in settings.get("hoodie.table.recordkey.fields", "").split(",") if name]
        """The columns of the table's key; none: it has none."""
        self._schemas: dict[str, str | None] = {}
        self._seen, self._newest = Seen(), 0
        self._refresh()
        self.columns = self._columns(self._seen.commits)

    def newest(self) -> int:
        """See TableLog."""
        self._refresh()
        return self._newest

    @property
    def earliest(self) -> int:
        """See TableLog."""
        put_away = bool(self._timeline.history().commits) or self._timeline.has_unknown_archive
        return self._every[0].version if put_away and self._every else 0

    def version_of(self, name: int) -> int:
        """A commit is named by when it was begun, which Hudi calls its instant, or by when it was completed. See TableLog."""
        self._refresh()
        commits = self._every
        found = next((each for each in commits if str(name) in (each.requested, each.completed)), None)
        if found is None:
            told = ", ".join(each.requested for each in commits[-5:]) or "none yet"
            msg = f"the timeline of the table has no commit {name}; its newest are {told}"
            raise PermanentError(msg)
        return found.version

    def first_since(self, seconds: float) -> int | None:
        """See TableLog."""
        self._refresh()
        commits = self._every
        found = next((each for each in commits if (self._timeline.moment(each) or 0) >= seconds * 1000), None)
        if found is not None and found is commits[0] and self._timeline.has_unknown_archive:
            told = f"goes back to {found.requested} only, which is not older: name this commit, or a later time"
            msg = f"the timeline of the table {told}"
            raise PermanentError(msg)
        return None if found is None else found.version

    def whole(self, version: int) -> Commit:
        """See TableLog."""
        self._refresh()
        if version == 0:
            # No commit has this number: the table had no rows yet.
            return Commit(0, 1, (), self.columns)
        until = bisect_left(self._seen.commits, version + 1, key=_version)
        commits = self._seen.commits[:until]
        if not commits or commits[-1].version != version:
            if any(each.version == version for each in self._timeline.history().commits):
                msg = f"the rows that {self._root} had at the commit {version}, which was put away by now,"
                raise Gone(msg, TableCoordinate(version + 1))
            raise self._unknown(version)
        files = [self._plain(file) for file in self._slices(commits, [])]
        return Commit(version, 1, files, self._columns(commits), self._timeline.moment(commits[-1]))

    def commit(self, version: int) -> Commit | None:
        """See TableLog."""
        if version > self._newest:
            self._refresh()
        commits, place = self._reach(version)
        if not _is_known(version, commits, self._seen.back):
            steps = [each for each in self._seen.back if self._took_back(each, version)]
            if steps and (place == len(commits) or steps[0].version < commits[place].version):
                what = f"{steps[0].action} {steps[0].requested} took back commits that were read"
                return Commit(steps[0].version, 0, (), self.columns, self._timeline.moment(steps[0]), what)
        if place == len(commits):
            return None
        found = commits[place]
        files, rewrites = list[DataFile](), list[str]()
        # Writers side by side may end at the same time.
        for each in (each for each in commits[place:] if each.version == found.version):
            brought, rewrite = self._brought(each, self._timeline.metadata(each), commits[:place])
            files += brought
            rewrites += [rewrite] if rewrite else []
        columns = self._columns(commits[: place + 1])
        files.sort(key=_order)
        return Commit(found.version, 0, files, columns, self._timeline.moment(found), "; ".join(rewrites))

    def elsewhere(self, file: DataFile) -> DataFile | None:
        """See TableLog: rows that were added are in the files that were made of theirs, until they change."""
        if not isinstance(file, BaseFile) or not file.added or file.rows is None:
            return None
        self._refresh()
        folder, own = os.path.relpath(file.path.parent, self._root), {each.group for each in named("", [file.path.name])}
        later = [each for each in files_in(self._root, folder) if each.group in own and each.instant > file.commit]
        done = {each.requested for each in self._seen.commits}
        for each in sorted(later, key=lambda other: other.instant):
            path, is_whole = file.path.with_name(each.name), each.instant in done or each.instant < self._first
            if is_whole and has_rows(path, file.commit, file.rows - file.added, file.rows):
                return replace(file, path=path, size=size_of(path), since=file.commit)
        return None

    def _reach(self, version: int) -> tuple[Sequence[Instant], int]:
        """The commits, and the place among them of the first one that is not before a version.

        Raises:
            Gone: others were there, and it is not known what they brought.
            PermanentError: the commit that was read last is none of this table.
        """
        commits, saved = self._seen.commits, self._seen.saved
        # Behind a commit that a savepoint keeps others may have been put away.
        unsaved = [each for each in commits if each.requested not in saved or each.version == version]
        if _is_known(version, unsaved, self._seen.back):
            return commits, bisect_left(commits, version, key=_version)
        both = self._every
        place = bisect_left(both, version, key=_version)
        if self._timeline.has_unknown_archive and place < len(both) and all(each.requested in saved for each in both[:place]):
            msg = f"the rows that commits of {self._root} before {both[place].requested} brought, which were put away,"
            raise Gone(msg, TableCoordinate(both[place].version))
        is_first = version <= 1 or _is_known(version, both, [*self._timeline.history().back, *self._seen.back])
        if not is_first and not any(self._took_back(each, version) for each in self._seen.back):
            raise self._unknown(version - 1)
        return both, place

    def _took_back(self, back: Instant, version: int) -> bool:
        """Whether a rollback, or a restore, has removed a commit that may have been read before a version."""
        if back.version < version:
            return False
        told = self._timeline.metadata(back)
        gone = [*(told.get("commitsRollback") or ()), *(told.get("instantsToRollback") or ())]
        return any(int(each) <= version for each in gone if str(each).isdecimal())

    def _brought(self, commit: Instant, metadata: Mapping[str, Any], before: Sequence[Instant]) -> tuple[list[DataFile], str]:
        """What a commit brings, and what it does beside that."""
        operation = str(metadata.get("operationType") or _UNKNOWN)
        if operation in _LAID_OUT_ANEW:
            return [], ""
        if (metadata.get("extraMetadata") or {}).get("latest_schema"):
            msg = f"{self._root}: since {commit.requested} it knows columns by numbers (hoodie.schema.on.read.enable), not read"
            raise PermanentError(msg)
        stats = [stat for each in (metadata.get("partitionToWriteStats") or {}).values() for stat in each if stat.get("path")]
        replaced = {
            (folder, group) for folder, groups in (metadata.get("partitionToReplaceFileIds") or {}).items() for group in groups
        }
        rewrite = _rewrite(operation, stats, len(replaced))
        if not rewrite or not self._wants_changes:
            added = [self._added(commit, stat) for stat in stats]
            if rewrite:
                return [*added], rewrite
            return [replace(file, added=stat.get("numInserts") or 0) for file, stat in zip(added, stats, strict=True)], ""
        files: list[DataFile] = []
        for stat in stats:
            file = self._added(commit, stat)
            old = self._before(stat)
            if old is not None and stat.get("numDeletes"):
                files.append(BaseFile(old, size_of(old), holds=Holds.DELETED, behind=file.path))
            files.append(replace(file, before=old if stat.get("numUpdateWrites") else None))
        if replaced:
            held = {(file.folder, file.group): file for file in self._slices(before, [folder for folder, _ in replaced])}
            for folder, group in sorted(replaced):
                name = held[folder, group].name if (folder, group) in held else f"{group}_0_0.parquet"
                path = self._root / folder / name
                files.append(BaseFile(path, size_of(path), holds=Holds.DELETED))
        return files, ""

    def _added(self, commit: Instant, stat: Mapping[str, Any]) -> BaseFile:
        since, size = commit.requested if _is_made_of(stat) else "", stat.get("fileSizeInBytes") or 0
        return BaseFile(self._root / stat["path"], size, stat.get("numWrites"), commit=commit.requested, since=since)

    @property
    def _every(self) -> Sequence[Instant]:
        """The commits of the timeline and of its history. A savepoint keeps one in the timeline while later ones are put away."""
        commits = {each.requested: each for each in (*self._timeline.history().commits, *self._seen.commits)}
        return sorted(commits.values(), key=_version)

    @property
    def _first(self) -> str:
        """The oldest commit that no savepoint keeps in the timeline: what is older was done, or rolled back."""
        return next((each.requested for each in self._seen.commits if each.requested not in self._seen.saved), "")

    def _before(self, stat: Mapping[str, Any]) -> Path | None:
        """The file that another one was made of; None: it was made of nothing."""
        if not _is_made_of(stat):
            return None
        folder = str(stat["path"]).rpartition("/")[0]
        wanted = (stat["fileId"], stat["prevCommit"])
        found = [file.name for file in files_in(self._root, folder) if (file.group, file.instant) == wanted]
        # The name has a part that only the file itself tells.
        return self._root / folder / max(found, default=f"{wanted[0]}_0_{wanted[1]}.parquet")

    def _slices(self, commits: Sequence[Instant], folders: Sequence[str]) -> Sequence[Named]:
        """The files that a table had at a commit, in some partitions or in all, also those that are cleaned away by now."""
        version = commits[-1].version if commits else 0
        done = {each.requested for each in commits}
        first = min([self._first, *(each.requested for each in commits[-1:])])
        there = (
            [file for folder in set(folders) for file in files_in(self._root, folder)] if folders else list(all_files(self._root))
        )
        cleans = [each for each in self._seen.cleans if each.version > version]
        there += [file for each in cleans for file in removed(self._timeline.metadata(each))]
        put_away = self._timeline.history().commits if cleans else ()
        replacing = [each for each in (*put_away, *commits) if each.action == "replacecommit" and each.version <= version]
        told = [self._timeline.metadata(each).get("partitionToReplaceFileIds") or {} for each in replacing]
        replaced = [(folder, group) for each in told for folder, groups in each.items() for group in groups]
        return newest_of(there, lambda instant: instant in done or instant < first, replaced)

    def _plain(self, file: Named) -> BaseFile:
        path = self._root / file.folder / file.name
        return BaseFile(path, size_of(path))

    def _columns(self, commits: Sequence[Instant]) -> pa.Schema:
        """Those of the newest commit that says them; before there is one, those that the table was made with."""
        avro: str | None = None
        for each in reversed(commits):
            if each.requested not in self._schemas:
                said = self._timeline.metadata(each).get("extraMetadata") or {}
                self._schemas[each.requested] = said.get("schema") or None
            if avro := self._schemas[each.requested]:
                break
        avro = avro or self._timeline.settings.get("hoodie.table.create.schema")
        try:
            return columns_of(avro) if avro else pa.schema([])
        except RecordError as error:
            msg = f"{self._root} has a column that is not read: {error}"
            raise PermanentError(msg) from error

    def _refresh(self) -> None:
        seen, known = self._timeline.seen(), {each.requested for each in self._seen.commits}
        late = [each for each in seen.commits if each.version <= self._newest and each.requested not in known]
        if late:
            # It stays so until the log is opened anew: whoever looked ahead may have read it by then.
            msg = (
                f"{self._root}: the commit {late[0].requested} is new and says that it was completed before {self._newest}, which "
                "was seen earlier: the clocks of its writers differ. Start the connector again. What it has passed comes with "
                f"`rocketconnect position set` to {[late[0].version, 0, 0, 0]}, and what comes behind that again"
            )
            raise PermanentError(msg)
        self._seen = seen
        self._newest = self._seen.commits[-1].version if self._seen.commits else 0

    def _unknown(self, version: int) -> PermanentError:
        return PermanentError(
            f"{self._root}: the commit {version} was read, and the table that is there now knows nothing of it: it was made anew, "
            f"restored from a copy, or the position was set beside its commits. {_RESET}"
        )


def _version(commit: Instant) -> int:
    return commit.version


def _is_known(version: int, commits: Sequence[Instant], back: Sequence[Instant]) -> bool:
    """Whether a version is one of these commits, or the first behind what was read of them, and of what took some back."""
    read = version - 1
    return any(each.version in (version, read) for each in commits) or any(each.version == read for each in back)


def _order(file: DataFile) -> tuple[bool, str]:
    """Deletions come first: a row that goes to another partition is deleted and made by the same commit."""
    return file.holds is not Holds.DELETED, str(file.path)


def _is_made_of(stat: Mapping[str, Any]) -> bool:
    return str(stat.get("prevCommit") or "null") != "null"


def _rewrite(operation: str, stats: Sequence[Mapping[str, Any]], replaced: int) -> str:
    """What a commit does beside adding rows; empty: nothing."""
    updated, deleted = (sum(stat.get(name) or 0 for stat in stats) for name in ("numUpdateWrites", "numDeletes"))
    parts = [
        f"updated {counted(updated, 'row')}" if updated else "",
        f"deleted {counted(deleted, 'row')}" if deleted else "",
        f"replaced {counted(replaced, 'file group')}" if replaced else "",
    ]
    who = "it" if operation == _UNKNOWN else operation
    return f"{who} {' and '.join(filter(None, parts))}" if any(parts) else ""
