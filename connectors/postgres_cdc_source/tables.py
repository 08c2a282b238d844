"""Tables: which are captured, and what they look like now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import LiteralString, NamedTuple

import psycopg
from psycopg.rows import TupleRow

from connectors.postgres_cdc_source.logical.catalog import Catalog
from connectors.postgres_cdc_source.logical.connection import ask
from connectors.postgres_cdc_source.logical.publications import part_of
from connectors.postgres_cdc_source.logical.types import PgType
from connectors.postgres_cdc_source.logical.wire.events import Relation
from rocketconnect_sdk.configuration.patterns import compiled, matches_any
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.schema import Field, Schema, Type

_TABLES: LiteralString = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p'
AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' ORDER BY 1, 2
"""
_COLUMNS: LiteralString = """
SELECT a.attname, a.atttypid::bigint, a.atttypmod, c.relkind = 'p' FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum
"""
# Where another index is the replica identity, old rows have only its columns. Columns that an index only carries along are no key.
_KEY: LiteralString = """
SELECT a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN unnest(i.indkey::int2[]) WITH ORDINALITY AS k(number, place) ON k.place <= i.indnkeyatts
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
WHERE n.nspname = %s AND c.relname = %s AND CASE c.relreplident WHEN 'i' THEN i.indisreplident ELSE i.indisprimary END
ORDER BY k.place
"""
_IS_FULL: LiteralString = """
SELECT c.relreplident = 'f' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s
"""


class Name(NamedTuple):
    """Of a table."""

    schema: str
    table: str

    def __str__(self) -> str:
        """As filters see it."""
        return f"{self.schema}.{self.table}"


class Column(NamedTuple):
    """A column that is captured."""

    name: str
    type: PgType


@dataclass(frozen=True, slots=True)
class Table:
    """A table at some time.

    Attributes:
        name: Its name.
        columns: Those that are captured.
        key: The names of the columns of its primary key; empty: it has none, or not all of them are captured.
        partitioned: Its rows are in its partitions.
        condition: Which of its rows the publication has, in SQL; empty: all.
    """

    name: Name
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    partitioned: bool = False
    condition: str = ""

    @property
    def schema(self) -> Schema:
        """The type of its rows."""
        return Schema(Type.STRUCT, fields=tuple(Field(column.name, column.type.schema) for column in self.columns))


class Filter:
    """What is captured.

    Args:
        include: Regular expressions for whole names schema.table; empty: all.
        exclude: The same, of those that are not.
        columns: For whole names schema.table.column that are not.
        publication: Whose lists of columns and filters of rows hold; empty: no log is read.
    """

    def __init__(self, include: Sequence[str], exclude: Sequence[str], columns: Sequence[str], publication: str = "") -> None:
        self.publication = publication
        self._include, self._exclude, self._columns = (list(map(compiled, each)) for each in (include, exclude, columns))

    @classmethod
    def of(cls, config: Config) -> "Filter":
        """As configured."""
        publication = config["publication.name"] if config["snapshot.mode"] != "only" else ""
        return cls(config["table.include"], config["table.exclude"], config["column.exclude"], publication)

    def takes(self, name: Name) -> bool:
        """Whether a table is captured."""
        text = str(name)
        return (not self._include or matches_any(self._include, text)) and not matches_any(self._exclude, text)

    def takes_column(self, name: Name, column: str) -> bool:
        """Whether a column of it is."""
        return not matches_any(self._columns, f"{name}.{column}")


def names(connection: psycopg.Connection[TupleRow], chosen: Filter) -> list[Name]:
    """The tables that are captured, in their order."""
    return [name for row in ask(connection, _TABLES) if chosen.takes(name := Name(*row))]


def key_of(connection: psycopg.Connection[TupleRow], name: Name) -> tuple[str, ...]:
    """The columns of a table's key as it is now, in the order of the key."""
    return tuple(column for (column,) in ask(connection, _KEY, name))


def now(connection: psycopg.Connection[TupleRow], catalog: Catalog, name: Name, chosen: Filter) -> Table | None:
    """A table as it is now, as far as the publication has its columns and rows; None: it is gone.

    Raises:
        PermanentError: the publication leaves a column of its key out.
    """
    rows = ask(connection, _COLUMNS, name)
    if not rows:
        return None
    key = key_of(connection, name)
    part = part_of(connection, chosen.publication, name) if chosen.publication else None
    if part is not None and (lacking := [column for column in key if column not in part.columns]):
        msg = (
            f"the publication {chosen.publication} has {name} without {', '.join(lacking)} of its key: the server refuses to "
            "update and delete its rows, and changes would have half a key. Let its list of columns have the whole key"
        )
        raise PermanentError(msg)
    columns = [
        Column(column, catalog.resolve(oid, mod))
        for column, oid, mod, _ in rows
        if chosen.takes_column(name, column) and (part is None or column in part.columns)
    ]
    table = _table(name, columns, key, partitioned=rows[0][3])
    return table if part is None else replace(table, condition=part.condition)


def lacking_in_old_rows(relation: Relation, key: Sequence[str]) -> list[str]:
    """The columns of a key of records that the log does not have of rows before a change."""
    logged = {column.name for column in relation.columns if column.in_key or relation.identity == "f"}
    return [name for name in key if name not in logged]


def lacking_in_identity(connection: psycopg.Connection[TupleRow], name: Name, key: Sequence[str]) -> list[str]:
    """The same, of a table as it is now."""
    rows = ask(connection, _IS_FULL, name) if key else []
    return [] if not rows or rows[0][0] else [column for column in key if column not in key_of(connection, name)]


def told_of_old_rows(name: Name, columns: Sequence[str]) -> str:
    """Why there can't be keys with columns that old rows lack, and what to do."""
    return (
        f"message.key.columns: the log does not have {', '.join(columns)} of the rows of {name} before their changes, so that "
        f'nobody knows which key a deleted row had. Run ALTER TABLE "{name.schema}"."{name.table}" REPLICA IDENTITY FULL'
    )


def as_logged(relation: Relation, key: Sequence[str], chosen: Filter) -> tuple[Table, tuple[int, ...]]:
    """A table as the log has it, and which of the log's columns are captured.

    Args:
        relation: What the log says.
        key: The columns of its primary key now.
        chosen: What is captured.
    """
    name = Name(relation.namespace, relation.name)
    places = tuple(place for place, column in enumerate(relation.columns) if chosen.takes_column(name, column.name))
    columns = [Column(relation.columns[place].name, relation.columns[place].type) for place in places]
    if relation.identity in "di":
        # It says itself what its key was, then.
        logged = {column.name for column in relation.columns if column.in_key}
        key = key if logged == set(key) else [column.name for column in relation.columns if column.in_key]
    return _table(name, columns, key), places


def _table(name: Name, columns: Sequence[Column], key: Sequence[str], *, partitioned: bool = False) -> Table:
    captured = {column.name for column in columns}
    return Table(name, tuple(columns), tuple(key) if captured.issuperset(key) else (), partitioned)
