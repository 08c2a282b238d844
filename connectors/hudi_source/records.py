"""Rows of files of which a commit has made some, as records."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from connectors.hudi_source.base_files import BaseFile
from connectors.hudi_source.columns import COMMIT_TIME, ROW_KEY
from connectors.lakes.reading.batches import Batches, offsets_of
from connectors.lakes.reading.changes import HELD_BYTES, ChangeBatches, Happened
from connectors.lakes.reading.files import Missing
from connectors.lakes.reading.log import DataFile
from connectors.lakes.reading.places import TableCoordinate
from rocketconnect_sdk.changes.envelope import Operation
from rocketconnect_sdk.record import Offset, SourceBatch


class AddedRows(Batches):
    """Makes batches of the rows that a commit has added. See Batches."""

    def columns(self, file: DataFile) -> pa.Schema:
        """See Records."""
        columns = super().columns(file)
        return columns.append(COMMIT_TIME) if _since(file) else columns

    def batch(
        self, file: DataFile, rows: pa.StructArray, partition: str, begin: TableCoordinate, behind: Offset
    ) -> SourceBatch | None:
        """See Records."""
        if not (since := _since(file)):
            return super().batch(file, rows, partition, begin, behind)
        chosen = pc.indices_nonzero(pc.equal(rows.field(COMMIT_TIME.name), since))
        if not len(chosen):
            return None
        columns = super().columns(file)
        added = pa.StructArray.from_arrays([rows.field(name) for name in columns.names], fields=list(columns)).take(chosen)
        offsets = offsets_of(begin, len(rows))
        return self.made(added, partition, [offsets[place] for place in chosen.to_pylist()])


@dataclass(frozen=True, slots=True)
class _Before:
    """Rows as they were before a commit has changed them: of the first so many keys."""

    keys: pa.Array
    rows: pa.StructArray


class ChangedRows(ChangeBatches):
    """Makes batches of the changes of a commit: what files have is held against those that they were made of. See ChangeBatches."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._held: dict[Path, Any] = {}
        """What is known of the file that is read."""

    def columns(self, file: DataFile) -> pa.Schema:
        """See ChangeBatches."""
        columns = super().columns(file)
        if isinstance(file, BaseFile) and file.behind:
            return columns.append(ROW_KEY)
        return columns.append(ROW_KEY).append(COMMIT_TIME) if _since(file) else columns

    def changes(self, file: DataFile, rows: pa.StructArray) -> Iterator[Happened]:
        """See ChangeBatches."""
        if not isinstance(file, BaseFile) or not (file.since or file.behind):
            yield from super().changes(file, rows)
            return
        happened: Iterator[Happened]
        if (behind := file.behind) is not None:
            chosen = pc.invert(pc.is_in(rows.field(ROW_KEY.name), self._of(file.path, lambda: self._keys(behind))))
            happened = ((Operation.DELETE, row, None) for row in self.plain(file, rows.filter(chosen), self._names))
        else:
            chosen = pc.equal(rows.field(COMMIT_TIME.name), file.since)
            happened = self._made(file, rows.filter(chosen))
        for is_changed in chosen.to_pylist():
            yield next(happened) if is_changed else (None, None, None)

    def _made(self, file: BaseFile, rows: pa.StructArray) -> Iterator[Happened]:
        """Of rows that a commit has made."""
        after = self.plain(file, rows, self._names)
        if (old := file.before) is None:
            yield from ((Operation.CREATE, None, row) for row in after)
            return
        try:
            before: _Before = self._of(file.path, lambda: self._read_before(file, old))
        except Missing:
            # Of an update it matters most what the row is now.
            yield from ((Operation.UPDATE, None, row) for row in after)
            return
        places = pc.index_in(rows.field(ROW_KEY.name), value_set=before.keys).to_pylist()
        held = [place for place in places if place is not None and place < len(before.rows)]
        found = iter(self.plain(file, before.rows.take(pa.array(held, pa.int64())), self._names))
        for place, row in zip(places, after, strict=True):
            if place is None:
                yield Operation.CREATE, None, row
            else:
                yield Operation.UPDATE, next(found) if place < len(before.rows) else None, row

    def _of(self, path: Path, read: Callable[[], Any]) -> Any:
        """What was read for a file, of which one is read at a time."""
        if path not in self._held:
            self._held = {path: read()}
        return self._held[path]

    def _keys(self, path: Path, since: str = "") -> pa.Array:
        """The keys of the rows of a file; of those that a commit has made, where it is named. Raises Missing."""
        found: list[pa.Array] = []
        columns = pa.schema([ROW_KEY, COMMIT_TIME] if since else [ROW_KEY])
        for rows in self._all(path, columns):
            chosen = rows.filter(pc.equal(rows.field(COMMIT_TIME.name), since)) if since else rows
            found.append(chosen.field(ROW_KEY.name))
        return pa.concat_arrays(found) if found else pa.array([], pa.string())

    def _read_before(self, file: BaseFile, before: Path) -> _Before:
        """The rows of the file before, of which a commit has made others. Raises Missing."""
        changed, columns = self._keys(file.path, file.since), self._commit.columns
        keys, held, size = list[pa.Array](), list[pa.Array](), 0
        for every in self._all(before, columns.append(ROW_KEY)):
            rows = every.filter(pc.is_in(every.field(ROW_KEY.name), changed))
            keys.append(rows.field(ROW_KEY.name))
            size += rows.nbytes
            if size <= HELD_BYTES:
                held.append(pa.StructArray.from_arrays([rows.field(name) for name in columns.names], fields=list(columns)))
        nothing = pa.array([], pa.struct(list(columns)))
        return _Before(pa.concat_arrays(keys or [pa.array([], pa.string())]), pa.concat_arrays(held or [nothing]))

    def _all(self, path: Path, columns: pa.Schema) -> Iterator[pa.StructArray]:
        opened = self._open_rows(DataFile(path, 0), columns)
        try:
            while (rows := opened.next()) is not None:
                yield rows
        finally:
            opened.close()


def _since(file: DataFile) -> str:
    return file.since if isinstance(file, BaseFile) else ""
