"""Many rows as the body of one message: an Arrow IPC stream of one batch.

    value      the values, of the type of their schema; null: a tombstone
    offset     list<int64>: the source offset of each row, so that rows of a message are told apart like messages are
    key        binary, where rows have keys: as the key converter wrote them
    timestamp  int64, where rows have times: milliseconds since 1970
    header     map<string, string>, where rows have headers

The metadata of its schema has the schema of the values (rocketconnect.schema, as the JSON converter writes it) and whose offsets
these are (rocketconnect.source, "connector uid/source partition id").
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import msgspec
import pyarrow as pa

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.compact import Column, Numbers
from rocketconnect_sdk.columns.parts import fields_of
from rocketconnect_sdk.columns.stream import may_be_packed
from rocketconnect_sdk.converters.json.schema import from_json, to_json
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.schema import OPTIONAL_STRING, Schema, Type
from rocketconnect_sdk.wording.counts import counted

_OFFSETS = pa.list_(pa.field("item", pa.int64(), nullable=False))
HEADERS = pa.map_(pa.string(), pa.string())
_TYPES = {"offset": _OFFSETS, "key": pa.binary(), "timestamp": pa.int64(), "header": HEADERS}
_SCHEMA = b"rocketconnect.schema"
_SOURCE = b"rocketconnect.source"
_NOT_PACKED = (
    *(pa.ArrowException, OSError, EOFError),
    *(ValueError, KeyError, TypeError, OverflowError, MemoryError, RecursionError, struct.error),
)
"""What reading bytes that are no packed message can raise."""


class _OtherRows(ValueError):
    """Arrow's columns, but not those of a packed message; says which are missing or wrong."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one source partition in their order, as Arrow columns of equal length.

    Attributes:
        values: The values.
        schema: Of the values.
        offsets: Of each the source offset, increasing.
        source: Whose offsets these are: "connector uid/source partition id".
        keys: The bytes of the keys; None: no row has one.
        timestamps_ms: Times of the events; None: not known.
        headers: Headers of each; None: no row has any.
    """

    values: pa.Array
    schema: Schema
    offsets: pa.ListArray
    source: str = ""
    keys: pa.Array | None = None
    timestamps_ms: pa.Array | None = None
    headers: pa.Array | None = None

    def __len__(self) -> int:
        """How many rows."""
        return len(self.values)

    @property
    def size(self) -> int:
        """About how many bytes they take in a message."""
        return sum(column.nbytes for column in self._columns().values())

    @property
    def last(self) -> Offset:
        """The offset of the last row."""
        return self._offset(len(self) - 1)

    def slice(self, start: int, stop: int) -> "Rows":
        """Some that follow each other; nothing is copied."""
        return self._each(lambda column: column[start:stop])

    def alone(self, index: int) -> "Rows":
        """One of them, copied: the message of a slice has bytes of the rows beside it, as far as they share a block of memory."""
        return self.take([index])

    def take(self, indexes: Sequence[int]) -> "Rows":
        """Some of them."""
        chosen = pa.array(indexes, pa.int64())
        return self._each(lambda column: column.take(chosen))

    def above(self, mark: Offset) -> "Rows":
        """Those behind a mark: the others are where they are going already."""
        return self.slice(bisect_right(range(len(self)), mark, key=self._offset), len(self)) if mark else self

    def _offset(self, index: int) -> Offset:
        return tuple(self.offsets[index].as_py())

    def _columns(self) -> dict[str, pa.Array]:
        columns = {"offset": self.offsets, "key": self.keys, "timestamp": self.timestamps_ms, "header": self.headers}
        return {"value": self.values} | {name: column for name, column in columns.items() if column is not None}

    def _each(self, change: Any) -> "Rows":
        names = {"value": "values", "offset": "offsets", "key": "keys", "timestamp": "timestamps_ms", "header": "headers"}
        return replace(self, **{names[name]: change(column) for name, column in self._columns().items()})

    def pack(self) -> bytes:
        """The body of a message."""
        columns = self._columns()
        metadata = {_SCHEMA: _form_of(self.schema), _SOURCE: self.source.encode()}
        fields = [pa.field(name, column.type) for name, column in columns.items()]
        batch = pa.RecordBatch.from_arrays(list(columns.values()), schema=pa.schema(fields, metadata))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        body: bytes = sink.getvalue().to_pybytes()
        return body


def array_of(values: Sequence[object], schema: Schema | None) -> tuple[pa.Array, Schema]:
    """Values as an Arrow array of their schema; a None is null.

    Raises:
        RecordError: a value does not fit the schema, or there is none.
    """
    if schema is None:
        if any(value is not None for value in values):
            msg = "a value without a schema cannot be packed: give its columns or its schema, or set value.converter=json"
            raise RecordError(msg)
        schema = OPTIONAL_STRING
    if isinstance(values, Column):
        array = values.array
    else:
        for value in values:
            _refuse_unknown_fields(value, schema)
        array = to_array(values, schema)
    _check(array, schema)
    return array, schema


def offsets_of(offsets: Sequence[Offset]) -> pa.ListArray:
    """Offsets as a column."""
    if not isinstance(offsets, Numbers):
        return pa.array(offsets, _OFFSETS)
    ends = pa.array(range(len(offsets) + 1), pa.int32())
    return pa.ListArray.from_arrays(ends, pa.array(offsets.integers, pa.int64()), type=_OFFSETS)


def values_of(rows: Rows) -> list[object]:
    """The values, as Python has them; a RecordError stands for one that it can't hold."""
    try:
        found: list[object] = list(Column(rows.values))
    except (OverflowError, ValueError, KeyError):
        return [_value_of(rows, index) for index in range(len(rows))]
    return found


