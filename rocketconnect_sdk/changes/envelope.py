"""The schemas of changes, with the names of Debezium's envelope. Pure.

https://debezium.io/documentation/reference/stable/connectors/mysql.html#mysql-events
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from rocketconnect_sdk.evolution import nullable
from rocketconnect_sdk.schema import STRING, Field, Schema, Type, struct


class Operation(StrEnum):
    """What happened to a row."""

    CREATE = "c"
    UPDATE = "u"
    DELETE = "d"
    READ = "r"
    """It was there when a snapshot was taken."""
    TRUNCATE = "t"
    """All rows of the table are gone."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where changes come from.

    Attributes:
        connector: The kind of database: "mysql", "mariadb", "postgresql".
        server: What the database is called; by default the name of the connector.
        database: The database.
        schema: The schema in it; empty: databases have none.
        table: The table.
    """

    connector: str
    server: str
    database: str
    schema: str
    table: str

    @property
    def name(self) -> str:
        """Of the types of its rows, without their last part."""
        return ".".join(filter(None, (self.server, self.schema or self.database, self.table)))

    @property
    def constants(self) -> dict[str, str]:
        """What is the same in all changes of the table."""
        schema = {"schema": self.schema} if self.schema else {}
        return {"connector": self.connector, "name": self.server, "db": self.database, **schema, "table": self.table}


INT64 = Schema(Type.INT64)
TRANSACTION = struct([("id", STRING), ("total_order", INT64), ("data_collection_order", INT64)], name="event.block", optional=True)
UNCHANGED = Schema(Type.ARRAY, optional=True, items=STRING)


def row(origin: Origin, columns: Schema) -> Schema:
    """The type of a row after a change."""
    return replace(columns, optional=True, name=f"{origin.name}.Value")


def source(origin: Origin, more: Schema) -> Schema:
    """The type of the field source.

    Args:
        origin: Of the changes.
        more: What the kind of database adds: a struct.
    """
    constants = [(name, STRING) for name in origin.constants]
    made = struct([*constants, ("snapshot", STRING), ("ts_ms", INT64)], name=f"io.debezium.connector.{origin.connector}.Source")
    return replace(made, fields=(*made.fields, *more.fields))


def envelope(origin: Origin, columns: Schema, more: Schema) -> Schema:
    """The type of changes.

    The fields of before may be null: a database may tell only those of the key. `unchanged` names the columns of `after` whose
    values the database did not tell, since they did not change; they are null there. ts_ms is when the change was read, that of
    source when it was made.

    Args:
        origin: Of the changes.
        columns: Of the table: a struct.
        more: See source.
    """
    after = row(origin, columns)
    return struct(
        [
            ("before", replace(nullable(after), optional=True, name=after.name)),
            ("after", after),
            ("source", source(origin, more)),
            ("transaction", TRANSACTION),
            ("op", STRING),
            ("ts_ms", INT64),
            ("unchanged", UNCHANGED),
        ],
        name=f"{origin.name}.Envelope",
    )


def key_of(origin: Origin, columns: Schema, key: Sequence[str], *, nullable: bool = False) -> Schema | None:
    """The type of keys: a struct of these columns, which may be null in it if they may in the table; None: the table has none."""
    if not key:
        return None
    types = {field.name: field.schema for field in columns.fields}
    fields = tuple(Field(name, types[name] if nullable else replace(types[name], optional=False)) for name in key)
    return Schema(Type.STRUCT, name=f"{origin.name}.Key", fields=fields)
