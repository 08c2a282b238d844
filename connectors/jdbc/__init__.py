"""Databases over SQL: one dialect for each kind, shared by the connectors that read and write tables."""

from typing import TYPE_CHECKING

from connectors.jdbc.dialect import Dialect, Fault, Table
from connectors.jdbc.endpoint import Endpoint, parse_url

if TYPE_CHECKING:
    from connectors.jdbc.reading.dialect import Reading

__all__ = ["Dialect", "Endpoint", "Fault", "Table", "dialect_of", "parse_url", "reading_of"]


def dialect_of(place: Endpoint) -> Dialect:
    """The dialect of a database. Each needs packages that only whoever connects to it has to load."""
    match place.kind:
        case "postgres":
            from connectors.jdbc.postgres import Postgres

            return Postgres()
        case "mysql":
            from connectors.jdbc.mysql import Mysql

            return Mysql()
        case "oceanbase":
            from connectors.jdbc.oceanbase import Oceanbase

            return Oceanbase()
        case _:
            from connectors.jdbc.sqlite import Sqlite

            return Sqlite()


def reading_of(place: Endpoint) -> "Reading":
    """How rows of a database are read."""
    match place.kind:
        case "postgres":
            from connectors.jdbc.reading.postgres import PostgresReading

            return PostgresReading()
        case "mysql" | "oceanbase":
            from connectors.jdbc.reading.mysql import MysqlReading

            return MysqlReading()
        case _:
            from connectors.jdbc.reading.sqlite import SqliteReading

            return SqliteReading()
