"""The rows of tables, read back for comparisons."""

import json
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

from connectors.clickhouse.client import Client
from connectors.clickhouse.endpoint import Version, literal, quoted
from connectors.clickhouse.places import EXACT_ENGINES
from connectors.clickhouse.tables import Table
from connectors.clickhouse.types import Column
from connectors.jdbc.values import to_column, to_rows
from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.tables.reader import Reader, floor, micros_of
from rocketconnect_sdk.tables.values import shown_bytes
from rocketconnect_sdk.verification import ReadRows

_MOMENTS: Version = (20, 5)
"""Before this version times are whole seconds."""


class ClickHouseReader(Reader[Column, Table]):
    """See Reader.

    Args:
        client: The server.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def ordered(self, column: Column) -> str:
        """See Reader. A UUID and an Enum have an order of their own there."""
        name = quoted(column.name)
        is_other = column.schema.type is Type.UUID or (column.schema.type is Type.STRING and column.kind != "String")
        return f"toString({name})" if is_other else name

    def literal(self, value: int | str | Decimal, column: Column) -> str:
        """See Reader. A number with a point would be a Float64 there."""
        schema = column.schema
        match schema.type:
            case Type.TIMESTAMP:
                return self._moment(micros_of(str(value)))
            case Type.DATE:
                return f"CAST('{date.fromisoformat(str(value))}' AS {column.kind})"
            case Type.DECIMAL:
                return f"CAST('{floor(value, schema.scale):f}' AS {column.kind})"
            case Type.STRING | Type.UUID:
                return literal(str(value))
        return f"({floor(value, 0):f})"

    def rows(self, table: Table, tail: str) -> ReadRows:
        """See Reader. Engines that replace, collapse or add up rows show what has become of them behind FINAL."""
        selected = ", ".join(readable(quoted(each.name), each.schema, each.kind) for each in table.columns)
        becomes = " FINAL" if table.engine.endswith("MergeTree") and table.engine not in EXACT_ENGINES else ""
        found = self._client.texts(f"SELECT {selected} FROM {self._client.place.table(table.name)}{becomes} {tail}")  # noqa: S608  # quoted
        return to_rows(found or [[] for _ in table.columns], Schema(Type.STRUCT, fields=table.fields), _column)

    def _moment(self, micros: int) -> str:
        if self._client.version < _MOMENTS:
            return f"toDateTime({micros // 1_000_000}, 'UTC')"
        return f"fromUnixTimestamp64Micro(toInt64({micros}), 'UTC')"


def readable(column: str, schema: Schema, kind: str = "") -> str:
    """What is selected of a column: a text that connectors.jdbc.values reads, of an array one of the digits of such texts."""
    if schema.type is Type.ARRAY:
        return f"toString({_digits(column, schema, 1)})"
    if kind.startswith("AggregateFunction("):
        return f"toString(finalizeAggregation({column}))"
    if schema.type is Type.BOOLEAN:
        return f"toString(toUInt8({column}))"
    text = f"toString({column}, 'UTC')" if schema.type is Type.TIMESTAMP else f"toString({column})"
    # So servers of 2018 write the first day.
    return f"replaceOne({text}, '0000-00-00', '1970-01-01')" if schema.type in (Type.DATE, Type.TIMESTAMP) else text


def _digits(column: str, schema: Schema, depth: int) -> str:
    if schema.items is None:
        return f"hex({readable(column, schema)})"
    return f"arrayMap(x{depth} -> {_digits(f'x{depth}', schema.items, depth + 1)}, {column})"


def _column(values: Sequence[Any], schema: Schema) -> tuple[pa.Array, Mapping[int, str]]:
    if schema.type is Type.ARRAY:
        texts = values.to_pylist() if isinstance(values, pa.Array) else values
        return _lists([json.loads(_json(each)) for each in texts], schema)
    if schema.type is Type.STRING and isinstance(values, pa.Array):
        # A String may be any bytes.
        return shown_bytes(values), {}
    return to_column(values, schema)


def _json(text: str | bytes) -> str:
    """An array of hexadecimal digits, as the server writes it: no digit is a quote or one of NULL."""
    plain = text.decode() if isinstance(text, bytes) else text
    return plain.replace("'", '"').replace("NULL", "null")


def _lists(values: Sequence[list[Any]], schema: Schema) -> tuple[pa.Array, Mapping[int, str]]:
    items = schema.items or Schema(Type.STRING)
    flat = [each for value in values for each in value]
    parents = [row for row, value in enumerate(values) for _ in value]
    if items.type is Type.ARRAY:
        made, bad = _lists(flat, items)
    else:
        made, bad = _column(pa.array([None if each is None else bytes.fromhex(each) for each in flat], pa.binary()), items)
    ends = [0]
    for value in values:
        ends.append(ends[-1] + len(value))
    kind = to_arrow_type(schema)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), made, type=kind), {parents[at]: why for at, why in bad.items()}
