"""Fields within fields: `address.city`. A name with a dot in it stands in backquotes: `address.`zip.code``."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.schema import Schema, Type

Path = tuple[str, ...]
PATHS = "with dots between them fields within fields: after.secret"
"""What options say of names that may be paths."""

_STEP = re.compile(r"`([^`]+)`|([^.`]+)")

SYNTAX = Option(
    "field.syntax.version",
    "V2: dots lead into structs, and a name that has dots itself stands in backquotes. V1: the text is the name as it is, "
    "which by Kafka Connect's class names is the default.",
    default="V2",
    choices=("V2", "V1"),
)
"""As Kafka Connect has it, whose default is V1; by its class names that is the default here, too."""


def read_path(text: str, syntax: str = "V2") -> Path:
    """The names of a path.

    Raises:
        ValueError: it is none.
    """
    if syntax == "V1":
        return (text,)
    names: list[str] = []
    end = -1
    for step in _STEP.finditer(text):
        if step.start() != end + 1 or (end >= 0 and text[end] != "."):
            break
        names.append(step[1] or step[2])
        end = step.end()
    if end != len(text):
        msg = "is no path: names with dots between them, those that have dots themselves in backquotes"
        raise ValueError(msg)
    return tuple(names)


def path_problem(text: str) -> str | None:
    """What is wrong with a path, for Option.check."""
    try:
        read_path(text)
    except ValueError as error:
        return str(error)
    return None


FIELD = Option(
    "field",
    "The field; with dots between them fields within fields: after.id.",
    required=True,
    check=path_problem,
    fix="Write for instance id, or after.id.",
    example="id",
)


def written(path: Path) -> str:
    """A path as a user would write it."""
    return ".".join(f"`{name}`" if "." in name else name for name in path)


def schema_at(schema: Schema, path: Path, *, optional: bool = False) -> Schema:
    """The schema of what is there; optional where anything on the way is, or where that is said of the beginning.

    Raises:
        RecordError: there is no such field.
    """
    for depth, name in enumerate(path):
        if schema.type is not Type.STRUCT:
            raise _no_struct(path[:depth], type_name(schema))
        found = next((field.schema for field in schema.fields if field.name == name), None)
        if found is None:
            raise _missing(path[: depth + 1], [field.name for field in schema.fields])
        schema = found
        optional = optional or schema.optional
    return replace(schema, optional=True) if optional and not schema.optional else schema


def value_at(value: object, path: Path, schema: Schema | None) -> Any:
    """What is there; None where something on the way is.

    Raises:
        RecordError: there is no such field. With a schema, schema_at says so.
    """
    for depth, name in enumerate(path):
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise _no_struct(path[:depth], type(value).__name__)
        if name not in value and schema is None:
            raise _missing(path[: depth + 1], list(value))
        value = value.get(name)
    return value


def array_at(array: Any, path: Path) -> Any:
    """What is there, of an Arrow array of structs."""
    for name in path:
        array = array.flatten()[array.type.get_field_index(name)]
    return array


def _missing(path: Path, names: list[str]) -> RecordError:
    there = ", ".join(map(str, names))[:200] or "none"
    return RecordError(f"there is no field {written(path)}; those that are there: {there}")


def _no_struct(path: Path, what: str) -> RecordError:
    where = f"the field {written(path)}" if path else "the record"
    return RecordError(f"{where} is no struct with fields, but {what}")
