"""Tables: which are captured, and what they look like now."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from connectors.mysql_cdc_source.binlog.definitions import column_facts
from connectors.mysql_cdc_source.binlog.row_reading.column import Column
from connectors.mysql_cdc_source.binlog.row_reading.column import Type as Stored
from connectors.mysql_cdc_source.binlog.row_reading.table_map import TableMap
from connectors.mysql_cdc_source.binlog.server import Connection, rows_of
from connectors.mysql_cdc_source.binlog.values.charsets import BINARY
from connectors.mysql_cdc_source.columns import schema_of
from rocketconnect_sdk.configuration.patterns import compiled, matches_any
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Field, Schema, Type

_SYSTEM = frozenset({"mysql", "information_schema", "performance_schema", "sys"})
_TABLES = "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')"
_COLUMNS = """
SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, IS_NULLABLE = 'YES', NUMERIC_PRECISION, NUMERIC_SCALE,
       DATETIME_PRECISION, CHARACTER_OCTET_LENGTH, GENERATION_EXPRESSION
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION
"""
_KEY = """
SELECT COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND CONSTRAINT_NAME = 'PRIMARY' ORDER BY ORDINAL_POSITION
"""
_PERIOD = ("ROW START", "ROW END")
HIDDEN_PERIOD = ("row_start", "row_end")
"""The columns with the time of the rows of a table WITH SYSTEM VERSIONING whose definition names none."""
_STORED = {
    "tinyint": Stored.TINY,
    "smallint": Stored.SHORT,
    "mediumint": Stored.INT24,
    "int": Stored.LONG,
    "bigint": Stored.LONGLONG,
    "float": Stored.FLOAT,
    "double": Stored.DOUBLE,
    "decimal": Stored.NEWDECIMAL,
    "date": Stored.DATE,
    "time": Stored.TIME2,
    "datetime": Stored.DATETIME2,
    "timestamp": Stored.TIMESTAMP2,
    "year": Stored.YEAR,
    "char": Stored.STRING,
    "binary": Stored.STRING,
    "varchar": Stored.VARCHAR,
    "varbinary": Stored.VARCHAR,
    "bit": Stored.BIT,
    "enum": Stored.ENUM,
    "set": Stored.SET,
    "json": Stored.JSON,
    "vector": Stored.VECTOR,
    "uuid": Stored.STRING,
    "inet4": Stored.STRING,
    "inet6": Stored.STRING,
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob"), Stored.BLOB),
    **dict.fromkeys(("geometry", "point", "linestring", "polygon", "multipoint", "multilinestring"), Stored.GEOMETRY),
    **dict.fromkeys(("multipolygon", "geometrycollection", "geomcollection"), Stored.GEOMETRY),
}


class Name(NamedTuple):
    """Of a table."""

    database: str
    table: str

    def __str__(self) -> str:
        """As filters see it."""
        return f"{self.database}.{self.table}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table at some time.

    Attributes:
        name: Its name.
        columns: Those that are captured; all have names.
        key: The names of the columns of its primary key; empty: it has none.
        period: The columns with the time of its rows, which are not captured, if it has any (WITH SYSTEM VERSIONING).
    """

    name: Name
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    period: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        """The type of its rows."""
        return Schema(Type.STRUCT, fields=tuple(Field(str(column.name), schema_of(column)) for column in self.columns))

    def place(self, name: str) -> int:
        """Of a column among its columns."""
        return next(place for place, column in enumerate(self.columns) if column.name == name)


