"""The history of a table of Iceberg, as a source reads it. A version is the sequence number of a snapshot."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestContent, ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.snapshots import Snapshot

from connectors.iceberg_source.catalogues import Catalogue, read_state
from connectors.iceberg_source.columns import Unreadable, columns_of
from connectors.iceberg_source.local_files import LocalFiles, local
from connectors.lakes.reading.log import Commit, DataFile, Gone, TableLog
from connectors.lakes.reading.places import TableCoordinate
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.wording.counts import counted

_COMPACTION = "replace"
_DELETES = "some of its rows may be deleted by delete files, which are not read. rewrite_data_files writes the others anew"


class IcebergLog(TableLog):
    """The snapshots of one table, up to the newest one of its main branch.

    Args:
        catalogue: Of the table.

    Raises:
        SystemAway: there is no table.
        PermanentError: it can't be read right.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._io = LocalFiles()
        self._mark: tuple[str, int, int, int] | None = None
        self._columns: dict[int, tuple[pa.Schema, pa.Schema]] = {}
        self._lineage: list[Snapshot] = []
        self._refresh()
        self.identity = str(self._metadata.table_uuid)
        self.columns = self._columns_at(self._metadata.current_schema_id)[0]

    def newest(self) -> int:
        """See TableLog."""
        self._refresh()
        return self._newest

    @property
    def earliest(self) -> int:
        """See TableLog."""
        first = self._lineage[0] if self._lineage else None
        return 0 if first is None or _number(first) == 1 else _number(first)

    def version_of(self, name: int) -> int:
        """A snapshot is named by its id. See TableLog."""
        self._refresh()
        found = next((snapshot for snapshot in self._lineage if snapshot.snapshot_id == name), None)
        if found is None:
            told = ", ".join(str(snapshot.snapshot_id) for snapshot in self._lineage[-5:]) or "none yet"
            msg = f"the history of the table has no snapshot {name}; its newest are {told}"
            raise PermanentError(msg)
        return _number(found)

    def first_since(self, seconds: float) -> int | None:
        """See TableLog."""
        self._refresh()
        found = next((each for each in self._lineage if each.timestamp_ms >= seconds * 1000), None)
        if found is not None and found is self._lineage[0] and _number(found) > 1:
            told = f"go back to {found.snapshot_id} only, which is not older: name this snapshot, or a later time"
            msg = f"the snapshots of the table {told}"
            raise PermanentError(msg)
        return None if found is None else _number(found)

    def whole(self, version: int) -> Commit:
        """See TableLog."""
        self._refresh()
        found = next((snapshot for snapshot in self._lineage if _number(snapshot) == version), None)
        if found is None:
            if version == 0:
                # No snapshot has this number: the table had no rows yet.
                return Commit(0, 1, (), self.columns)
            msg = f"the rows that the table had at the snapshot of the sequence number {version}, which expired,"
            raise Gone(msg, TableCoordinate(version + 1))
        files, has_deletes = [], False
        for manifest, entries in self._manifests(found):
            live = [entry.data_file for entry in entries if entry.status is not ManifestEntryStatus.DELETED]
            has_deletes = has_deletes or (manifest.content is ManifestContent.DELETES and bool(live))
            files += [file for file in live if file.content is DataFileContent.DATA]
        return self._commit(found, 1, sorted(files, key=lambda file: str(file.file_path)), _DELETES if has_deletes else "")

    def commit(self, version: int) -> Commit | None:
        """See TableLog."""
        if version > self._newest:
            self._refresh()
        place = next((place for place, each in enumerate(self._lineage) if _number(each) >= version), None)
        if place is None:
            return None
        snapshot = self._lineage[place]
        # Who removes a snapshot may remove it as the parent of another one, too.
        if place == 0 and not all(number in self._numbers for number in range(max(version, 1), _number(snapshot))):
            numbers = f"{version} to {_number(snapshot) - 1}"
            msg = f"the rows that the snapshots of the sequence numbers {numbers}, which expired, brought"
            raise Gone(msg, TableCoordinate(_number(snapshot)))
        files, told = self._brought(snapshot)
        rolled_back = next((each for each in self._metadata.snapshots if _number(each) == version - 1), None)
        if rolled_back is not None and place and rolled_back.snapshot_id not in {each.snapshot_id for each in self._lineage}:
            gone = f"the table was rolled back behind its snapshot {rolled_back.snapshot_id}, which was read"
            told = f"{gone}; {told}" if told else gone
        return self._commit(snapshot, 0, files, "", told)

    def _brought(self, snapshot: Snapshot) -> tuple[Sequence[IcebergFile], str]:
        """The files that a snapshot adds, and what it does beside that."""
        if snapshot.summary is not None and snapshot.summary.operation.value == _COMPACTION:
            return (), ""
        adds: list[IcebergFile] = []
        removed, deleting = 0, 0
        for manifest, entries in self._manifests(snapshot):
            if manifest.added_snapshot_id != snapshot.snapshot_id:
                continue
            for entry in (entry for entry in entries if entry.snapshot_id == snapshot.snapshot_id):
                if entry.status is ManifestEntryStatus.DELETED:
                    removed += 1
                elif entry.status is ManifestEntryStatus.ADDED and entry.data_file.content is DataFileContent.DATA:
                    adds.append(entry.data_file)
                elif entry.status is ManifestEntryStatus.ADDED:
                    deleting += 1
        return adds, _rewrite(snapshot, removed, deleting, adds)

    def _manifests(self, snapshot: Snapshot) -> Iterator[tuple[ManifestFile, list[ManifestEntry]]]:
        """The lists of files of a snapshot, each with its entries, in an order that is always the same."""
        try:
            for manifest in snapshot.manifests(self._io):
                yield manifest, manifest.fetch_manifest_entry(self._io, discard_deleted=False)
        except OSError as error:
            msg = f"{error.filename or snapshot.manifest_list} cannot be read now: {error.strerror or error}"
            raise RetriableError(msg) from error

    def _commit(self, snapshot: Snapshot, whole: int, files: Sequence[IcebergFile], unreadable: str, rewrite: str = "") -> Commit:
        schema = self._metadata.current_schema_id if snapshot.schema_id is None else snapshot.schema_id
        columns, numbered = self._columns_at(schema)
        made = [_data_file(file, numbered, unreadable) for file in files]
        return Commit(_number(snapshot), whole, made, columns, snapshot.timestamp_ms, rewrite)

    def _refresh(self) -> None:
        """Reads the newest state of the table, if that is another one by now."""
        location = self._catalogue.newest()
        path = local(location)
        try:
            found = path.stat()
            # In a directory another table may have a state of the same name.
            mark = (location, found.st_ino, found.st_mtime_ns, found.st_size)
            if mark == self._mark:
                return
            metadata = TableMetadataUtil.parse_raw(read_state(path).decode())
        except OSError as error:
            msg = f"{path} cannot be read now: {error.strerror}"
            raise RetriableError(msg) from error
        except ValueError as error:
            msg = f"{path} is no state of a table of Iceberg that is known here: {str(error).splitlines()[0]}"
            raise PermanentError(msg) from error
        if metadata.format_version != 2:
            msg = f"{path.parent.parent} has format version {metadata.format_version}, and version 2 is read"
            raise PermanentError(msg)
        if self._mark and str(metadata.table_uuid) != self.identity:
            msg = (
                f"{path.parent.parent}: the table {self.identity} was read, and the table that is there now is "
                f"{metadata.table_uuid}: it was made anew. Reset the connector to read this one from where `start` says"
            )
            raise PermanentError(msg)
        self._metadata: TableMetadata = metadata
        self._mark = mark
        # Snapshots of before format version 2 have no number.
        self._lineage = sorted((each for each in _ancestors(metadata) if _number(each)), key=_number)
        if metadata.current_snapshot_id is not None and not self._lineage:
            msg = f"{path.parent.parent} got format version 2 later and has no snapshot since: begin when it has one"
            raise PermanentError(msg)
        self._numbers = {_number(snapshot) for snapshot in metadata.snapshots}
        self._newest = _number(self._lineage[-1]) if self._lineage else 0

    def _columns_at(self, schema: int) -> tuple[pa.Schema, pa.Schema]:
        if schema not in self._columns:
            found = next(each for each in self._metadata.schemas if each.schema_id == schema)
            try:
                self._columns[schema] = columns_of(found)
            except Unreadable as error:
                msg = f"the table has a column that is not read: {error}"
                raise PermanentError(msg) from error
        return self._columns[schema]