def _value_of(rows: Rows, index: int) -> object:
    try:
        return Column(rows.values)[index]
    except (OverflowError, ValueError, KeyError) as error:
        return RecordError(f"Python can't hold the value: {error}")


def unpack(body: bytes) -> Rows:
    """The rows of a message, at least one. They take no more memory than the message does.

    Raises:
        RecordError: it is no packed message. Never anything else, whatever the bytes are.
    """
    try:
        batch = _batch_of(body)
        batch.validate(full=True)
        return _rows_of(batch, len(body))
    except _OtherRows as error:
        msg = f"no packed message: {error}"
        raise RecordError(msg) from None
    except _NOT_PACKED:
        msg = f"no packed message: its {counted(body, 'byte')} are {_looks_like(body)} (value.converter=arrow)"
        raise RecordError(msg) from None


def _looks_like(body: bytes) -> str:
    if may_be_packed(body):
        return "damaged, or were not written by a source of rows"
    try:
        body.decode()
    except UnicodeDecodeError:
        return "not rows that a source has packed"
    return "text, and not rows that a source has packed"


def is_packed(body: bytes) -> bool:
    """Whether these bytes are a packed message."""
    if not may_be_packed(body):
        return False
    try:
        unpack(body)
    except RecordError:
        return False
    return True


def _batch_of(body: bytes) -> pa.RecordBatch:
    """The one batch. Only one without dictionaries and codecs: of these a few bytes could stand for any number."""
    stream = pa.BufferReader(body)
    head, rows = pa.ipc.read_message(stream), pa.ipc.read_message(stream)
    if (head.type, rows.type) != ("schema", "record batch"):
        msg = f"a {head.type} and a {rows.type} instead of a schema and a record batch"
        raise _OtherRows(msg)
    if _is_compressed(bytes(rows.metadata)):
        msg = "it is compressed"
        raise _OtherRows(msg)
    return pa.ipc.read_record_batch(rows, pa.ipc.read_schema(head))


def _is_compressed(metadata: bytes) -> bool:
    """Whether a record batch names a codec (format/Message.fbs: header is slot 2 of Message, compression 3 of RecordBatch)."""
    (root,) = struct.unpack_from("<I", metadata, 0)
    header = _slot(metadata, root, 2)
    return header != 0 and _slot(metadata, header + struct.unpack_from("<I", metadata, header)[0], 3) != 0


