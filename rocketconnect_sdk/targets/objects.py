"""JSON objects without a schema as rows of a table, or as change envelopes of such rows. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from rocketconnect_sdk.columns.objects import of_another, rows_of_bytes, rows_of_values
from rocketconnect_sdk.converters.json.reading import NotJson, value_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.evolution import nullable
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.spark.types import to_spark
from rocketconnect_sdk.targets.changes import ORIGIN
from rocketconnect_sdk.targets.envelopes import ENVELOPE
from rocketconnect_sdk.targets.fitted import keyed

_Object = dict[str, Any] | None
_WRITTEN: dict[str, Any] = {"op": "r", "before": None}


@dataclass(frozen=True, slots=True)
class Objects:
    """Objects as structs.

    Attributes:
        values: As many, in the types that Spark has for their schema.
        schema: Of the columns that any of them names, and of those that take no null.
        reasons: By index what is wrong with those that are none.
        unnamed: By index the columns of a row that it does not name, and others do; of a row that gets another key all that it does
            not name. What becomes of them is what becomes of a column that none names: an object means the same whatever is beside
            it.
    """

    values: pa.StructArray
    schema: Schema
    reasons: dict[int, str]
    unnamed: Mapping[int, Sequence[str]] = field(default_factory=dict)


def read_values(values: pa.Array, table: Schema, key: Sequence[str]) -> Objects:
    """Texts as rows of the columns that they name, or as change envelopes with such rows.

    Fields that are no columns are left out. Of the row before a change only its key is looked at: nothing else of it is needed,
    whatever it has.

    Args:
        values: JSON objects; a null stays one. One that has the fields of an envelope is one; another one is a row that is
            written.
        table: The columns of the table.
        key: Those of its key; they are always there, as a deletion has no row behind it. Empty: rows have none.
    """
    table = keyed(table, key)
    reasons: dict[int, str] = {}
    objects: list[_Object] = []
    for index, text in enumerate(values.to_pylist()):
        try:
            objects.append(None if text is None else _object(text))
        except RecordError as error:
            objects.append(None)
            reasons[index] = str(error)
    if any(_is_envelope(each) for each in objects):
        changes = [each if each is None or _is_envelope(each) else {**_WRITTEN, "after": each} for each in objects]
        made, schema, columns = _envelopes(changes, table, key, reasons)
        unnamed = _unnamed([None if each is None else each["after"] for each in changes], columns)
        unnamed |= _unnamed([_if_moved(each, key) for each in changes], table)
    else:
        whole = values if not values.null_count and not reasons else None
        made, columns = _rows(objects, table, reasons, whole)
        schema, unnamed = columns, _unnamed(objects, columns)
    return Objects(to_spark(made), replace(schema, optional=True), reasons, unnamed)


def _is_envelope(value: _Object) -> bool:
    return value is not None and value.keys() >= ENVELOPE


def _unnamed(rows: Sequence[object], columns: Schema) -> dict[int, Sequence[str]]:
    # A column that takes no null is told as missing, and not left as it is.
    names = [each.name for each in columns.fields if each.schema.optional]
    found: dict[int, Sequence[str]] = {}
    for index, row in enumerate(rows):
        left = [name for name in names if name not in row] if isinstance(row, dict) else ()
        if left:
            found[index] = left
    return found


def _if_moved(change: _Object, key: Sequence[str]) -> object:
    """The row after a change that gives it another key: it takes along what it has in columns that no value of the batch names."""
    before, after = (change["before"], change["after"]) if change is not None else (None, None)
    if not isinstance(before, dict) or not isinstance(after, dict):
        return None
    return after if any(before.get(name) != after.get(name) for name in key) else None


def origins_of(values: pa.Array) -> list[dict[str, str]]:
    """By text what the source of a change envelope says of its table; nothing where there is none."""
    found = []
    for text in values.to_pylist():
        try:
            source = None if text is None else _object(text).get("source")
        except RecordError:
            source = None
        parts = source if isinstance(source, dict) else {}
        found.append({to: str(parts[of]) for of, to in ORIGIN.items() if parts.get(of) is not None})
    return found


def _envelopes(
    objects: list[_Object], table: Schema, key: Sequence[str], reasons: dict[int, str]
) -> tuple[pa.StructArray, Schema, Schema]:
    """The envelopes, their schema, and that of the rows after the changes."""
    parts: dict[str, list[_Object]] = {"before": [], "after": []}
    for index, each in enumerate(objects):
        for name, rows in parts.items():
            row = None if each is None else each[name]
            if row is not None and not isinstance(row, dict):
                reasons[index], row = f"the field {name} of the change envelope is no JSON object", None
            rows.append(row)
    nothing = pa.array([each is None for each in objects], pa.bool_())
    ops = pa.array([None if each is None else str(each["op"]) for each in objects], pa.string())
    unchanged = pa.array([None if each is None else _names(each.get("unchanged")) for each in objects], pa.list_(pa.string()))
    # The rows after the changes say which columns there are.
    after, columns = _rows(parts["after"], table, reasons, None)
    of_key = replace(table, fields=tuple(each for each in table.fields if each.name in key))
    before = _rows_of([_some(each, key) for each in parts["before"]], of_key, reasons, None)
    text = Schema(Type.STRING, optional=True)
    fields = (
        Field("op", text),
        Field("before", replace(of_key, optional=True)),
        Field("after", replace(columns, optional=True)),
        Field("unchanged", Schema(Type.ARRAY, optional=True, items=text)),
    )
    made = pa.StructArray.from_arrays([ops, before, after, unchanged], [each.name for each in fields], mask=nothing)
    return made, Schema(Type.STRUCT, fields=fields), columns


def _names(names: object) -> list[str] | None:
    return [str(name) for name in names] if isinstance(names, list) and names else None


def _rows(objects: list[_Object], table: Schema, reasons: dict[int, str], texts: pa.Array | None) -> tuple[pa.StructArray, Schema]:
    known = {each.name for each in table.fields}
    for index, each in enumerate(objects):
        if each is not None and known.isdisjoint(each):
            reasons[index], objects[index] = f"it has no schema, and {of_another(list(each), table)}", None
    named = {name for each in objects if each is not None for name in each}
    # A column that takes no null is there, so that it is told which rows lack it.
    columns = replace(table, fields=tuple(each for each in table.fields if each.name in named or not each.schema.optional))
    return _rows_of(objects, columns, reasons, texts), columns


def _rows_of(objects: list[_Object], columns: Schema, reasons: dict[int, str], texts: pa.Array | None) -> pa.StructArray:
    rows = _typed(objects, nullable(columns), reasons, texts)
    nothing = pa.array([each is None for each in objects], pa.bool_())
    return pa.StructArray.from_arrays(rows.flatten(), fields=list(rows.type), mask=nothing)


def _some(row: _Object, names: Sequence[str]) -> _Object:
    return None if row is None else {name: row[name] for name in names if name in row}


def _typed(objects: list[_Object], columns: Schema, reasons: dict[int, str], texts: pa.Array | None) -> pa.StructArray:
    if texts is not None and not reasons:
        made = rows_of_bytes(texts.cast(pa.binary()).to_pylist(), columns)
        if made is not None:
            return made
    try:
        return rows_of_values(objects, columns)
    except RecordError:
        pass
    for index, each in enumerate(objects):
        try:
            rows_of_values([each], columns)
        except RecordError as error:
            reasons[index], objects[index] = str(error), None
    return rows_of_values(objects, columns)


def _object(text: str) -> dict[str, object]:
    try:
        found = value_of(text)
    except NotJson as error:
        msg = f"the value has no schema and is not JSON: {error}"
        raise RecordError(msg) from None
    if not isinstance(found, dict):
        msg = "the value has no schema and is no JSON object"
        raise RecordError(msg)
    return found