class Filter:
    """What is captured: databases, tables, columns.

    Args:
        databases: Regular expressions for whole names of databases; empty: all but those of the server itself.
        include: For whole names database.table; empty: all.
        exclude: The same, of those that are not.
        columns: For whole names database.table.column that are not.
    """

    def __init__(
        self, databases: Sequence[str] = (), include: Sequence[str] = (), exclude: Sequence[str] = (), columns: Sequence[str] = ()
    ) -> None:
        each = (databases, include, exclude, columns)
        self._databases, self._include, self._exclude, self._columns = (list(map(compiled, patterns)) for patterns in each)

    @classmethod
    def of(cls, config: Config) -> "Filter":
        """As configured."""
        return cls(config["database.include"], config["table.include"], config["table.exclude"], config["column.exclude"])

    def takes(self, database: str, table: str) -> bool:
        """Whether a table is captured."""
        name = f"{database}.{table}"
        if not self.takes_any(database):
            return False
        return (not self._include or matches_any(self._include, name)) and not matches_any(self._exclude, name)

    def takes_any(self, database: str) -> bool:
        """Whether tables of a database may be captured."""
        return database not in _SYSTEM and (not self._databases or matches_any(self._databases, database))

    def takes_column(self, name: Name, column: str) -> bool:
        """Whether a column of a table that is captured is, too."""
        return not matches_any(self._columns, f"{name}.{column}")


def names(connection: Connection, chosen: Filter) -> list[Name]:
    """The tables that are there, that the user may see and that are captured, in order."""
    return sorted(Name(*row) for row in rows_of(connection, _TABLES) if chosen.takes(*row))


def now(connection: Connection, name: Name, chosen: Filter) -> Table | None:
    """A table as it is now; None: it is not there (any more)."""
    rows = rows_of(connection, _COLUMNS, *name)
    listed = {row[0] for row in rows}
    period = tuple(row[0] for word in _PERIOD for row in rows if (row[-1] or "").upper() == word)
    if not period and listed.isdisjoint(HIDDEN_PERIOD):
        # Those that no definition names are hidden, and a part of the key all the same.
        period = HIDDEN_PERIOD
    columns = tuple(_column(name, row[:-1]) for row in rows if row[0] not in period and chosen.takes_column(name, row[0]))
    key = [column for (column,) in rows_of(connection, _KEY, *name) if column not in period]
    return Table(name, columns, _key(key, columns), period) if columns else None


def as_logged(table: TableMap, chosen: Filter, period: Sequence[int] = ()) -> tuple[Table, tuple[int, ...]]:
    """A table as it was when its rows were written, and which of the log's columns it has.

    Args:
        table: What the log says of it.
        chosen: What is captured.
        period: Which of its columns have the time of its rows.

    Raises:
        PermanentError: the log does not say what its columns are.
    """
    name = Name(table.schema, table.table)
    if table.missing and any(column.name is None for column in table.columns):
        msg = (
            f"the log does not say the names and types of the columns of {name}: SET GLOBAL binlog_row_metadata = 'FULL', and in "
            "the server's configuration, then take a new snapshot: what was written before cannot be read safely"
        )
        raise PermanentError(msg)
    places = tuple(
        place for place, column in enumerate(table.columns) if place not in period and chosen.takes_column(name, str(column.name))
    )
    columns = tuple(table.columns[place] for place in places)
    key = [str(table.columns[part.column].name) for part in table.primary_key if part.column not in period]
    return Table(name, columns, _key(key, columns)), places


def _key(key: Iterable[str], columns: Sequence[Column]) -> tuple[str, ...]:
    """A key of which a column is left out is none."""
    key, held = tuple(key), {column.name for column in columns}
    return key if held.issuperset(key) else ()


def _column(name: Name, row: tuple[Any, ...]) -> Column:
    column, kind, column_type, charset, nullable, precision, scale, digits, size = row
    stored = _STORED.get(kind.lower())
    if stored is None:
        msg = f"the column {name}.{column} has the type {column_type}, which is unknown; leave it out with column.exclude"
        raise PermanentError(msg)
    facts = column_facts(column, kind, column_type, charset)
    limited = stored in {Stored.STRING, Stored.VARCHAR} and facts.extension is None and "COMPRESSED" not in column_type.upper()
    return Column(
        stored,
        # As the log has it.
        length=int(size or 0) if limited else 0,
        precision=int(precision or 0),
        scale=int(digits or 0) if digits is not None else int(scale or 0),
        nullable=bool(nullable),
        name=column,
        unsigned=facts.unsigned,
        charset=facts.charset or (BINARY if stored in {Stored.STRING, Stored.VARCHAR, Stored.BLOB} else None),
        extension=facts.extension,
    )
