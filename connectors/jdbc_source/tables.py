"""What is to be read, and what is wrong with it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from connectors.jdbc.dialect import Connection, Table
from connectors.jdbc.session import Session
from connectors.jdbc_source.place import Mode, Order
from rocketconnect_sdk.changes.topics import Named, fitted, shared_topic
from rocketconnect_sdk.configuration.patterns import compiled
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.schema import WHOLE, Field, Schema, Type

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class TableSettings:
    """What a configuration says.

    Attributes:
        mode: How new rows are known.
        query: Is read in the place of tables; empty: tables are.
        include: Patterns of their names; none: all.
        exclude: Patterns of those that are left out.
        incrementing: The column of numbers that grow.
        timestamp: The column of times.
        key: The columns of keys; empty: those of the primary key.
        non_null: Columns that are ordered by must not be null.
        prefix: Of the topics of tables; empty: all go to the topic of the configuration.
    """

    mode: Mode
    query: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    incrementing: str
    timestamp: str
    key: tuple[str, ...]
    non_null: bool
    prefix: str


@dataclass(frozen=True, slots=True)
class Target:
    """A table, or a query.

    Attributes:
        name: Of the table, for people.
        rows: What stands behind FROM.
        columns: A struct of its columns.
        key: A struct of the columns of keys; None: there are none.
        order: How new rows are known; None: all are read.
        topic: Of its records; None: that of the configuration.
        is_query: It is no table.
    """

    name: str
    rows: str
    columns: Schema
    key: Schema | None
    order: Order | None
    topic: str | None
    is_query: bool


def names(session: Session, wanted: TableSettings) -> Sequence[str]:
    """The names of the tables that are there, in order; the empty name is the query. Raises what Session.connected does."""
    if wanted.query:
        return [""]
    with session.connected() as connection:
        found = session.reading.tables(connection)
        connection.rollback()
    return [name for name in found if _matches(name, wanted.include or (".*",)) and not _matches(name, wanted.exclude)]


def nothing_problem(session: Session, wanted: TableSettings) -> Problem:
    """That no table is matched, with those that may be meant. Raises what Session.connected does."""
    with session.connected() as connection:
        found = session.reading.tables(connection)
        connection.rollback()
    near = [name for each in wanted.include for name in found if get_close_matches(each, (name, name.rpartition(".")[2]))]
    shown = list(dict.fromkeys(near)) or found
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    meant = f"Did you mean {', '.join(near[:_SHOWN])}?" if near else f"The user sees {', '.join(shown[:_SHOWN]) or 'none'}{more}."
    return Problem("table.whitelist", ",".join(wanted.include), "matches no table", meant)


def look(session: Session, wanted: TableSettings, name: str) -> tuple[Target, Sequence[Problem]]:
    """A table or the query as it is now, with what keeps it from being read. Raises what Session.connected does."""
    with session.connected(name or "query") as connection:
        if wanted.query:
            table: Table | None = Table(session.reading.described(connection, wanted.query), (), {})
            rows = f"({wanted.query}) AS q"
        else:
            table = session.dialect.table(connection, name)
            rows = session.dialect.quoted(name)
        columns, key = (table.columns, table.key) if table else (Schema(Type.STRUCT), ())
        if table:
            # What the catalog shows may still not be read.
            connection.cursor().execute(f"SELECT 1 FROM {rows} LIMIT 0")  # noqa: S608  # quoted, or the user's own query
        fields = {field.name: field.schema for field in columns.fields}
        problems = list(_problems(session, connection, wanted, name, fields, key))
        connection.rollback()
    known = [each for each in wanted.key or key if each in fields]
    order = None if problems else _order(wanted, fields, key)
    return Target(
        name or "query",
        rows,
        replace(columns, name=name or "query"),
        _key_schema(name, fields, known),
        order,
        topic_of(wanted, name),
        is_query=bool(wanted.query),
    ), problems


def topic_of(wanted: TableSettings, name: str) -> str | None:
    """The topic of a table; None: that of the configuration."""
    return fitted(wanted.prefix + name) if wanted.prefix and name else None


def shared_by(wanted: TableSettings, found: Iterable[str]) -> tuple[str, str] | None:
    """A topic that several of the tables would share, and what is to be said of it."""
    return shared_topic(Named(name, topic, (name,)) for name in found if (topic := topic_of(wanted, name)) is not None)


def ties(wanted: TableSettings, key: Sequence[str]) -> Sequence[str]:
    """The columns that tell rows of the same time from each other, or rows altogether."""
    return (wanted.incrementing,) if wanted.incrementing and wanted.mode is not Mode.TIMESTAMP else tuple(key)


def _order(wanted: TableSettings, fields: dict[str, Schema], key: Sequence[str]) -> Order | None:
    if wanted.mode is Mode.BULK:
        return None
    columns = tuple(ties(wanted, wanted.key or key))
    return Order("" if wanted.mode is Mode.INCREMENTING else wanted.timestamp, columns, tuple(fields[each] for each in columns))


def _key_schema(name: str, fields: dict[str, Schema], key: Sequence[str]) -> Schema | None:
    if not key:
        return None
    parts = tuple(Field(each, replace(fields[each], optional=False)) for each in key)
    return Schema(Type.STRUCT, name=f"{name}.Key", fields=parts)


def _problems(
    session: Session, connection: Connection, wanted: TableSettings, name: str, fields: dict[str, Schema], key: Sequence[str]
) -> Iterator[Problem]:
    shown = name or "the query"
    if not fields:
        yield Problem("table.whitelist", name, "is not there, or the user may not see it", _privilege(name))
        return
    for option, column in _named(wanted):
        if column not in fields:
            near = get_close_matches(column, fields, 1)
            meant = f"Did you mean {near[0]}? " if near else ""
            yield Problem(option, column, f"is no column of {shown}", f"{meant}It has {', '.join(fields)}.")
    if wanted.mode is Mode.BULK:
        return
    time, number = fields.get(wanted.timestamp), fields.get(wanted.incrementing)
    if wanted.mode is not Mode.INCREMENTING and time and time.type is not Type.TIMESTAMP:
        fix = "Name a column of the type timestamp or datetime."
        yield Problem("timestamp.column.name", wanted.timestamp, f"of {shown} has no date and time", fix)
    if wanted.mode is not Mode.TIMESTAMP and number and number.type not in WHOLE:
        yield Problem(
            "incrementing.column.name", wanted.incrementing, f"of {shown} is no whole number", "Name a column of whole numbers."
        )
    yield from _tie_problems(wanted, shown, fields, key)
    if name:
        yield from _null_problems(session, connection, wanted, name, fields)


def _named(wanted: TableSettings) -> Iterator[tuple[str, str]]:
    if wanted.mode in (Mode.INCREMENTING, Mode.BOTH):
        yield "incrementing.column.name", wanted.incrementing
    if wanted.mode in (Mode.TIMESTAMP, Mode.BOTH):
        yield "timestamp.column.name", wanted.timestamp
    yield from (("key.columns", column) for column in wanted.key)


def _tie_problems(wanted: TableSettings, shown: str, fields: dict[str, Schema], key: Sequence[str]) -> Iterator[Problem]:
    if wanted.mode is not Mode.TIMESTAMP:
        return
    columns = wanted.key or key
    kinds = [fields[each] for each in columns if each in fields]
    if not columns or not Order.takes(kinds):
        what = "has no key" if not columns else "has a key of other types than whole numbers, texts and UUIDs"
        fix = "Set mode=timestamp+incrementing, or key.columns."
        yield Problem("mode", "timestamp", f"cannot tell rows of the same time from each other: {shown} {what}", fix)


def _null_problems(
    session: Session, connection: Connection, wanted: TableSettings, name: str, fields: dict[str, Schema]
) -> Iterator[Problem]:
    filled = session.reading.not_null(connection, name)
    for option, column in _named(wanted):
        if option != "key.columns" and wanted.non_null and column in fields and column not in filled:
            fix = "Make it NOT NULL; validate.non.null=false reads the table without such rows."
            yield Problem(option, column, f"of {name} may be null, and rows with a null are not read", fix)
    incrementing = wanted.mode is Mode.INCREMENTING and wanted.incrementing in fields
    if incrementing and wanted.incrementing not in session.reading.unique(connection, name):
        fix = "Name a column with a unique index, or set mode=timestamp+incrementing."
        yield Problem("incrementing.column.name", wanted.incrementing, f"of {name} is not unique", fix)


def _privilege(name: str) -> str:
    return f"Correct the name, or GRANT SELECT ON {name} to the user."


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(compiled(pattern).fullmatch(part) for pattern in patterns for part in (name, name.rpartition(".")[2]))
