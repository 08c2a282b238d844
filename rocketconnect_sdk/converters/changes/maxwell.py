"""Maxwell: the JSON of Zendesk's Maxwell, a row in each message.

https://maxwells-daemon.io/dataformat/
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rocketconnect_sdk.changes.envelope import Operation
from rocketconnect_sdk.converters.base import Converter, Decoded
from rocketconnect_sdk.converters.changes.envelopes import (
    Change,
    Told,
    change_of,
    json_of,
    names_in,
    number_in,
    object_of,
    only,
    parted,
    text_in,
)
from rocketconnect_sdk.converters.json.forms import Decimals, Form
from rocketconnect_sdk.converters.json.values import Values
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type

_TOOL = "Maxwell"
_OPERATIONS = {
    "insert": Operation.CREATE,
    "update": Operation.UPDATE,
    "delete": Operation.DELETE,
    "bootstrap-insert": Operation.READ,
}
_TYPES = {operation: kind for kind, operation in _OPERATIONS.items()} | {Operation.READ: "insert"}
_FORM = Form(Decimals.NUMERIC, is_plain=True)


class MaxwellConverter(Converter):
    """Changes of rows of MySQL in the JSON of Maxwell: each is a change, as `mysql_cdc_source` sends it, without types.

    Definitions (DDL) and the beginning and end of a bootstrap are left out.
    """

    name = "maxwell"
    for_keys = False
    several = True

    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        """The change of a message that has one."""
        records, schema = self.records(data)
        return only(records), schema

    def records(self, data: bytes) -> tuple[Sequence[Decoded], Schema | None]:
        """See Converter: one, two where the row got another key, or none."""
        told, changes = _read(object_of(data, _TOOL))
        return [told.record(change) for change in changes], None

    def alone(self, data: bytes, row: int) -> bytes:
        """See Converter."""
        message = object_of(data, _TOOL)
        _, changes = _read(message)
        if len(changes) == 1:
            return data
        change = changes[row]
        kept = {name: each for name, each in message.items() if name not in ("data", "old", "type", "primary_key")}
        kind, of_row = _TYPES[change.operation], change.before if change.after is None else change.after
        return json_of({**kept, "type": kind, "data": of_row})

    def encode(self, value: object, schema: Schema | None) -> bytes:
        """A message with this change."""
        change, source, read_ms = change_of(value, _TOOL)
        if change.operation is Operation.TRUNCATE:
            msg = "Maxwell has no word for a table that was emptied (op t): leave such changes out with a filter"
            raise RecordError(msg)
        known = {} if schema is None else {field.name: field.schema for field in schema.fields}
        columns = known.get("after") if known.keys() >= {"op", "before", "after"} else schema
        before, after = change.before, change.after
        row = before if after is None else after
        message: dict[str, Any] = {
            "database": source.get("db") or "",
            "table": source.get("table") or "",
            "type": _TYPES[change.operation],
            "ts": (source.get("ts_ms") or read_ms) // 1_000,
            "data": _raw(row or {}, columns, change.unchanged),
        }
        if change.operation is Operation.UPDATE and before is not None and after is not None:
            unchanged = [name for name in before if name in change.unchanged or before[name] == after.get(name)]
            message["old"] = _raw(before, columns, unchanged)
        return msgspec.json.encode(message)


def _raw(row: Mapping[str, Any], columns: Schema | None, without: Sequence[str]) -> msgspec.Raw:
    """A row as JSON, without some of its columns."""
    kept = {name: value for name, value in row.items() if name not in without}
    if columns is None:
        return msgspec.Raw(Values(None, _FORM).encode(kept))
    fields = tuple(field for field in columns.fields if field.name in kept)
    return msgspec.Raw(Values(Schema(Type.STRUCT, fields=fields), _FORM).encode(kept))


def _read(message: Mapping[str, Any]) -> tuple[Told, Sequence[Change]]:
    kind = text_in(message, "type", _TOOL)
    key = names_in(message, "primary_key_columns")
    if kind not in _OPERATIONS:
        return Told("maxwell", "", "", 0, 0), ()
    database, table = text_in(message, "database", _TOOL), text_in(message, "table", _TOOL)
    made_ms = number_in(message, "ts") * 1_000
    told = Told("maxwell", database, table, made_ms, made_ms, key)
    row, old = message.get("data"), message.get("old")
    if not isinstance(row, dict) or not (old is None or isinstance(old, dict)):
        msg = f"no message of {_TOOL}: its {'old' if isinstance(row, dict) else 'data'} is no row"
        raise RecordError(msg)
    match operation := _OPERATIONS[kind]:
        case Operation.DELETE:
            return told, [Change(operation, row, None)]
        case Operation.UPDATE:
            # Only what has changed stands in old.
            return told, parted(Change(operation, None if old is None else {**row, **old}, row), key)
    return told, [Change(operation, None, row)]
