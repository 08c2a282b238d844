"""JSON objects without a schema as rows of a table, or as change envelopes of such rows. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pyarrow as pa

from rocketconnect_sdk.columns.objects import of_another, rows_of_bytes, rows_of_values
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.evolution import nullable
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.spark.types import to_spark
from rocketconnect_sdk.targets.changes import ENVELOPE, ORIGIN
from rocketconnect_sdk.targets.fitted import keyed

_Object = dict[str, Any] | None

_decode = msgspec.json.Decoder().decode


def read_values(values: pa.Array, table: Schema, key: Sequence[str]) -> tuple[pa.StructArray, Schema, dict[int, str]]:
    """Texts as rows of the columns that they name, or as change envelopes with such rows.

    Columns that none of them names keep their default; other fields are left out. Of the row before a change only its key is
    looked at: nothing else of it is needed, whatever it has.

    Args:
        values: JSON objects; a null stays one. One that has the fields of an envelope makes all of them envelopes.
        table: The columns of the table.
        key: Those of its key; they are always there, as a deletion has no row behind it. Empty: rows have none.

    Returns:
        As many structs in the types that Spark has for them, their schema, and by index what is wrong with those that are none.
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
    if any(each is not None and each.keys() >= ENVELOPE for each in objects):
        made, schema = _envelopes(objects, table, key, reasons)
    else:
        whole = values if not values.null_count and not reasons else None
        made, schema = _rows(objects, table, reasons, whole)
    return to_spark(made), replace(schema, optional=True), reasons


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


def _envelopes(objects: list[_Object], table: Schema, key: Sequence[str], reasons: dict[int, str]) -> tuple[pa.StructArray, Schema]:
    for index, each in enumerate(objects):
        if each is not None and not each.keys() >= ENVELOPE:
            reasons[index], objects[index] = "the value is no change envelope, and others of its batch are", None
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
    return made, Schema(Type.STRUCT, fields=fields)


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
        found = _decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        msg = f"the value has no schema and is not JSON: {error}"
        raise RecordError(msg) from None
    if not isinstance(found, dict):
        msg = "the value has no schema and is no JSON object"
        raise RecordError(msg)
    return found
