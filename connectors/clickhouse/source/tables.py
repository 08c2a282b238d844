"""What is to be read, and what is wrong with it."""

from collections.abc import Iterator
from dataclasses import dataclass

from connectors.clickhouse.client import Client
from connectors.clickhouse.source.rows import Target
from connectors.clickhouse.tables import table_of
from connectors.clickhouse.types import Column, digits_of
from connectors.jdbc_source.place import Order
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.schema import WHOLE, Field, Schema, Type

_MICROSECONDS = 6


@dataclass(frozen=True, slots=True)
class TableSettings:
    """What a configuration says.

    Attributes:
        incrementing: The column of numbers that grow; empty: there is none.
        timestamp: The column of times; empty: there is none.
        key: The columns of keys, which tell rows of the same time or number apart.
    """

    incrementing: str
    timestamp: str
    key: tuple[str, ...]


def look(client: Client, wanted: TableSettings, name: str) -> tuple[Target | None, list[Problem]]:
    """A table as it is read, and what is wrong with it. Raises as Client.rows."""
    table = table_of(client, name)
    if table is None:
        return None, [Problem("tables", name, f"is no table of {client.place} that the user sees", "Correct the name.")]
    columns = {each.name: each for each in table.columns}
    problems = list(_problems(wanted, name, columns))
    if problems:
        return None, problems
    # An array is the text of it.
    fields = [Field(each.name, Schema(Type.STRING) if each.schema.type is Type.ARRAY else each.schema) for each in table.columns]
    schemas = {each.name: each.schema for each in fields}
    keys = tuple(dict.fromkeys([*([wanted.incrementing] if wanted.incrementing else []), *wanted.key]))
    order = Order(wanted.timestamp, keys, tuple(schemas[each] for each in keys))
    key = Schema(Type.STRUCT, fields=tuple(Field(each, schemas[each]) for each in wanted.key)) if wanted.key else None
    return Target(name, Schema(Type.STRUCT, fields=tuple(fields)), key, order), []


def _problems(wanted: TableSettings, name: str, columns: dict[str, Column]) -> Iterator[Problem]:
    told = [("incrementing.column.name", wanted.incrementing), ("timestamp.column.name", wanted.timestamp)]
    told += [("key.columns", each) for each in wanted.key]
    for option, given in told:
        if not given:
            continue
        if given not in columns:
            yield Problem(option, given, f"is no column of {name}: there are {', '.join(columns)}", "Name one of them.")
        elif columns[given].schema.optional:
            yield Problem(
                option, given, f"of {name} may be null, and rows with a null are not read", "Name one that is not Nullable."
            )
        elif reason := _misfit(option, columns[given]):
            yield Problem(option, given, f"of {name} {reason}", "Name another column.")


def _misfit(option: str, column: Column) -> str:
    kind = column.schema.type
    if option == "incrementing.column.name":
        return "" if kind in WHOLE else f"is {column.kind}, and no whole number"
    if option == "timestamp.column.name":
        if kind is not Type.TIMESTAMP:
            return f"is {column.kind}, and no DateTime"
        return "is finer than microseconds, which positions have" if digits_of(column.kind) > _MICROSECONDS else ""
    return "" if Order.takes([column.schema]) else f"is {column.kind}, by which rows are not told apart here"
