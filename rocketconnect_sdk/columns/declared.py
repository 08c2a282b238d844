"""Columns as users write them in an option: "id:int64, name, price:decimal(10,2)"."""

import re
from collections.abc import Mapping
from dataclasses import replace

from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.schema import DIGITS, Schema, Type, Unit, decimal, struct, timestamp

TYPES: Mapping[str, Schema] = {
    "string": Schema(Type.STRING),
    "boolean": Schema(Type.BOOLEAN),
    **{f"{sign}int{bits}": Schema(Type(f"{sign}int{bits}")) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float": Schema(Type.FLOAT32),
    "double": Schema(Type.FLOAT64),
    "bytes": Schema(Type.BYTES),
    "date": Schema(Type.DATE),
    "time": Schema(Type.TIME),
    **{f"time({unit.value})": Schema(Type.TIME, unit=unit) for unit in Unit},
    "timestamp": timestamp(),
    **{f"timestamp({unit.value})": timestamp(unit) for unit in Unit},
    "timestamp_ntz": timestamp(zone=False),
    **{f"timestamp_ntz({unit.value})": timestamp(unit, zone=False) for unit in Unit},
    "uuid": Schema(Type.UUID),
    "json": Schema(Type.JSON),
}
"""The names of types, and what they stand for. Besides there is decimal(digits, digits behind the point)."""

_ROWS_FIX = (
    "Name the columns of JSON objects: columns=id:int64,name. Or give sources and sinks of the topic a value.converter that "
    "carries types: json, arrow, or avro, json_schema or protobuf with a registry. For the one column, set transforms=row, "
    "transforms.row.type=hoist_field and transforms.row.field=value."
)
INFER = "infer"
"""What a source of files says in the place of columns whose types it finds itself."""

_PLAIN = [name for name in TYPES if "(" not in name]
DOC = (
    f"name:type, separated by commas; a name alone is a string. Types: {', '.join(_PLAIN)}, decimal(digits,digits behind the "
    "point). time, timestamp and timestamp_ntz take ms, us or ns in brackets; without, us."
)
_DECIMAL = re.compile(r"decimal\(\s*([0-9]{1,2})\s*,\s*([0-9]{1,2})\s*\)")
_COMMA = re.compile(r",(?![^()]*\))")
"""Not within brackets."""


def parse_columns(text: str) -> Schema:
    """A struct of optional fields, in the order of the text.

    Raises:
        ValueError: says what is wrong.
    """
    fields: list[tuple[str, Schema]] = []
    for part in filter(None, map(str.strip, _COMMA.split(text))):
        name, colon, kind = (piece.strip() for piece in part.rpartition(":"))
        name, kind = (name, kind) if colon else (kind, "string")
        schema = TYPES.get(kind) or _decimal(kind)
        if not name or schema is None:
            msg = f"{part!r} is not name:type with one of the types {', '.join(TYPES)}, decimal(digits,digits behind the point)"
            raise ValueError(msg)
        if any(name == other for other, _ in fields):
            msg = f"the column {name!r} is there twice"
            raise ValueError(msg)
        fields.append((name, replace(schema, optional=True)))
    return struct(fields)


def write_columns(schema: Schema) -> str:
    """The text that stands for the fields of a struct; those whose names no text can have are left out.

    Args:
        schema: Fields of the types that this option has.
    """
    return ",".join(_written(field.name, type_name(field.schema)) for field in schema.fields if is_writable(field.name))


def type_name(schema: Schema | None) -> str:
    """A type as people write it: as this option has it; what has parts, which this option has not, by its kind and their types."""
    match schema:
        case None:
            return "nothing"
        case Schema(type=Type.DECIMAL):
            return f"decimal({schema.precision},{schema.scale})"
        case Schema(type=Type.STRUCT):
            return schema.type.value
        case Schema(type=Type.ARRAY):
            return f"array of {type_name(schema.items)}"
        case Schema(type=Type.MAP):
            return f"map of {type_name(schema.keys)} to {type_name(schema.items)}"
        case _:
            return _NAMES[_of_name(schema)]


def _of_name(schema: Schema) -> tuple[Type, Unit | None, bool]:
    """What of a schema makes it a type of another name."""
    is_timed = schema.type in (Type.TIME, Type.TIMESTAMP)
    return schema.type, schema.unit if is_timed else None, is_timed and schema.zone


_NAMES = {_of_name(named): name for name, named in list(TYPES.items())[::-1]}
"""The shortest name of each type."""


def is_nameable(schema: Schema) -> bool:
    """Whether this option has such a type."""
    return schema.type not in (Type.STRUCT, Type.ARRAY, Type.MAP)


def is_writable(name: str) -> bool:
    """Whether a column can have this name here."""
    # Behind a comma, too: a bracket in it may belong to what stands before.
    return _has_names(f",{name}:json", [name])


def _written(name: str, kind: str) -> str:
    return name if kind == "string" and _has_names(name, [name]) else f"{name}:{kind}"


def _has_names(text: str, names: list[str]) -> bool:
    try:
        return [field.name for field in parse_columns(text).fields] == names
    except ValueError:
        return False


def _decimal(kind: str) -> Schema | None:
    found = _DECIMAL.fullmatch(kind)
    if found is None:
        return None
    precision, scale = int(found[1]), int(found[2])
    if not 1 <= precision <= DIGITS or scale > precision:
        msg = f"{kind} has not 1 to {DIGITS} digits, of which at most all are behind the point"
        raise ValueError(msg)
    return decimal(scale, precision=precision)


def given_columns(text: str) -> Schema | None:
    """Columns that need not be given; None: they are not. Raises as parse_columns does."""
    return parse_columns(text) if text else None


def columns_problem(text: str) -> str | None:
    """What is wrong with columns, for Option.check."""
    if text.strip() == INFER:
        return (
            "is for a file_source, which finds types in its file: a sink has to be told its columns "
            f"({INFER}:string is a column of that name)"
        )
    try:
        parse_columns(text)
    except ValueError as error:
        return str(error)
    return None


def columns_option(doc: str, example: str = "") -> Option:
    """The option `columns` with this beginning of its text; `example` as in Option."""
    return Option("columns", f"{doc} {DOC}", default="", check=columns_problem, fix=f"Write {DOC}", example=example)


def no_rows_problem(target: str) -> Problem:
    """What is wrong with a sink of tables that is given no columns, and whose converter reads no rows; for Sink.without_rows.

    Args:
        target: What is written, for people: "the table".
    """
    reason = f"is not given, and value.converter reads no rows: {target} would have one column, value, with the whole of each value"
    return Problem("columns", "", reason, _ROWS_FIX)
