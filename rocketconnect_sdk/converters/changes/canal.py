"""Canal: the flat JSON that Alibaba's Canal sends to message queues, and TiCDC, Flink CDC and CloudCanal as canal-json.

https://github.com/alibaba/canal, client-adapter and `FlatMessage`; https://docs.pingcap.com/tidb/stable/ticdc-canal-json
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from rocketconnect_sdk.changes.envelope import Operation
from rocketconnect_sdk.configuration import zones
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
from rocketconnect_sdk.converters.changes.mysql_types import name_of, reader, schema_of, text_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.wording.counts import counted

_TOOL = "Canal"
_OPERATIONS = {"INSERT": Operation.CREATE, "UPDATE": Operation.UPDATE, "DELETE": Operation.DELETE}
_TYPES = {operation: kind for kind, operation in _OPERATIONS.items()} | {Operation.READ: "INSERT"}
_MANY = 1_000


class CanalConverter(Converter):
    """Changes of rows of MySQL in the flat JSON of Canal: each row of a message is a change, as `mysql_cdc_source` sends it.

    Definitions (DDL) are left out, but for TRUNCATE. Rows are typed where the message has `mysqlType`, and have texts otherwise.
    """

    name = "canal"
    for_keys = False
    several = True
    options = (
        Option(
            "time.zone",
            "The zone in which the texts of TIMESTAMP columns are: that of Canal's own process.",
            default="UTC",
            check=zones.zone_problem,
            fix=zones.FIX,
        ),
    )

    def __init__(self, config: Config, *, is_key: bool) -> None:
        super().__init__(config, is_key=is_key)
        self._zone = ZoneInfo(config["time.zone"])
        self._columns = lru_cache(_MANY)(self._columns_of)

    def decode(self, data: bytes) -> tuple[object, Schema | None]:
        """The change of a message that has one."""
        records, schema = self.records(data)
        return only(records), schema

    def records(self, data: bytes) -> tuple[Sequence[Decoded], Schema | None]:
        """See Converter."""
        message = object_of(data, _TOOL)
        kind = text_in(message, "type", _TOOL)
        if kind == "TRUNCATE":
            return [_told(message).record(Change(Operation.TRUNCATE, None, None))], None
        if kind not in _OPERATIONS or message.get("isDdl") is True:
            return [], None
        told, rows, types = _told(message), _rows(message, "data"), message.get("mysqlType")
        if isinstance(types, Mapping):
            named = {name for row in rows for name in row}
            types = {name: str(types.get(name, "")) for name in [*(each for each in types if each in named), *named]}
            columns, readers = self._columns(told.database, told.table, tuple(types.items()))
            return [self._typed(told, change, readers) for change in _changes(message, told, rows)], columns
        return [told.record(change) for change in _changes(message, told, rows)], None

    def alone(self, data: bytes, row: int) -> bytes:
        """See Converter."""
        message = object_of(data, _TOOL)
        if message.get("type") not in _OPERATIONS:
            return data
        change = list(_changes(message, _told(message), _rows(message, "data")))[row]
        return json_of({**message, **_of_change(change)})

    def encode(self, value: object, schema: Schema | None) -> bytes:
        """A message with this change alone."""
        change, source, read_ms = change_of(value, _TOOL)
        known = {} if schema is None else {field.name: field.schema for field in schema.fields}
        row_schema = known.get("after") if known.keys() >= {"op", "before", "after"} else schema
        types = {} if row_schema is None else {field.name: field.schema for field in row_schema.fields}
        before, after = (
            None if row is None else self._texts(row, types, change.unchanged) for row in (change.before, change.after)
        )
        texts = Change(change.operation, before, after)
        of_columns = {name: name_of(types[name]) for name in types if name not in change.unchanged}
        is_truncate = change.operation is Operation.TRUNCATE
        message = {
            "id": 0,
            "database": source.get("db") or "",
            "table": source.get("table") or "",
            "pkNames": None,
            "isDdl": is_truncate,
            "type": "TRUNCATE" if is_truncate else _TYPES[change.operation],
            "es": source.get("ts_ms") or read_ms,
            "ts": read_ms,
            "sql": "",
            "sqlType": {name: number for name, (_, number) in of_columns.items()} or None,
            "mysqlType": {name: kind for name, (kind, _) in of_columns.items()} or None,
        }
        return json_of({**message, **({"data": None, "old": None} if is_truncate else _of_change(texts))})

    def _texts(self, row: Mapping[str, Any], types: Mapping[str, Schema], unchanged: Sequence[str]) -> dict[str, str | None]:
        try:
            return {name: text_of(value, types.get(name), self._zone) for name, value in row.items() if name not in unchanged}
        except (TypeError, ValueError, OverflowError) as error:
            msg = f"a value can't be written as text: {str(error)[:200]}"
            raise RecordError(msg) from None

    def _columns_of(self, database: str, table: str, types: tuple[tuple[str, str], ...]) -> tuple[Schema, Mapping[str, Any]]:
        fields = tuple(Field(name, schema_of(kind)) for name, kind in types)
        columns = Told("canal", database, table, 0, 0).schema(Schema(Type.STRUCT, fields=fields))
        return columns, {field.name: reader(field.schema, self._zone) for field in fields}

    def _typed(self, told: Told, change: Change, readers: Mapping[str, Any]) -> Decoded:
        try:
            before, after = (None if row is None else _read(row, readers) for row in (change.before, change.after))
        except RecordError as error:
            return Decoded(error)
        unchanged = () if after is None else [name for name in readers if name not in after]
        filled = None if after is None else {**dict.fromkeys(unchanged), **after}
        earlier = None if before is None else {**dict.fromkeys(readers), **before}
        return told.record(Change(change.operation, earlier, filled, unchanged))


def _told(message: Mapping[str, Any]) -> Told:
    database, table = text_in(message, "database", _TOOL), text_in(message, "table", _TOOL)
    return Told("canal", database, table, number_in(message, "es"), number_in(message, "ts"), names_in(message, "pkNames"))


def _rows(message: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    rows = message.get(name)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        msg = f"no message of {_TOOL}: its {name} is no list of rows"
        raise RecordError(msg)
    return rows


def _changes(message: Mapping[str, Any], told: Told, rows: Sequence[Mapping[str, Any]]) -> Iterable[Change]:
    operation = _OPERATIONS[message["type"]]
    old = _rows(message, "old") if operation is Operation.UPDATE and message.get("old") is not None else []
    if old and len(old) != len(rows):
        msg = f"no message of {_TOOL}: it has {counted(rows, 'row')} in data, and {counted(old, '')} in old"
        raise RecordError(msg)
    for number, row in enumerate(rows):
        match operation:
            case Operation.CREATE:
                yield Change(operation, None, row)
            case Operation.DELETE:
                yield Change(operation, row, None)
            case _:
                # Only what has changed stands in old.
                yield from parted(Change(operation, {**row, **old[number]} if old else None, row), told.key)


def _of_change(change: Change) -> dict[str, Any]:
    """What says so in a message."""
    before, after = change.before, change.after
    if after is None:
        return {"type": "DELETE", "data": [before], "old": None}
    if change.operation is not Operation.UPDATE:
        return {"type": "INSERT", "data": [after], "old": None}
    old = None if before is None else [{name: was for name, was in before.items() if was != after.get(name)}]
    return {"type": "UPDATE", "data": [after], "old": old}


def _read(row: Mapping[str, Any], readers: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, written in row.items():
        try:
            found[name] = None if written is None else readers[name](written if isinstance(written, str) else str(written))
        except (ValueError, OverflowError) as error:
            msg = f"the column {name} has no value of its type: {str(error)[:200]}"
            raise RecordError(msg) from None
    return found