def _slot(table: bytes, at: int, number: int) -> int:
    """Where a field of a flatbuffer's table stands; 0: it is absent."""
    slots = at - struct.unpack_from("<i", table, at)[0]
    place = 4 + 2 * number
    if place >= struct.unpack_from("<H", table, slots)[0]:
        return 0
    offset: int = struct.unpack_from("<H", table, slots + place)[0]
    return at + offset if offset else 0


def _rows_of(batch: pa.RecordBatch, length: int) -> Rows:
    metadata = batch.schema.metadata or {}
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    if not batch.num_rows or not {"value", "offset"} <= columns.keys() or len(columns) < batch.num_columns:
        msg = "there are no rows with values and offsets"
        raise _OtherRows(msg)
    wrong = [name for name, column in columns.items() if name != "value" and column.type != _TYPES.get(name)]
    if wrong or columns["offset"].null_count:
        msg = f"unknown columns, or of other types: {', '.join(wrong) or 'offset'}"
        raise _OtherRows(msg)
    # Columns may lie on top of each other.
    if batch.nbytes > length or len(columns["offset"].values) > length:
        msg = f"{batch.nbytes} bytes of columns in a message of {length}"
        raise _OtherRows(msg)
    schema, values = _schema_of(metadata[_SCHEMA]), columns["value"]
    if to_arrow_type(schema) != values.type:
        msg = "the type of the values is not that of their schema"
        raise _OtherRows(msg)
    _check(values, schema)
    optional = (columns.get(name) for name in ("key", "timestamp", "header"))
    return Rows(values, schema, columns["offset"], metadata[_SOURCE].decode(), *optional)


@lru_cache(maxsize=16)
def _schema_of(form: bytes) -> Schema:
    return from_json(msgspec.json.decode(form))


@lru_cache(maxsize=16)
def _form_of(schema: Schema) -> bytes:
    try:
        return msgspec.json.encode(to_json(schema))
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"the schema cannot be written: {error}"
        raise RecordError(msg) from None


def _check(array: pa.Array, schema: Schema) -> None:
    """Refuses a null within a value where its schema allows none, and what takes no room, so that any number may be there."""
    if schema.type is Type.STRUCT and not schema.fields:
        msg = "a struct without fields cannot be packed"
        raise RecordError(msg)
    if array.null_count:
        # Arrow can't make an empty array of a type with a UUID in it from nothing.
        array = array[:0] if array.null_count == len(array) else array.drop_null()
    for name, part, of in _parts(array, schema):
        if part.null_count and not of.optional:
            msg = f"{name} is null and must not be"
            raise RecordError(msg)
        _check(part, of)


def _parts(array: pa.Array, schema: Schema) -> Iterator[tuple[str, pa.Array, Schema]]:
    """The columns that an array without nulls is made of."""
    if schema.type is Type.STRUCT:
        for field, column in fields_of(array, schema):
            yield f"the field {field.name}", column, field.schema
    elif schema.type is Type.ARRAY and schema.items is not None:
        yield "an element", array.flatten(), schema.items
    elif schema.type is Type.MAP and schema.keys is not None and schema.items is not None and len(array):
        start, stop = array.offsets[0].as_py(), array.offsets[len(array)].as_py()
        yield "a key", array.keys[start:stop], schema.keys
        yield "a value of a map", array.items[start:stop], schema.items


def _refuse_unknown_fields(value: object, schema: Schema) -> None:
    if schema.type is Type.STRUCT and isinstance(value, Mapping):
        known = {field.name: field.schema for field in schema.fields}
        if unknown := value.keys() - known.keys():
            msg = f"the schema has no field {', '.join(sorted(map(repr, unknown)))[:200]}"
            raise RecordError(msg)
        for name, of in known.items():
            if of.type in (Type.STRUCT, Type.ARRAY, Type.MAP):
                _refuse_unknown_fields(value.get(name), of)
    elif schema.type is Type.ARRAY and schema.items is not None and isinstance(value, list | tuple):
        for item in value:
            _refuse_unknown_fields(item, schema.items)
    elif schema.type is Type.MAP and schema.items is not None and isinstance(value, Mapping):
        for item in value.values():
            _refuse_unknown_fields(item, schema.items)
