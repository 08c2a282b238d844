"""Changes of rows as records."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from connectors.lakes.reading.batches import check_key, offsets_of
from connectors.lakes.reading.fitting import is_plain
from connectors.lakes.reading.log import Commit, DataFile, Holds
from connectors.lakes.reading.places import TableCoordinate
from rocketconnect_sdk.arrow import from_arrow
from rocketconnect_sdk.changes.envelope import INT64, Operation, Origin
from rocketconnect_sdk.changes.form import ChangeForm
from rocketconnect_sdk.changes.table import TableChanges
from rocketconnect_sdk.columns.arrow_types import from_arrow_type
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, Rejected, SourceBatch
from rocketconnect_sdk.schema import struct

KIND = pa.field("_change_type", pa.string())
"""The column that says what happened to each row of a file of changes."""
BEFORE, AFTER = "update_preimage", "update_postimage"
_OPERATIONS = {"insert": Operation.CREATE, "delete": Operation.DELETE}
HELD_BYTES = 256 << 20
"""So much of the rows before the updates of one version is held; of more only the keys are told."""
_SOURCE = struct([("version", INT64)])

Row = tuple[Any, ...]
Happened = tuple[Operation | None, Row | None, Row | None]
"""What happened to a row: the operation, and the row before and after it; no operation: nothing, or another row says it."""


class Rows(Protocol):
    """Reads a file."""

    def next(self) -> pa.StructArray | None:
        """The next rows; None: there are no more."""

    def close(self) -> None:
        """Gives the file back."""


class ChangeBatches:
    """Makes batches of the changes of one version.

    An update is two rows of the files of changes, not always side by side: before and after. They belong together where they have
    the same key. A row before without one after was deleted under that key, and one after without one before is new under its own.

    Args:
        commit: The version.
        key: The columns of the keys.
        form: In which form changes are sent.
        origin: The table.
        columnar: Values are held as columns.
        open_rows: Reads some columns of a file of the version, from its beginning. Raises what FileRows does.

    Raises:
        PermanentError: a column has no schema, or a column of the key is not there.
    """

    def __init__(
        self,
        commit: Commit,
        key: Sequence[str],
        form: ChangeForm,
        origin: Origin,
        *,
        columnar: bool,
        open_rows: Callable[[DataFile, pa.Schema], Rows],
    ) -> None:
        check_key(commit, key)
        self._commit = commit
        self._key = key
        self._form = form
        self._origin = origin
        self._columnar = columnar
        self._open_rows = open_rows
        self._left = HELD_BYTES
        self._names = commit.columns.names
        self._time = commit.time_ms or 0
        self._updates: _Updates | None = None
        try:
            self._schema = from_arrow_type(pa.struct(list(commit.columns)), optional=False)
        except TypeError as error:
            msg = f"version {commit.version}: {error}"
            raise PermanentError(msg) from error

    def columns(self, file: DataFile) -> pa.Schema:
        """The columns that are read of a file."""
        return self._commit.columns.append(KIND) if file.holds is Holds.CHANGES else self._commit.columns

    def batch(
        self, file: DataFile, rows: pa.StructArray, partition: str, begin: TableCoordinate, behind: Offset
    ) -> SourceBatch | None:
        """The records of rows that follow each other in a file; None: there are none of them.

        Args:
            file: The file.
            rows: With its columns.
            partition: See SourceBatch.
            begin: Where the first of them is.
            behind: What is not behind it is left out.
        """
        changes = TableChanges(
            self._form,
            self._origin,
            self._schema,
            self._key,
            _SOURCE,
            partition=partition,
            topic="",
            behind=behind,
            columnar=self._columnar,
            nullable_key=True,
            # The same each time that a version is read.
            clock=lambda: self._time,
        )
        version = (self._commit.version,)
        offsets = offsets_of(begin, len(rows))
        if self._commit.whole and is_plain(rows):
            kept = [index for index, offset in enumerate(offsets) if offset > behind]
            if not kept:
                return None
            made = changes.reads(rows[kept[0] :], offsets[kept[0] :], ts_ms=self._time, source=version)
        else:
            for offset, (operation, before, after) in zip(offsets, self.changes(file, rows), strict=True):
                if operation is not None:
                    changes.add(operation, before, after, offset=offset, ts_ms=self._time, source=version)
            if not len(changes):
                return None
            made = changes.take()
        made.topics, made.size = None, rows.nbytes
        return made

    def changes(self, file: DataFile, rows: pa.StructArray) -> Iterator[Happened]:
        """What happened to each row."""
        if file.holds is not Holds.CHANGES:
            deleted = file.holds is Holds.DELETED
            operation = Operation.READ if self._commit.whole else Operation.DELETE if deleted else Operation.CREATE
            for row in self.plain(file, rows, self._names):
                yield operation, row if deleted else None, None if deleted else row
            return
        updates = self._updates = self._updates or self._all_updates()
        of_key = [self._names.index(name) for name in self._key]
        for row, kind in zip(self.plain(file, rows, self._names), rows.field(KIND.name).to_pylist(), strict=True):
            key = tuple(row[place] for place in of_key)
            if kind == BEFORE:
                yield (None, None, None) if key in updates.after else (Operation.DELETE, row, None)
            elif kind == AFTER:
                before = updates.before.get(key)
                yield Operation.CREATE if before is None else Operation.UPDATE, before, row
            elif kind in _OPERATIONS:
                yield (_OPERATIONS[kind], *((row, None) if kind == "delete" else (None, row)))
            else:
                msg = f"{file.path}: {kind!r} is no change of a row that is known"
                raise PermanentError(msg)

    def _all_updates(self) -> "_Updates":
        """All updates of the version, by their keys."""
        found = _Updates()
        for file in (file for file in self._commit.files if file.holds is Holds.CHANGES):
            opened = self._open_rows(file, self.columns(file))
            try:
                while (rows := opened.next()) is not None:
                    self._gather(found, file, rows)
            finally:
                opened.close()
        return found

    def _gather(self, found: "_Updates", file: DataFile, rows: pa.StructArray) -> None:
        kinds = rows.field(KIND.name)
        found.after.update(self.plain(file, rows.filter(pc.equal(kinds, AFTER)), self._key))
        before = rows.filter(pc.equal(kinds, BEFORE))
        self._left -= before.nbytes
        keys = self.plain(file, before, self._key)
        held = self.plain(file, before, self._names) if self._left >= 0 else [self._key_alone(key) for key in keys]
        for key, row in zip(keys, held, strict=True):
            found.before[key] = row

    def _key_alone(self, key: Row) -> Row:
        told = dict(zip(self._key, key, strict=True))
        return tuple(told.get(name) for name in self._names)

    def plain(self, file: DataFile, rows: pa.StructArray, names: Sequence[str]) -> list[Row]:
        """Some columns of rows as Python has them."""
        if all(is_plain(rows.field(name)) for name in names):
            return list(zip(*(Column(rows.field(name)) for name in names), strict=True))
        fields = [rows.type.field(name) for name in names]
        wanted = pa.RecordBatch.from_arrays([rows.field(name) for name in names], schema=pa.schema(fields))
        found = from_arrow(wanted, "", [()] * len(rows)).values
        bad = next((value for value in found if isinstance(value, Rejected)), None)
        if bad is not None:
            msg = f"{file.path}: {bad.reason}. Read the table with mode=append, which makes a bad record of such a row"
            raise PermanentError(msg)
        return [tuple(value.values()) for value in found]  # type: ignore[attr-defined]


@dataclass(slots=True)
class _Updates:
    """The updates of a version: the rows before them by their keys, and the keys of those after them."""

    before: dict[Row, Row] = field(default_factory=dict)
    after: set[Row] = field(default_factory=set)
