"""What changes rows of tables and is not in the log: partitions that come, go or are emptied, columns, other tables in their place.

The log has no statements that define things, and no TRUNCATE of a partition where changes of partitions are those of their root.
What the catalogue says of the tables is looked at now and then, and what differs is told.
"""

import time
from collections.abc import Collection, Iterator
from typing import LiteralString, NamedTuple

import psycopg
from psycopg.rows import TupleRow

from connectors.postgres_cdc_source.logical.connection import ask
from connectors.postgres_cdc_source.streaming import LogReader
from connectors.postgres_cdc_source.tables import Name
from rocketconnect_sdk.changes.unseen import Unseen
from rocketconnect_sdk.context import TaskContext

_SHAPES: LiteralString = """
SELECT n.nspname, c.relname, c.oid::bigint,
  (SELECT array_agg(array[a.attnum::text, a.attname, format_type(a.atttypid, a.atttypmod), (a.attnotnull OR a.atthasdef)::text])
   FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''),
  (SELECT array_agg(array[l.oid::text, l.oid::regclass::text, coalesce(pg_relation_filenode(l.oid), 0)::text,
     -- One that was made as a partition has had its rows through its root, and so in the log.
     (SELECT (i.xmin <> y.xmin)::text FROM pg_inherits i, pg_type y WHERE i.inhrelid = l.oid AND y.oid = l.reltype LIMIT 1),
     (l.relkind = 'r' AND l.relpersistence = 'p')::text])
   FROM pg_partition_tree(c.oid) t JOIN pg_class l ON l.oid = t.relid WHERE t.isleaf AND c.relkind = 'p'),
  coalesce(pg_relation_filenode(c.oid), 0)::bigint,
  pg_current_wal_lsn() - '0/0'::pg_lsn
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND (n.nspname, c.relname) IN (SELECT * FROM unnest(%s::text[], %s::text[]))
"""


_PAUSE = 20
"""How many times as long as it takes to look it waits until it looks again."""


class _Column(NamedTuple):
    name: str
    type: str
    has_values: bool
    """Where it is new, rows that are there may have values of it."""


class _Leaf(NamedTuple):
    name: str
    file: str
    attached: bool
    logged: bool


class _Shape(NamedTuple):
    """What the catalogue says of a table: its columns by their numbers, its partitions by theirs."""

    oid: int
    file: int
    columns: dict[str, _Column]
    leaves: dict[str, _Leaf]


class _Found(NamedTuple):
    """What is to be told of a table when the log is read up to there, unless the log has that all of it was emptied."""

    name: Name
    what: str
    lsn: int
    is_truncation: bool


class Shapes:
    """What is known of the tables, and tells what changed of them. Used by one thread.

    Args:
        context: Of the task.
    """

    def __init__(self, context: TaskContext) -> None:
        self._unseen = Unseen(context.log, context.connector)
        self._known: dict[Name, _Shape] = {}
        self._found: list[_Found] = []
        self._next = 0.0

    def look(self, control: psycopg.Connection[TupleRow], names: Collection[Name], log: LogReader | None = None) -> None:
        """Looks at tables, and tells what differs; those that are seen for the first time are as they are.

        Of many tables it takes long: it then looks less often than it is called.

        Args:
            control: To the database.
            names: The tables.
            log: What reads the log, of which differences are told up to the place where it is; None: it is not read yet.
        """
        begun = time.monotonic()
        if begun < self._next:
            return
        rows = ask(control, _SHAPES, [[name.schema for name in names], [name.table for name in names]])
        for schema, table, oid, columns, leaves, file, lsn in rows:
            name = Name(schema, table)
            shape = _Shape(
                oid,
                file,
                {number: _Column(text, kind, values == "true") for number, text, kind, values in columns or ()},
                {
                    number: _Leaf(text, file, attached == "true", logged == "true")
                    for number, text, file, attached, logged in leaves or ()
                },
            )
            before = self._known.get(name)
            told = [] if before is None else list(_differences(before, shape))
            told += [(what, False) for what in _unlogged(shape) if before is None or what not in _unlogged(before)]
            self._found += [_Found(name, what, int(lsn), is_truncation) for what, is_truncation in told]
            self._known[name] = shape
        self._next = time.monotonic() + _PAUSE * (time.monotonic() - begun)
        if log is not None:
            self._tell(log)

    def _tell(self, log: LogReader) -> None:
        ripe = [each for each in self._found if each.lsn <= log.place]
        self._found = [each for each in self._found if each.lsn > log.place]
        for found in ripe:
            # Where the log has that all of a table was emptied, its partitions were.
            if not (found.is_truncation and found.name in log.truncated):
                self._unseen.tell(str(found.name), found.what, "")
        if not self._found:
            log.truncated.clear()
        self._unseen.flush()


def _unlogged(shape: _Shape) -> list[str]:
    """Partitions of which the log has nothing."""
    leaves = [leaf.name for leaf in shape.leaves.values() if not leaf.logged]
    return [f"the partition {name} is unlogged or foreign, so that its changes are in no log" for name in leaves]


def _columns(before: _Shape, now: _Shape) -> Iterator[str]:
    for number, column in before.columns.items():
        if number not in now.columns:
            yield f"the column {column.name} was dropped"
        elif now.columns[number][:2] != column[:2]:
            yield f"the column {column.name} was altered"
    for number, column in now.columns.items():
        if number not in before.columns and column.has_values:
            yield f"the column {column.name} was added with values for the rows that are there"


def _differences(before: _Shape, now: _Shape) -> Iterator[tuple[str, bool]]:
    """How rows may have changed, and whether that is as where the whole table is emptied."""
    if before.oid != now.oid:
        yield "another table of this name is there (DROP and CREATE, or RENAME)", False
        return
    if columns := list(_columns(before, now)):
        yield from ((what, False) for what in columns)
    elif before.file != now.file:
        yield "it was written anew (ALTER TABLE, CLUSTER, VACUUM FULL)", True
    for number, leaf in before.leaves.items():
        if number not in now.leaves:
            yield f"the partition {leaf.name} was dropped or detached", False
        elif now.leaves[number].file != leaf.file:
            yield f"the partition {leaf.name} was emptied or written anew (TRUNCATE, ALTER TABLE, VACUUM FULL)", True
    for number, leaf in now.leaves.items():
        if number not in before.leaves and leaf.attached:
            yield f"the partition {leaf.name} was attached with the rows that it has", False
