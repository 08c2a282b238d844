"""Values in the form in which columns of Doris are sent. Pure."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from connectors.doris.types import Column, digits_of, parts
from rocketconnect_sdk.schema import Schema, Type, Unit
from rocketconnect_sdk.tables.values import Bad, clock_texts, cut_off, moments_of, nested_texts, told

_STANDS_IN: Mapping[str, object] = {"boolean": False, "date": "1970-01-01", "datetime": "1970-01-01 00:00:00", "json": "{}"}


def stand_ins(columns: Sequence[Column], told: Sequence[str]) -> dict[str, object]:
    """Of columns that take no null and are not told what stands there in a row that only deletes: nobody sees it."""
    return {each.name: _stand_in(each.kind) for each in columns if each.name not in told and not each.schema.optional}


def _stand_in(kind: str) -> object:
    name, _ = parts(kind)
    found = next((value for start, value in _STANDS_IN.items() if name.startswith(start)), None)
    return "0" if found is None else found


def typed(values: pa.Array, schema: Schema, column: Column) -> tuple[pa.Array, Bad]:
    """Values of the type that Spark has for a schema, as JSON has them; and those that the server would refuse, or cut off."""
    made = _made(values, schema, column)
    return made, list(_untaken(values, made, schema, column))


def _made(values: pa.Array, schema: Schema, column: Column) -> pa.Array:
    match schema.type:
        case Type.STRUCT | Type.ARRAY | Type.MAP:
            return nested_texts(values)
        case Type.TIMESTAMP if column.schema.type is Type.TIMESTAMP and digits_of(column.kind) <= 6:
            digits = digits_of(column.kind)
            unit = "s" if digits == 0 else "ms" if digits <= 3 else "us"
            return moments_of(values, schema).cast(pa.timestamp(unit), safe=False).cast(pa.string())
        case Type.TIME | Type.TIMESTAMP:
            return clock_texts(values, schema)
        case Type.DECIMAL | Type.DATE | Type.UINT64:
            # A number of JSON would lose digits on its way.
            return values.cast(pa.string())
        case Type.BYTES:
            return _texts(values)
    return values


def _texts(values: pa.Array) -> pa.Array:
    """Bytes as text; what is none is null."""
    found = []
    for value in values.to_pylist():
        try:
            found.append(None if value is None else value.decode())
        except UnicodeDecodeError:
            found.append(None)
    return pa.array(found, pa.string())


def _untaken(values: pa.Array, made: pa.Array, schema: Schema, column: Column) -> Iterator[tuple[int, str]]:
    if schema.type is Type.BYTES:
        yield from told(values, pc.and_(values.is_valid(), made.is_null()), "is no text in UTF-8")
    if pa.types.is_floating(made.type):
        yield from told(made, pc.invert(pc.is_finite(made)), "is no finite number, and JSON has only these")
    if column.schema.type is Type.TIMESTAMP and schema.type is Type.TIMESTAMP:
        digits = digits_of(column.kind)
        held = 9 if schema.unit is Unit.NANOSECONDS else 6
        if digits < held:
            cut = cut_off(values.cast(pa.int64()), 10 ** (held - digits))
            yield from told(made, cut, f"has more digits than a {column.kind}")
    if column.width and pa.types.is_string(made.type):
        yield from told(
            made, pc.greater(pc.binary_length(made), column.width), f"is longer than the {column.width} bytes of its column"
        )
