"""What a server, a role and tables need for logical replication, and what of it is missing.

https://www.postgresql.org/docs/current/logical-replication-config.html and
https://www.postgresql.org/docs/current/logical-replication-security.html
"""

from collections.abc import Iterator, Sequence

import psycopg
from psycopg.rows import TupleRow

from connectors.postgres_cdc_source.logical.connection import ask, grant_replication, quoted
from connectors.postgres_cdc_source.logical.publications import Table, inspect_publication, shown
from connectors.postgres_cdc_source.logical.slots import PLUGIN, inspect_slot
from rocketconnect_sdk.errors import Problem

OLDEST = 140_000
_NAMED = 5
"""So many tables are named in one problem."""

_SERVER = """
SELECT current_setting('server_version_num')::int, current_setting('server_version'), current_setting('wal_level'),
       current_setting('server_encoding'), current_user, current_database(),
       (SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user),
       has_database_privilege(current_database(), 'CREATE'),
       current_setting('max_replication_slots')::int, (SELECT count(*) FROM pg_replication_slots),
       current_setting('max_wal_senders')::int, (SELECT count(*) FROM pg_stat_get_wal_senders())
"""
_TABLES = """
SELECT w.schema, w.name, c.relkind, c.relpersistence,
       pg_has_role(c.relowner, 'USAGE'), NOT EXISTS (
           SELECT FROM pg_class p WHERE p.relkind = 'r'
           AND (p.oid = c.oid OR p.oid IN (SELECT relid FROM pg_partition_tree(c.oid)))
           AND NOT CASE p.relreplident
               WHEN 'f' THEN true
               WHEN 'd' THEN EXISTS (SELECT FROM pg_index i WHERE i.indrelid = p.oid AND i.indisprimary AND i.indimmediate)
               WHEN 'i' THEN EXISTS (SELECT FROM pg_index i WHERE i.indrelid = p.oid AND i.indisreplident)
               ELSE false END)
FROM unnest(%s::text[], %s::text[]) AS w(schema, name)
LEFT JOIN pg_namespace n ON n.nspname = w.schema LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.name
ORDER BY 1, 2
"""


def problems(
    connection: psycopg.Connection[TupleRow], slot: str, publication: str, tables: Sequence[Table], *, in_use: bool = False
) -> list[Problem]:
    """Everything that is missing, at once, each with the statement that helps.

    Args:
        connection: As the role that is to replicate; it needs no right for this.
        slot: The slot. One that is not there can be made.
        publication: The publication. One that is not there can be made.
        tables: The tables whose changes are wanted.
        in_use: It is our own slot, which may be active.
    """
    return [
        *_server_problems(connection, slot),
        *_slot_problems(connection, slot, in_use=in_use),
        *_table_problems(connection, publication, tables),
    ]


def keyless(connection: psycopg.Connection[TupleRow], tables: Sequence[Table]) -> list[Table]:
    """Those of the tables that the server would refuse to update, were they published."""
    found = ask(connection, _TABLES, [[table[0] for table in tables], [table[1] for table in tables]])
    return [(row[0], row[1]) for row in found if row[2] is not None and not row[5]]


def _server_problems(connection: psycopg.Connection[TupleRow], slot: str) -> Iterator[Problem]:
    number, version, level, encoding, role, _, may_replicate, _, slots, used_slots, senders, used_senders = ask(
        connection, _SERVER
    )[0]
    if number < OLDEST:
        yield Problem("", version, "PostgreSQL is older than 14", "Upgrade the server.")
    if level != "logical":
        fix = "As a superuser run ALTER SYSTEM SET wal_level = 'logical', and restart the server."
        yield Problem("wal_level", level, "the server's log has not what logical decoding needs", fix)
    if encoding == "SQL_ASCII":
        yield Problem("server_encoding", encoding, "texts of the database have no known encoding", "Convert it to UTF8.")
    if not may_replicate:
        fix = f"As a superuser run {grant_replication(role)} (on Amazon RDS: GRANT rds_replication TO {quoted(role)})."
        yield Problem("user", role, "the role may not replicate", fix)
    if used_slots >= slots and inspect_slot(connection, slot) is None:
        fix = "Drop a slot that nobody uses, or raise max_replication_slots and restart the server."
        yield Problem("max_replication_slots", str(slots), f"all {slots} slots are there already", fix)
    if used_senders >= senders:
        fix = "Raise max_wal_senders by one for each replica and connector, and restart the server."
        yield Problem("max_wal_senders", str(senders), f"{used_senders} of {senders} senders are busy", fix)