def _number(snapshot: Snapshot) -> int:
    return snapshot.sequence_number or 0


def _ancestors(metadata: TableMetadata) -> Iterator[Snapshot]:
    """The newest snapshot, that before it, and so on: as far as they are there."""
    there = {snapshot.snapshot_id: snapshot for snapshot in metadata.snapshots}
    found = there.get(metadata.current_snapshot_id) if metadata.current_snapshot_id is not None else None
    while found is not None:
        yield found
        found = None if found.parent_snapshot_id is None else there.get(found.parent_snapshot_id)


def _data_file(file: IcebergFile, numbered: pa.Schema, unreadable: str) -> DataFile:
    if file.file_format is not FileFormat.PARQUET:
        unreadable = f"it is a file of {file.file_format.value}, and those of Parquet are read"
    try:
        path = local(str(file.file_path))
    except PermanentError as error:
        path, unreadable = Path(str(file.file_path)), str(error)
    return DataFile(path, int(file.file_size_in_bytes), int(file.record_count), {}, unreadable, numbered=numbered)


def _rewrite(snapshot: Snapshot, removed: int, deleting: int, adds: Sequence[Any]) -> str:
    """What a snapshot does beside adding rows; empty: nothing."""
    if not removed and not deleting:
        return ""
    operation = "it" if snapshot.summary is None else snapshot.summary.operation.value
    parts = [
        f"removed {counted(removed, 'file')}" if removed else "",
        f"added {counted(deleting, 'delete file')}" if deleting else "",
    ]
    added = f"added {counted(len(adds), 'file')} with {counted(sum(file.record_count for file in adds), 'row')}" if adds else ""
    return f"{operation} (snapshot {snapshot.snapshot_id}) {' and '.join(filter(None, (*parts, added)))}"
