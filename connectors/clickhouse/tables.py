"""Tables that are there."""

from collections.abc import Sequence
from dataclasses import dataclass

from connectors.clickhouse.client import Client
from connectors.clickhouse.endpoint import literal
from connectors.clickhouse.types import Column, column_of
from rocketconnect_sdk.tables import columns

_COMPUTED = ("MATERIALIZED", "ALIAS", "EPHEMERAL")


@dataclass(frozen=True, slots=True)
class Table(columns.Table[Column]):
    """A table.

    Attributes:
        engine: Its engine, without arguments.
        places: Its columns that say which record a row is, where they are not among the others.
    """

    engine: str
    places: Sequence[str] = ()


def table_of(client: Client, name: str) -> Table | None:
    """A table, or None where there is none that the user sees. Raises as Client.run."""
    database, table = (literal(part) for part in client.place.parts(name))
    engines = client.rows(f"SELECT engine FROM system.tables WHERE database = {database} AND name = {table}")  # noqa: S608  # literals
    if not engines:
        return None
    there = "name, type, default_kind, is_in_partition_key OR is_in_sorting_key"
    rows = client.rows(f"SELECT {there} FROM system.columns WHERE database = {database} AND table = {table}")  # noqa: S608  # literals
    found = [
        column_of(column, kind, has_default=bool(default), in_key=bool(in_key))
        for column, kind, default, in_key in rows
        if default not in _COMPUTED
    ]
    return Table(name, found, engines[0][0])
