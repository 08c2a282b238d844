"""What a database has that was written, as it is meant."""

import json
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.schema import Schema, Type
from tests.connectors.jdbc_sink.conftest import Target

_NESTED = (Type.JSON, Type.STRUCT, Type.ARRAY, Type.MAP)
_SELECTED = {
    # Else it is shown with six digits.
    **{(kind, Type.FLOAT32): "CAST({} AS DOUBLE)" for kind in ("mariadb", "oceanbase")},
    **dict.fromkeys([("postgres", kind) for kind in _NESTED], "{}::text"),
}


def rows(target: Target, table: str, columns: Schema) -> list[tuple[Any, ...]]:
    """All columns but the id of its rows, in the order of their ids."""
    wanted = [field for field in columns.fields if field.name != "id"]
    of = {"postgres": _of_postgres, "sqlite": _of_sqlite}.get(target.kind, _of_mariadb)
    names = [_SELECTED.get((target.kind, field.schema.type), "{}").format(field.name) for field in wanted]
    return [
        tuple(None if value is None else of(value, field.schema) for value, field in zip(row, wanted, strict=True))
        for row in target.run(f'SELECT {", ".join(names)} FROM "{table}" ORDER BY id')
    ]


def exact(value: Any, schema: Schema, *, signed_zeros: bool) -> Any:
    """A value so that it equals another one where nothing of it is lost."""
    if schema.type in (Type.FLOAT32, Type.FLOAT64) and not signed_zeros:
        value += 0.0
    match schema.type:
        case Type.FLOAT32:
            return struct.pack("!f", value)
        case Type.FLOAT64:
            return struct.pack("!d", value)
        case Type.UUID:
            return UUID(str(value))
        case Type.DECIMAL:
            return Decimal(value)
        case kind if kind in _NESTED:
            return json.loads(json.dumps(json.loads(value) if isinstance(value, str) else value, default=str, sort_keys=True))
        case _:
            return value


def _of_postgres(value: Any, schema: Schema) -> Any:
    if schema.type is Type.UINT64:
        return int(value)
    return bytes(value) if isinstance(value, memoryview) else value


def _of_mariadb(value: Any, schema: Schema) -> Any:
    match schema.type:
        case Type.BOOLEAN:
            return bool(value)
        case Type.TIME if isinstance(value, timedelta):
            return (datetime(1970, 1, 1) + value).time()  # noqa: DTZ001 - no zone
        case Type.TIMESTAMP if schema.zone:
            return value.replace(tzinfo=UTC)
        case _:
            return value


def _of_sqlite(value: Any, schema: Schema) -> Any:
    read = _SQLITE.get(schema.type)
    return value if read is None else read(value)


_SQLITE: Mapping[Type, Callable[[Any], Any]] = {
    Type.BOOLEAN: bool,
    Type.DECIMAL: Decimal,
    Type.UINT64: int,
    Type.DATE: date.fromisoformat,
    Type.TIME: time.fromisoformat,
    Type.TIMESTAMP: datetime.fromisoformat,
}


def column_types(target: Target, table: str) -> dict[str, str]:
    """By name the types of a table's columns, as its database writes them."""
    query = {
        "postgres": "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        f"WHERE attrelid = '\"{table}\"'::regclass AND attnum > 0",
        "sqlite": f"SELECT name, type FROM pragma_table_info('{table}')",
    }.get(
        target.kind,
        "SELECT column_name, column_type FROM information_schema.columns "
        f"WHERE table_schema = DATABASE() AND table_name = '{table}'",
    )
    return dict(target.run(query))


def said(schema: Schema) -> str:
    """A type in words."""
    match schema.type:
        case Type.DECIMAL:
            return f"decimal({schema.precision},{schema.scale})"
        case Type.TIME:
            return f"time of {schema.unit.value}"
        case Type.TIMESTAMP:
            return f"timestamp of {schema.unit.value} {'with' if schema.zone else 'without'} a zone"
        case Type.ARRAY if schema.items is not None:
            return f"array of {said(schema.items)}"
        case Type.STRING if schema.length:
            return f"string of {schema.length}"
        case kind:
            return type_name(schema) if kind in (Type.FLOAT32, Type.FLOAT64) else str(kind.value)
