"""Publications: which tables' changes a slot gives.

https://www.postgresql.org/docs/current/sql-createpublication.html
"""

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from psycopg.rows import TupleRow

from connectors.postgres_cdc_source.logical.connection import ask, quoted, run

Table = tuple[str, str]
"""Schema and name."""

_PUBLICATION = "SELECT puballtables, pubinsert, pubupdate, pubdelete, pubtruncate FROM pg_publication WHERE pubname = %s"
_TABLES = "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s"
_MEMBERS = """
SELECT n.nspname, c.relname FROM pg_publication_rel m JOIN pg_publication p ON p.oid = m.prpubid
JOIN pg_class c ON c.oid = m.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE p.pubname = %s
"""
_PART = "SELECT attnames::text[], rowfilter FROM pg_publication_tables WHERE pubname = %s AND schemaname = %s AND tablename = %s"
_FIRST_WITH_PARTS = 150_000
_OPERATIONS = ("insert", "update", "delete", "truncate")


@dataclass(frozen=True, slots=True)
class Publication:
    """A publication as it is.

    Attributes:
        name: Its name.
        all_tables: It has every table, also those that come later.
        tables: Those that it has now.
        left_out: The operations that it leaves out: insert, update, delete, truncate.
    """

    name: str
    all_tables: bool
    tables: frozenset[Table]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """What a publication has of a table.

    Attributes:
        columns: The names of its columns.
        condition: Which of its rows, in SQL; empty: all.
    """

    columns: frozenset[str]
    condition: str


def part_of(connection: psycopg.Connection[TupleRow], name: str, table: Table) -> Part | None:
    """What a publication has of a table; None: it lacks the table, or has all of any.

    PostgreSQL before 15 has no such lists and filters.
    """
    if connection.info.server_version < _FIRST_WITH_PARTS:
        return None
    rows = ask(connection, _PART, [name, *table])
    return Part(frozenset(rows[0][0]), rows[0][1] or "") if rows else None


def inspect_publication(connection: psycopg.Connection[TupleRow], name: str) -> Publication | None:
    """A publication; None: there is none of this name."""
    rows = ask(connection, _PUBLICATION, [name])
    if not rows:
        return None
    tables = frozenset((schema, table) for schema, table in ask(connection, _TABLES, [name]))
    left_out = tuple(word for word, published in zip(_OPERATIONS, rows[0][1:], strict=True) if not published)
    return Publication(name, rows[0][0], tables, left_out)


def create_publication(connection: psycopg.Connection[TupleRow], name: str, tables: Sequence[Table] | None) -> None:
    """Makes a publication of some tables, or of all that there are and will be, which only superusers may.

    Changes of partitions are those of the partitioned table, as its name and its columns.

    Raises:
        PermanentError: it cannot be made; there is one of this name.
    """
    whose = " FOR ALL TABLES" if tables is None else f" FOR TABLE {_list(tables)}" if tables else ""
    run(connection, f"CREATE PUBLICATION {quoted(name)}{whose} WITH (publish_via_partition_root = true)".encode())


def add_tables(connection: psycopg.Connection[TupleRow], name: str, tables: Sequence[Table]) -> None:
    """Gives a publication these tables, too; of those that it has it keeps lists of columns and filters of rows.

    Raises:
        PermanentError: the role may not, or a table is not there.
    """
    members = set(ask(connection, _MEMBERS, [name]))
    if missing := [table for table in tables if tuple(table) not in members]:
        run(connection, f"ALTER PUBLICATION {quoted(name)} ADD TABLE {_list(missing)}".encode())


def drop_publication(connection: psycopg.Connection[TupleRow], name: str) -> None:
    """Removes a publication; nothing happens if there is none."""
    run(connection, f"DROP PUBLICATION IF EXISTS {quoted(name)}".encode())


def shown(table: Table) -> str:
    """A table as SQL names it."""
    return f"{quoted(table[0])}.{quoted(table[1])}"


def _list(tables: Sequence[Table]) -> str:
    return ", ".join(map(shown, tables))
