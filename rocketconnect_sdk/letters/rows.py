"""Rows of packed messages as JSON that people read and edit. Pure.

Text that JSON has no type for is that of the option `columns`: "2024-02-29", "12.50", base64 of bytes. Maps whose keys are no text
are lists of pairs, and numbers that JSON has not are "NaN", "Infinity" and "-Infinity".
"""

import base64
import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.columns.misfit import misfit_of_column
from rocketconnect_sdk.columns.rows import Rows, array_of, values_of
from rocketconnect_sdk.columns.texts import TEXTS, read_text
from rocketconnect_sdk.converters.json.forms import moment_text, time_text
from rocketconnect_sdk.converters.json.reading import NotJson, decimals_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import WHOLE, Schema, Type
from rocketconnect_sdk.wording.counts import counted

_VALUE = "value"
"""What a value that is no struct is called."""
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")
_DIGITS_OF_FLOAT32 = 9


def column_types(schema: Schema) -> list[tuple[str, str]]:
    """The name and the type of each column: "decimal(10,2)", "string not null", "array(struct(a int32))"."""
    if schema.type is Type.STRUCT:
        return [(field.name, _type_text(field.schema)) for field in schema.fields]
    return [(_VALUE, _type_text(schema))]


def write_rows(rows: Rows) -> list[str | RecordError]:
    """Each row as JSON, on one line; an error stands for one that Python can't hold."""
    schema = rows.schema
    return [value if isinstance(value, RecordError) else _json(_written(schema, value)) for value in values_of(rows)]


def read_rows(rows: Rows, text: str) -> Rows:
    """The same rows with other values: keys, times, headers and offsets stay.

    Args:
        rows: They.
        text: Of one row its JSON, of several a JSON array with as many: each as write_rows() writes it.

    Raises:
        RecordError: it is no JSON, or a value does not fit its column; says which, and what would.
    """
    values = _decoded(text)
    if len(rows) == 1:
        values = [values]
    elif not isinstance(values, list) or len(values) != len(rows):
        given = len(values) if isinstance(values, list) else "no array"
        needed = f"a JSON array of {counted(rows, 'row')} is needed"
        msg = f"{needed}, and this is {given}: rows can be changed, not added or left out"
        raise RecordError(msg)
    found = []
    for number, value in enumerate(values, start=1):
        try:
            found.append(None if value is None else _read(rows.schema, value, ""))
        except RecordError as error:
            raise RecordError(f"row {number}: {error}" if len(rows) > 1 else str(error)) from None
    return replace(rows, values=array_of(found, rows.schema)[0])


def _type_text(schema: Schema) -> str:
    needed = "" if schema.optional else " not null"
    if schema.type is Type.STRUCT:
        return f"struct({', '.join(f'{field.name} {_type_text(field.schema)}' for field in schema.fields)}){needed}"
    if schema.type is Type.ARRAY and schema.items is not None:
        return f"array({_type_text(schema.items)}){needed}"
    if schema.type is Type.MAP and schema.items is not None and schema.keys is not None:
        return f"map({_type_text(schema.keys)}, {_type_text(schema.items)}){needed}"
    return f"{type_name(schema)}{needed}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _written(schema: Schema, value: Any) -> Any:  # noqa: PLR0911 - one for each kind
    if value is None:
        return None
    match schema.type:
        case Type.STRUCT:
            return {field.name: _written(field.schema, value.get(field.name)) for field in schema.fields}
        case Type.ARRAY if schema.items is not None:
            return [_written(schema.items, item) for item in value]
        case Type.MAP if schema.items is not None and schema.keys is not None:
            pairs = value.items() if isinstance(value, Mapping) else value
            made = [(_written(schema.keys, key), _written(schema.items, item)) for key, item in pairs]
            return dict(made) if schema.keys.type is Type.STRING else made
        case Type.FLOAT32 | Type.FLOAT64:
            return _number(schema, value) if math.isfinite(value) else _name_of(value)
        case Type.DECIMAL:
            return f"{value:f}"
        case Type.TIME:
            return str(time_text(schema, value))
        case Type.TIMESTAMP:
            return str(moment_text(schema, value))
        case Type.DATE:
            return value.isoformat()
        case Type.UUID:
            return str(value)
        case Type.BYTES:
            return base64.b64encode(value).decode()
    return value


def _number(schema: Schema, value: float) -> float:
    """As short as it can be told: 0.1 of 32 bits is 0.10000000149011612 to Python."""
    if schema.type is Type.FLOAT64:
        return value
    bits = struct.pack("<f", value)
    shorter = (float(f"{value:.{digits}g}") for digits in range(1, _DIGITS_OF_FLOAT32))
    return next((each for each in shorter if _bits(each) == bits), value)


