"""What is wrong with a database for a sink, as far as it can be seen before the sink runs."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from connectors.databases.tls import FIX
from connectors.jdbc import Dialect, Endpoint, Fault, Table, dialect_of
from connectors.jdbc.dialect import Connection
from connectors.jdbc.options import database_of
from connectors.jdbc_sink.shape import name_problem
from connectors.jdbc_sink.store import is_positions
from rocketconnect_sdk.configuration.references import login_is_known
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.evolution import Policy
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.permissions.roots import writing
from rocketconnect_sdk.schema import Type

SECONDS = 3
"""A check waits no longer for a server."""
_SHOWN = 300
INEXACT = (
    "takes keys for one that differ by upper and lower case, accents or the like alone: they are one row there",
    "Where that matters give it a collation by code points: …_bin in MySQL, a deterministic one in PostgreSQL, BINARY in SQLite.",
)
"""What is wrong with a column of a key by its collation, and what to do."""


Held = Callable[[Config, Dialect, str, Table], Iterable[Problem]]
"""Says what is wrong with a configuration for a table that is there."""


def database_problems(config: Config, held: Held) -> Iterator[Problem]:
    """Connects, and looks. Nothing is changed.

    A database that does not answer now may do so later, and the sink waits for it: that is a warning.

    Args:
        config: The configuration.
        held: What is asked of each table that is there.
    """
    password = config["password"] or ""
    place = database_of(config, writes=True)
    if not login_is_known(config):
        return
    if place.kind == "sqlite" and (reason := writing().problem(place.database)):
        yield Problem("connection.url", place.database, reason, writing().fix(place.database))
        return
    if place.kind == "sqlite" and not Path(place.database).exists():
        yield from _file_problems(place)
        return
    dialect = dialect_of(place)
    try:
        with closing(dialect.connect(place, config["user"], password, SECONDS)) as connection:
            yield from _problems(config, place, dialect, connection, held)
    except Exception as error:
        fault = dialect.fault(error)
        if fault is None:
            raise
        said = " ".join(str(error).split())[:_SHOWN]
        # Invariant 6: whatever a driver repeats.
        yield from _refusals(config, place, fault, said.replace(password, "***") if password else said)


def _file_problems(place: Endpoint) -> Iterator[Problem]:
    """Of a database that is not there yet: it is made."""
    folder = Path(place.database).parent
    if not os.access(folder, os.W_OK):
        fix = f"Make {folder}, and let the worker write there."
        yield Problem("connection.url", place.database, "is in a directory that is not there or cannot be written", fix)


def _refusals(config: Config, place: Endpoint, fault: Fault, said: str) -> Iterator[Problem]:
    if fault is Fault.UNTRUSTED:
        yield Problem("ssl.mode", config["ssl.mode"], f"lets nobody connect to {place}: {said}", f"{FIX}.")
    elif fault is Fault.DENIED:
        fix = "Set user and password to those of the database, and give the user privileges on it."
        yield Problem("user", config["user"], f"is not let in by {place}: {said}", fix)
    elif fault is Fault.MISSING:
        fix = f"Make it: CREATE DATABASE {place.database}; or name another one."
        yield Problem("connection.url", str(place), f"names what is not there: {said}", fix)
    elif fault is Fault.AWAY:
        fix = "Start the database, or correct the address; the sink waits for it."
        yield Problem("connection.url", str(place), f"does not answer now: {said}", fix, is_warning=True)
    elif fault is Fault.OTHER:
        yield Problem("connection.url", str(place), f"does not do what the sink asks: {said}", "Correct what it names.")


def _problems(config: Config, place: Endpoint, dialect: Dialect, connection: Connection, held: Held) -> Iterator[Problem]:
    if dialect.is_read_only(connection):
        fix = "Name the server that takes writes: the primary, not a replica."
        yield Problem("connection.url", str(place), "is read-only", fix)
        return
    keyed = config["insert.mode"] != "insert"
    wanted = privileges_of(keyed=keyed, deletes=config["delete.enabled"] or config["truncate.enabled"])
    # Where it is only the default, tables may never have to change.
    alters = ["ALTER"] if config.raw.get("schema.evolution") == Policy.EVOLVE.value else []
    grants = list(dialect.grants(connection, "", ["TEMPORARY"])) if keyed else []
    positions = config["positions.table"]
    privileges = {positions: ["SELECT", "INSERT", "UPDATE"], **dict.fromkeys(_names(config), wanted)}
    for name, needed in privileges.items():
        if problem := name_problem(dialect, name):
            key = "positions.table" if name == positions else "table.name.format"
            yield Problem(key, name, f"cannot be: {problem}", "Choose a shorter name.")
            continue
        table = dialect.table(connection, name)
        if table is not None:
            grants += dialect.grants(connection, name, needed)
            if name != positions:
                if is_positions([each.name for each in table.columns.fields]):
                    yield Problem("table.name.format", name, "is a table of positions of a connector", "Name another table.")
                    continue
                grants += dialect.grants(connection, name, alters)
                if table.is_view:
                    yield Problem("table.name.format", name, "is a view that takes no rows", "Name the table behind it.")
                    continue
                yield from _key_problems(config, dialect, connection, name, table)
                yield from held(config, dialect, name, table)
        elif name == positions or config["auto.create"]:
            grants += dialect.grants(connection, name, ["CREATE", *needed])
        else:
            fix = "Make it, let the user read it, or set auto.create=true."
            yield Problem("table.name.format", name, f"is no table of {place} that the user sees", fix)
    if grants:
        yield Problem("user", config["user"], f"lacks privileges in {place}", f"Run: {'; '.join(dict.fromkeys(grants))}.")


def privileges_of(*, keyed: bool, deletes: bool) -> list[str]:
    """What a user has to be allowed on a table."""
    return ["SELECT", "INSERT", *(["UPDATE"] if keyed else []), *(["DELETE"] if deletes else [])]


def _names(config: Config) -> Sequence[str]:
    """The tables that are known before there are records."""
    form = config["table.name.format"]
    topics = [each.strip() for each in config.raw.get("topics", "").split(",") if each.strip()] if "${topic}" in form else [""]
    return [name for name in (form.replace("${topic}", topic) for topic in topics) if "${" not in name]


def _key_problems(config: Config, dialect: Dialect, connection: Connection, name: str, table: Table) -> Iterator[Problem]:
    if config["insert.mode"] == "insert":
        return
    key = config["pk.fields"] or table.key
    there = {each.name: each.schema for each in table.columns.fields}
    missing = [column for column in key if column not in there]
    if missing:
        fix = f"Name columns of the table: {', '.join(there)}."
        yield Problem("pk.fields", ", ".join(missing), f"is no column of {name}", fix)
    elif not key:
        yield Problem(
            "pk.fields", "", f"is empty, and {name} has no primary key", "Give it one, set pk.fields or insert.mode=insert."
        )
    elif reason := key_problem(dialect, connection, name, table, key):
        yield Problem("pk.fields", ", ".join(key), *reason)
    elif inexact := dialect.inexact(connection, name, key):
        yield Problem("pk.fields", ", ".join(inexact), *INEXACT, is_warning=True)


def key_problem(dialect: Dialect, connection: Connection, name: str, table: Table, key: Sequence[str]) -> tuple[str, str] | None:
    """What keeps columns of a table from being its key, and what to do; None: nothing does."""
    if set(key) == set(table.key) or dialect.is_unique(connection, name, key):
        return None
    kinds = {each.name: each.schema.type for each in table.columns.fields}
    texts = [column for column in key if kinds.get(column) in (Type.STRING, Type.JSON, Type.BYTES) and column not in table.widths]
    target = dialect.quoted(name)
    fix = f"ALTER TABLE {target} ADD UNIQUE ({', '.join(map(dialect.column, key))})"
    if dialect.unbounded_keys:
        texts = []
    first = "".join(f"{change}; " for column in texts for change in dialect.widen(name, column, "varchar(191)"))
    why = f" ({', '.join(texts)} is text without a width, which no index takes)" if texts else ""
    return f"has no unique index in {name}, so rows of a key would be there more than once{why}", f"Run: {first}{fix}."
