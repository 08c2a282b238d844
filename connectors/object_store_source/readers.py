"""An object into batches of records."""

import gzip
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyarrow import parquet

from connectors.file_source.records import Format
from connectors.object_store_source.content import opened
from connectors.object_store_source.listing import Found, Objects
from rocketconnect_sdk.arrow import from_arrow
from rocketconnect_sdk.columns.arrow_types import from_arrow_type, inside, recast
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import SourceBatch

_PIECE = 1 << 20
_LONGEST_RECORD = 64 << 20
_ENDED = 1
"""The second number of the offset behind an object: what is before its end has 0."""


class Reader(ABC):
    """One object, from a record on.

    Args:
        found: The object.
        context: Of the task.
    """

    def __init__(self, found: Found, context: TaskContext) -> None:
        self.found = found
        self.context = context

    @abstractmethod
    def next(self) -> SourceBatch | None:
        """The next records, the last ones with the `end` of the object; None: there were none, and it goes on.

        Raises:
            Gone: the object is no more.
            PermanentError: it is not what it should be.
        """

    def _batch(self, batch: SourceBatch, at: int | None) -> SourceBatch:
        """A batch that says whether it is the last one of its object.

        Args:
            batch: The batch.
            at: Where the object ends, if this is its last one.
        """
        return batch if at is None else replace(batch, end=(at, _ENDED))


class Rows(Reader):
    """The rows of a Parquet object. Offsets count them.

    Args:
        objects: Where it is.
        found: The object.
        skipped: So many rows are done.
        key: The column that is the key; empty: none.
        context: Of the task.
    """

    def __init__(self, objects: Objects, found: Found, skipped: int, key: str, context: TaskContext) -> None:
        super().__init__(found, context)
        self._key = key
        self._done = skipped
        try:
            self._file = parquet.ParquetFile(opened(objects, found), pre_buffer=True)
        except pa.ArrowException as error:
            msg = f"{found} is no Parquet: {error}. Remove it, or set pattern so that it is not read"
            raise PermanentError(msg) from None
        if key and key not in self._file.schema_arrow.names:
            msg = f"{found} has no column {key}. Set key.field to one of {', '.join(self._file.schema_arrow.names)}"
            raise PermanentError(msg)
        self._total: int = self._file.metadata.num_rows
        self._batches = self._from(skipped)

    def _from(self, skipped: int) -> Iterator[pa.RecordBatch]:
        meta = self._file.metadata
        group = 0
        while group < meta.num_row_groups and skipped >= meta.row_group(group).num_rows:
            skipped -= meta.row_group(group).num_rows
            group += 1
        size = sum(meta.row_group(number).total_byte_size for number in range(meta.num_row_groups))
        rows = self.context.batch_bytes * max(1, self._total) // max(1, size)
        rows = max(1, min(self.context.batch_records, rows))
        # One row group after the other: of those that it is asked for, Arrow may hold all (invariant 7).
        for number in range(group, meta.num_row_groups):
            for batch in self._file.iter_batches(rows, row_groups=[number]):
                if skipped < batch.num_rows:
                    yield batch.slice(skipped)
                skipped = max(0, skipped - batch.num_rows)

    def next(self) -> SourceBatch | None:
        """See Reader."""
        partition = self.found.partition
        try:
            batch = next(self._batches, None)
        except pa.ArrowException as error:
            where = f"{self.found} cannot be read behind row {self._done}"
            msg = f"{where}: {error}. Remove it, or set pattern so that it is not read"
            raise PermanentError(msg) from None
        if batch is None:
            return SourceBatch(partition, [], [], end=(self._done, _ENDED))
        begin, self._done = self._done, self._done + batch.num_rows
        made = self._records(batch, [(row, 0) for row in range(begin + 1, self._done + 1)])
        return self._batch(made, self._done if self._done >= self._total else None)

    def _records(self, batch: pa.RecordBatch, offsets: list[tuple[int, ...]]) -> SourceBatch:
        rows = batch.to_struct_array()
        try:
            rows = recast(rows, _plain(rows.type))
            schema = from_arrow_type(rows.type, optional=False)
        except TypeError as error:
            msg = f"{self.found} has a column that no message can hold: {error}"
            raise PermanentError(msg) from None
        keys = rows.field(self._key) if self._key else None
        if not self.context.columns:
            return from_arrow(pa.RecordBatch.from_struct_array(rows), self.found.partition, offsets, keys=keys)
        made = SourceBatch(self.found.partition, Column(rows), offsets, schema=schema, size=rows.nbytes)
        if keys is not None:
            made.keys, made.key_schema = Column(keys), from_arrow_type(keys.type)
        return made


class Lines(Reader):
    """The lines of an object. Offsets are bytes of what it holds, unpacked.

    Args:
        objects: Where it is.
        found: The object.
        begin: Where to begin.
        form: What its lines are.
        packed: It is gzip.
        context: Of the task.
    """

    def __init__(self, objects: Objects, found: Found, begin: int, form: Format, context: TaskContext, *, packed: bool) -> None:
        super().__init__(found, context)
        self._form = form
        plain = opened(objects, found)
        self._file = gzip.GzipFile(fileobj=plain) if packed else plain
        self._rest = b""
        self._at = begin
        if form.needs_header:
            header = self._read(lambda: self._file.readline(_LONGEST_RECORD))
            if header:
                self._take(header)
            self._at = max(begin, len(header))
        self._read(lambda: self._seek(self._at))

    def _seek(self, at: int) -> bytes:
        self._file.seek(at)
        return b""

    def _take(self, header: bytes) -> None:
        try:
            self._form.header(header.rstrip(b"\r\n"))
        except ValueError as error:
            msg = f"{self.found}: {error}"
            raise PermanentError(msg) from None

    def _read(self, read: Callable[[], bytes]) -> bytes:
        try:
            return read()
        except (gzip.BadGzipFile, EOFError) as error:
            msg = f"{self.found} is no gzip, or not whole: {error}. Remove it, or set compression=none"
            raise PermanentError(msg) from None

    def next(self) -> SourceBatch | None:
        """See Reader."""
        piece = self._read(lambda: self._file.read(max(1, min(_PIECE, self.context.batch_bytes))))
        data = self._rest + piece
        cut = self._form.cut(data, self._at, last=not piece)
        self._rest = data[cut.used :]
        self._at += cut.used
        if len(self._rest) > _LONGEST_RECORD:
            msg = f"{self.found} has no end of a record within {_LONGEST_RECORD >> 20} MiB behind byte {self._at}"
            raise PermanentError(msg)
        ended = None if piece else self._at
        if not cut.offsets:
            return None if ended is None else SourceBatch(self.found.partition, [], [], end=(ended, _ENDED))
        offsets = [(offset[0], 0) for offset in cut.offsets]
        made = SourceBatch(self.found.partition, cut.values, offsets, cut.keys, schema=self._form.schema, size=cut.used)
        made.key_schema = self._form.key_schema
        return self._batch(made, ended)


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type that has a schema, for one that other writers of Parquet use for the same values."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        return pa.timestamp("ms", kind.tz)
    return next((plain for plain, is_it in _SAME if is_it(kind)), None) or inside(kind, _plain)


_SAME: Sequence[tuple[pa.DataType, Callable[[pa.DataType], bool]]] = (
    (pa.string(), lambda kind: pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind)),
    (pa.binary(), lambda kind: pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)),
    (pa.binary(), pa.types.is_fixed_size_binary),
    (pa.date32(), pa.types.is_date64),
)
"""By type which others have the same values."""
