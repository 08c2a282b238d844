"""The columns of an Iceberg table, read from its metadata without Spark."""

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rocketconnect_sdk.schema import Field, Schema, Type, Unit, timestamp

_STATE = re.compile(r"v?(\d+)(?:-[^.]*)?(?:\.gz|\.zstd)?\.metadata\.json(?:\.gz)?")
_PLAIN: Mapping[str, Type] = {
    "boolean": Type.BOOLEAN,
    "int": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "date": Type.DATE,
    "time": Type.TIME,
    "string": Type.STRING,
    # Spark has it as its text.
    "uuid": Type.STRING,
    "binary": Type.BYTES,
}
_TIMES = {
    "timestamp": (Unit.MICROSECONDS, False),
    "timestamptz": (Unit.MICROSECONDS, True),
    "timestamp_ns": (Unit.NANOSECONDS, False),
    "timestamptz_ns": (Unit.NANOSECONDS, True),
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def table_columns(root: Path) -> Schema | None:
    """The columns of the newest state that the directory of a table has; None: there is no table, or it is not known what they are.

    Args:
        root: The directory of the table.
    """
    states = {int(found[1]): path for path in root.glob("metadata/*") if (found := _STATE.fullmatch(path.name))}
    if not states:
        return None
    newest = states[max(states)]
    try:
        data = newest.read_bytes()
        return columns_of(json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data))
    except (OSError, ValueError):
        return None


def columns_of(state: Any) -> Schema | None:
    """The columns that a state of a table has; None: it is not known what they are.

    Args:
        state: As Iceberg's format has it.
    """
    try:
        return _struct(_current(state), optional=False)
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
        # Whoever only looks refuses nothing for a table that others have made in a way of their own.
        return None


def _current(state: Mapping[str, Any]) -> Mapping[str, Any]:
    if "schemas" not in state:
        return dict(state["schema"])
    return dict(next(each for each in state["schemas"] if each["schema-id"] == state["current-schema-id"]))


def _struct(kind: Mapping[str, Any], *, optional: bool) -> Schema:
    fields = (Field(each["name"], _schema_of(each["type"], optional=not each["required"])) for each in kind["fields"])
    return Schema(Type.STRUCT, optional=optional, fields=tuple(fields))


def _schema_of(kind: Any, *, optional: bool) -> Schema:
    if isinstance(kind, str):
        return _plain(kind, optional=optional)
    match kind["type"]:
        case "struct":
            return _struct(kind, optional=optional)
        case "list":
            return Schema(Type.ARRAY, optional=optional, items=_schema_of(kind["element"], optional=not kind["element-required"]))
        case "map":
            keys = _schema_of(kind["key"], optional=False)
            items = _schema_of(kind["value"], optional=not kind["value-required"])
            return Schema(Type.MAP, optional=optional, keys=keys, items=items)
    msg = f"no type of Iceberg that has a schema: {kind['type']}"
    raise ValueError(msg)


def _plain(name: str, *, optional: bool) -> Schema:
    if name in _TIMES:
        unit, zone = _TIMES[name]
        return timestamp(unit, zone=zone, optional=optional)
    if found := _DECIMAL.fullmatch(name):
        return Schema(Type.DECIMAL, optional=optional, precision=int(found[1]), scale=int(found[2]))
    return Schema(Type.BYTES if name.startswith("fixed[") else _PLAIN[name], optional=optional)