def _slot_problems(connection: psycopg.Connection[TupleRow], name: str, *, in_use: bool) -> Iterator[Problem]:
    slot = inspect_slot(connection, name)
    if slot is None:
        return
    database = connection.info.dbname
    if slot.plugin != PLUGIN or slot.database != database:
        what = f"of the plugin {slot.plugin!r} in the database {slot.database!r}" if slot.plugin else "a physical one"
        fix = f"Name another slot, or drop this one: SELECT pg_drop_replication_slot('{name}')."
        yield Problem("slot", name, f"the slot is {what}, and not of {PLUGIN!r} in {database!r}", fix)
    elif slot.wal_status == "lost":
        fix = f"Drop it, SELECT pg_drop_replication_slot('{name}'), and begin anew; raise max_slot_wal_keep_size."
        yield Problem("slot", name, "the slot is invalid: the server removed log that it needs", fix)
    if slot.active_pid and not in_use:
        fix = f"Name another slot, or end who uses it: SELECT pg_terminate_backend({slot.active_pid})."
        yield Problem("slot", name, f"the slot is in use by process {slot.active_pid} of the server", fix)


def _table_problems(connection: psycopg.Connection[TupleRow], name: str, tables: Sequence[Table]) -> Iterator[Problem]:
    found = ask(connection, _TABLES, [[table[0] for table in tables], [table[1] for table in tables]])
    is_there = [row for row in found if row[2] is not None]
    if gone := [shown((row[0], row[1])) for row in found if row[2] is None]:
        yield Problem("tables", _named(gone), "there are no such tables", "Correct the names, or leave them out.")
    if unlogged := [shown((row[0], row[1])) for row in is_there if row[2] not in "rp" or row[3] != "p"]:
        fix = "Leave them out; an unlogged table becomes a logged one with ALTER TABLE ... SET LOGGED."
        yield Problem("tables", _named(unlogged), "these are no tables whose changes are in the log", fix)
    if keyless := [shown((row[0], row[1])) for row in is_there if not row[5]]:
        fix = f"Give each a primary key, or run {_each('ALTER TABLE {} REPLICA IDENTITY FULL', keyless)}."
        reason = "have no replica identity: once they are published, the server refuses to update and delete their rows"
        yield Problem("tables", _named(keyless), reason, fix)
    yield from _publication_problems(connection, name, [(row[0], row[1]) for row in is_there], is_there)


def _publication_problems(
    connection: psycopg.Connection[TupleRow], name: str, tables: Sequence[Table], rows: Sequence[TupleRow]
) -> Iterator[Problem]:
    publication = inspect_publication(connection, name)
    if publication is not None:
        partitioned = {(row[0], row[1]) for row in rows if row[2] == "p"}
        missing = [table for table in tables if table not in publication.tables]
        if named := [shown(table) for table in missing if table not in partitioned]:
            fix = f"As its owner run ALTER PUBLICATION {quoted(name)} ADD TABLE {', '.join(named[:_NAMED])}."
            yield Problem("publication", name, f"the publication lacks {_named(named)}", fix)
        if named := [shown(table) for table in missing if table in partitioned]:
            fix = f"As its owner add them, and run ALTER PUBLICATION {quoted(name)} SET (publish_via_partition_root = true)."
            yield Problem("publication", name, f"the publication lacks the partitioned tables {_named(named)} as a whole", fix)
        if publication.left_out:
            fix = f"As its owner run ALTER PUBLICATION {quoted(name)} SET (publish = 'insert, update, delete, truncate')."
            yield Problem("publication", name, f"the publication leaves out {', '.join(publication.left_out)}", fix)
        return
    _, _, _, _, role, database, _, may_create, *_ = ask(connection, _SERVER)[0]
    if not may_create:
        fix = f"As its owner run GRANT CREATE ON DATABASE {quoted(database)} TO {quoted(role)}, or make the publication yourself."
        yield Problem("publication", name, "there is no such publication, and the role may not make it", fix)
    if foreign := [shown((row[0], row[1])) for row in rows if not row[4]]:
        fix = f"As their owner run CREATE PUBLICATION {quoted(name)} FOR TABLE {', '.join(foreign[:_NAMED])}."
        yield Problem("publication", name, f"only the owners of {_named(foreign)} can publish them", fix)


def _each(statement: str, tables: Sequence[str]) -> str:
    return "; ".join(statement.replace("{}", table) for table in tables[:_NAMED]) + ("; and so on" if len(tables) > _NAMED else "")


def _named(tables: Sequence[str]) -> str:
    return ", ".join(tables[:_NAMED]) + (f" and {len(tables) - _NAMED} more" if len(tables) > _NAMED else "")
