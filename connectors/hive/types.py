"""Types as Hive has them.

| schema                                       | Hive                                                      |
|----------------------------------------------|-----------------------------------------------------------|
| uint8, uint16, uint32, uint64                | smallint, int, bigint, decimal(20,0)                      |
| decimal of up to 38 digits, longer ones      | decimal; string, all of their digits                      |
| time, and timestamps of nanoseconds          | bigint: so many of their unit since midnight or 1970      |
| timestamp with a zone, without one           | timestamp: in UTC, as it is                               |
| uuid, json                                   | string                                                    |
| bytes                                        | binary                                                    |
| all others                                   | the type of the same name                                 |

Pure.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import DIGITS, Field, Schema, Type, Unit, text, timestamp

_PLAIN: Mapping[Type, str] = {
    Type.BOOLEAN: "boolean",
    Type.INT8: "tinyint",
    Type.INT16: "smallint",
    Type.INT32: "int",
    Type.INT64: "bigint",
    Type.UINT8: "smallint",
    Type.UINT16: "int",
    Type.UINT32: "bigint",
    Type.UINT64: "decimal(20,0)",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.STRING: "string",
    Type.BYTES: "binary",
    Type.DATE: "date",
    Type.TIME: "bigint",
    Type.UUID: "string",
    Type.JSON: "string",
}
_NAMED: Mapping[str, Type] = {
    "boolean": Type.BOOLEAN,
    "tinyint": Type.INT8,
    "smallint": Type.INT16,
    "int": Type.INT32,
    "integer": Type.INT32,
    "bigint": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "string": Type.STRING,
    "binary": Type.BYTES,
    "date": Type.DATE,
}
_NAME = re.compile(r"\w+")
_TOKEN = re.compile(r"\s*([<>(),:]|[^<>(),:\s]+)")
_SIGNS = frozenset("<>(),:")
_PARTITIONING = frozenset({"boolean", "tinyint", "smallint", "int", "integer", "bigint", "string", "date"})
_TEXTS = ("varchar", "char")


def hive_type(schema: Schema) -> str:
    """The type of a column for values of a schema."""
    match schema.type:
        case Type.STRUCT:
            return f"struct<{','.join(f'{each.name}:{hive_type(each.schema)}' for each in schema.fields)}>"
        case Type.ARRAY if schema.items is not None:
            return f"array<{hive_type(schema.items)}>"
        case Type.MAP if schema.items is not None and schema.keys is not None:
            return f"map<{hive_type(schema.keys)},{hive_type(schema.items)}>"
        case Type.DECIMAL:
            return f"decimal({schema.precision},{schema.scale})" if schema.precision <= DIGITS else "string"
        case Type.TIMESTAMP:
            return "bigint" if schema.unit is Unit.NANOSECONDS else "timestamp"
    return _PLAIN[schema.type]


def schema_of(kind: str) -> Schema:
    """The schema of a column of a type; it takes nulls.

    Raises:
        ValueError: no schema stands for the type.
    """
    tokens = _TOKEN.findall(kind.lower())
    found, rest = _parsed(tokens)
    if rest:
        raise _unknown(kind)
    return found


def lowered(schema: Schema) -> Schema:
    """The same with names as Hive has them, in lower case.

    Raises:
        RecordError: two names become one, or one of them is none for Hive.
    """
    names = [each.name.lower() for each in schema.fields]
    for name in names:
        if not _NAME.fullmatch(name):
            msg = f"{name!r} is no name of a column of Hive: letters, digits and underscores. Rename it with a transform"
            raise RecordError(msg)
    if doubled := next((name for name in names if names.count(name) > 1), None):
        msg = (
            f"there are two fields {doubled}, as Hive makes no difference between upper and lower case. Rename one with a transform"
        )
        raise RecordError(msg)
    fields = tuple(Field(name, lowered(each.schema)) for name, each in zip(names, schema.fields, strict=True))
    return replace(schema, fields=fields, items=None if schema.items is None else lowered(schema.items))


def met(column: Schema, field: Schema) -> Schema:
    """The type of a column as values of a field are compared with it and fitted to it.

    A timestamp has no zone of its own; whole numbers have times that are counted; and text has numbers that are too long.
    """
    if column.type is field.type is Type.TIMESTAMP:
        return replace(column, zone=field.zone)
    counted = field.type is Type.TIME or (field.type is Type.TIMESTAMP and field.unit is Unit.NANOSECONDS)
    is_long = field.type is Type.DECIMAL and field.precision > DIGITS
    if (column.type is Type.INT64 and counted) or (column.type is Type.STRING and is_long):
        return replace(field, optional=True, default=None)
    if column.type is not field.type:
        return column
    if column.type is Type.STRUCT:
        there = {each.name: each.schema for each in field.fields}
        fields = (
            Field(each.name, met(each.schema, there[each.name]) if each.name in there else each.schema) for each in column.fields
        )
        return replace(column, fields=tuple(fields))
    if column.items is not None and field.items is not None:
        return replace(column, items=met(column.items, field.items))
    return column


def partitions_by(kind: str) -> bool:
    """Whether a table can be partitioned by a column of this type."""
    return kind in _PARTITIONING or kind.startswith(_TEXTS)


def _parsed(tokens: list[str]) -> tuple[Schema, list[str]]:
    match tokens:
        case ["array", "<", *rest]:
            items, rest = _parsed(rest)
            return Schema(Type.ARRAY, optional=True, items=items), _after(rest, ">")
        case ["map", "<", *rest]:
            keys, rest = _parsed(rest)
            items, rest = _parsed(_after(rest, ","))
            return Schema(Type.MAP, optional=True, keys=replace(keys, optional=False), items=items), _after(rest, ">")
        case ["struct", "<", *rest]:
            return _struct(rest)
    return _leaf(tokens)


def _leaf(tokens: list[str]) -> tuple[Schema, list[str]]:
    match tokens:
        case ["decimal", "(", precision, ",", scale, ")", *rest] if precision.isdecimal() and scale.isdecimal():
            return Schema(Type.DECIMAL, optional=True, precision=int(precision), scale=int(scale)), rest
        case ["decimal", "(", precision, ")", *rest] if precision.isdecimal():
            return Schema(Type.DECIMAL, optional=True, precision=int(precision)), rest
        case ["decimal", *rest]:
            return Schema(Type.DECIMAL, optional=True, precision=10), rest
        case ["varchar" | "char", "(", length, ")", *rest] if length.isdecimal():
            return text(int(length), optional=True), rest
        case ["timestamp", *rest]:
            return timestamp(zone=True, optional=True), rest
        case [name, *rest] if name in _NAMED:
            return Schema(_NAMED[name], optional=True), rest
    raise _unknown(" ".join(tokens[:3]))


def _struct(tokens: list[str]) -> tuple[Schema, list[str]]:
    fields: list[Field] = []
    while tokens and tokens[0] != ">":
        name, *rest = _after(tokens, ",") if fields else tokens
        if name in _SIGNS:
            raise _unknown(name)
        schema, tokens = _parsed(_after(rest, ":"))
        fields.append(Field(name, schema))
    return Schema(Type.STRUCT, optional=True, fields=tuple(fields)), _after(tokens, ">")


def _after(tokens: list[str], sign: str) -> list[str]:
    if not tokens or tokens[0] != sign:
        raise _unknown(" ".join(tokens[:3]))
    return tokens[1:]


def _unknown(kind: str) -> ValueError:
    return ValueError(f"no type of Hive that a schema stands for: {kind}")