def _bits(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return b""


def _name_of(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _decoded(text: str) -> Any:
    try:
        return decimals_of(text)
    except NotJson as error:
        msg = f"it is no JSON: {error}"
        raise RecordError(msg) from None


def _read(schema: Schema, value: Any, path: str) -> Any:
    """The value that JSON stands for. Raises RecordError."""
    if value is None:
        if not schema.optional:
            msg = f"the column `{path or _VALUE}` must have a value: null is none"
            raise RecordError(msg)
        return None
    match schema.type:
        case Type.STRUCT:
            return _read_struct(schema, value, path)
        case Type.ARRAY if schema.items is not None:
            items = schema.items
            return [_read(items, item, f"{path}[{number}]") for number, item in enumerate(_list(value, path, "an array"))]
        case Type.MAP if schema.items is not None and schema.keys is not None:
            return _read_map(schema.keys, schema.items, value, path)
    try:
        return _read_leaf(schema, value)
    except (TypeError, ValueError, OverflowError):
        raise RecordError(misfit_of_column(path or _VALUE, schema, value, advise=False)) from None


def _read_struct(schema: Schema, value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        msg = f"{f'the column `{path}`' if path else 'a row'} is an object with its columns by name, and {_kind(value)} is not"
        raise RecordError(msg)
    names = [field.name for field in schema.fields]
    inner = {name: f"{path}.{name}" if path else name for name in (*names, *value)}
    for name in value:
        if name not in names:
            msg = f"there is no column `{inner[name]}`; there are {', '.join(names)}"
            raise RecordError(msg)
    for name in names:
        if name not in value:
            msg = f"the column `{inner[name]}` is left out: write null where it has no value"
            raise RecordError(msg)
    return {field.name: _read(field.schema, value[field.name], inner[field.name]) for field in schema.fields}


def _read_map(keys: Schema, items: Schema, value: Any, path: str) -> dict[Any, Any]:
    if keys.type is Type.STRING:
        if not isinstance(value, dict):
            msg = f"the column `{path or _VALUE}` is an object, and {_kind(value)} is not"
            raise RecordError(msg)
        return {key: _read(items, item, f"{path}.{key}") for key, item in value.items()}
    pairs = _list(value, path, "an array of pairs")
    found = {}
    for number, pair in enumerate(pairs):
        key, item = _pair(pair, f"{path}[{number}]")
        found[_read(keys, key, f"{path}[{number}]")] = _read(items, item, f"{path}[{number}]")
    if len(found) < len(pairs):
        msg = f"the column `{path or _VALUE}` has a key twice"
        raise RecordError(msg)
    return found


def _pair(value: Any, path: str) -> Sequence[Any]:
    if isinstance(value, list) and len(value) == 2:
        return value
    msg = f"the column `{path}` is a pair [key, value], and {_kind(value)} is not"
    raise RecordError(msg)


def _list(value: Any, path: str, needed: str) -> list[Any]:
    if isinstance(value, list):
        return value
    msg = f"the column `{path or _VALUE}` is {needed}, and {_kind(value)} is not"
    raise RecordError(msg)


def _kind(value: object) -> str:
    kinds = {bool: "a truth value", str: "text", dict: "an object", list: "an array"}
    return kinds.get(type(value), "a number")


def _read_leaf(schema: Schema, value: Any) -> Any:
    """Raises TypeError, ValueError, OverflowError: it does not fit."""
    kind = schema.type
    if kind in TEXTS:
        is_number = kind is Type.DECIMAL and isinstance(value, int | Decimal) and not isinstance(value, bool)
        return read_text(schema, str(value) if is_number else _of(str, value))
    if kind in WHOLE:
        least, most = WHOLE[kind]
        if least <= (number := _whole(value)) <= most:
            return number
        raise OverflowError
    if kind in (Type.FLOAT32, Type.FLOAT64):
        return _float(kind, value)
    return _of(bool if kind is Type.BOOLEAN else str, value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _float(kind: Type, value: Any) -> float:
    if isinstance(value, bool) or not (isinstance(value, int | Decimal) or value in _NO_NUMBERS):
        raise TypeError
    number = float(value)
    if math.isinf(number) and value not in _NO_NUMBERS:
        raise OverflowError
    if kind is Type.FLOAT32 and math.isfinite(number):
        struct.pack("<f", number)
    return number


def _of(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError
    return value
