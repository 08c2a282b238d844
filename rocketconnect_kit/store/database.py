"""Durable stores: SQLite files or PostgreSQL through SQLAlchemy Core, with versioned migrations.

A transaction that has ended without an exception is on disk: SQLite runs in WAL mode with synchronous=FULL, PostgreSQL with
synchronous_commit=on.
"""

import asyncio
import hashlib
import importlib
import importlib.util
import os
import random
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from rocketconnect_kit.errors import FailedPrecondition, Unavailable
from rocketconnect_kit.logs import get_logger, hide_url_passwords
from rocketconnect_kit.store import faults, urls
from rocketconnect_kit.store.schema import Applied, newest, refuse_newer

OLDEST_POSTGRES = (14,)
"""Older ones are not looked after by their makers, and nothing of ours was run on them."""
APPLICATION = "rocketconnect"
"""What PostgreSQL calls our connections: nobody restores a database under them."""
_log = get_logger(__name__)
_BUSY_SECONDS = 10
_SWITCH_SECONDS = 0.01
_START_SECONDS = 30
_FIRST_WAIT_SECONDS = 0.2
_LONGEST_WAIT_SECONDS = 3.0


def engine(url: str, *, pool_size: int = 8, writes: bool = True, patient: bool = False) -> sa.Engine:
    """Return an engine for a SQLite file (its folder is made) or a PostgreSQL database. Connects to nothing yet.

    Args:
        url: Of PostgreSQL with one server or several, "HOST:PORT,HOST:PORT".
        pool_size: How many sessions of PostgreSQL there may be at a time.
        writes: Only a server that takes changes will do; else any.
        patient: Statements may take any time: an answer of PostgreSQL is waited for without a limit.

    Raises:
        FailedPrecondition: STORE_URL_INVALID when the URL is neither, or the folder can't be made or written in.
    """
    try:
        parsed = urls.parsed(url)
    except ValueError as error:
        raise _invalid_url(str(error)) from None
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        return _sqlite(parsed)
    if backend in {"postgresql", "postgres"}:
        from rocketconnect_kit.store import postgres

        return postgres.engine(parsed, APPLICATION, pool_size=pool_size, writes=writes, patient=patient)
    why = f"{backend!r} is not a store"
    raise _invalid_url(why)


@contextmanager
def writing(bound: sa.Engine) -> Iterator[sa.Connection]:
    """One transaction that writes: on disk when the block has ended, undone when it raises.

    On SQLite it is the only writer (BEGIN IMMEDIATE); on PostgreSQL it is READ COMMITTED, so lock the rows that you decide on.

    Raises:
        Unavailable: STORE_UNAVAILABLE when the database is away, locked, takes no changes, or its disk is full.
    """
    with _store_errors(), bound.begin() as connection:
        yield connection


def clock(bound: sa.Engine) -> float | None:
    """Return the seconds since 1970 on the clock of the database; None: it has no other than this machine.

    Raises:
        Unavailable: STORE_UNAVAILABLE when the database is away.
    """
    if bound.dialect.name != "postgresql":
        return None
    with reading(bound) as connection:
        return float(connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())


@contextmanager
def reading(bound: sa.Engine) -> Iterator[sa.Connection]:
    """One transaction that only reads, from one snapshot: on SQLite beside any writer, on PostgreSQL REPEATABLE READ.

    Raises:
        Unavailable: STORE_UNAVAILABLE when the database is away.
    """
    options: dict[str, Any] = {"rocketconnect_reads": True}
    if bound.dialect.name == "postgresql":
        options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with _store_errors(), bound.connect() as connection, connection.execution_options(**options).begin():
        yield connection


def upsert(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows; one whose primary key is there already replaces the other columns that it names. All name the same columns."""
    if not rows:
        return
    # Each is large, and a process needs one.
    dialect = importlib.import_module(f"sqlalchemy.dialects.{connection.dialect.name}")
    inserted = dialect.insert(table)
    keys = [column.name for column in table.primary_key]
    replaced = {name: inserted.excluded[name] for name in rows[0] if name not in keys}
    connection.execute(inserted.on_conflict_do_update(index_elements=keys, set_=replaced), list(rows))


async def check(bound: sa.Engine) -> None:
    """Raise Unavailable when the store does not answer, or takes no changes (a health check for `serve`)."""
    await asyncio.to_thread(_ask_for_changes, bound)


def _ask_for_changes(bound: sa.Engine) -> None:
    if bound.dialect.name != "postgresql":
        with reading(bound) as connection:
            connection.execute(sa.text("SELECT 1"))
        path = Path(str(bound.url.database))
        if not os.access(path, os.W_OK):
            why = f"{path.absolute()} can't be written, by its permissions or those of its file system"
            raise faults.read_only(why)
        return
    with writing(bound) as connection:
        takes_none = connection.scalar(sa.text("SHOW transaction_read_only")) == "on"
    if takes_none:
        # New sessions look for the server that takes changes now.
        bound.dispose()
        raise faults.read_only(faults.STANDBY)


def migrate(bound: sa.Engine, service: str) -> None:
    """Bring the tables of `service` to the newest form, with the migrations in `services/<service>/migrations`.

    The process holds what Alembic needs from then on; services do it in another one (`open_store`).
    All or nothing, and safe when several replicas start at once: the later ones wait, then find nothing to do.

    Raises:
        Unavailable: STORE_UNAVAILABLE when the database is away, read-only for now, or its disk full.
        FailedPrecondition: STORE_TOO_NEW; STORE_TOO_OLD; STORE_UNREADABLE, MIGRATION_FAILED when the database refuses for good.
    """
    if _is_usable(bound, service):
        return
    # Alembic is large, and most starts do not need it.
    from rocketconnect_kit.store.versions import upgrade

    undone = f"the tables of the {service} service could not be brought to their newest form, and nothing was changed"
    with _refusals("MIGRATION_FAILED", undone), writing(bound) as connection:
        if bound.dialect.name == "postgresql":
            lock = int.from_bytes(hashlib.blake2b(f"migrate {service}".encode(), digest_size=8).digest(), signed=True)
            # Versions are loaded while the transaction stands still, which may take a while.
            connection.execute(sa.text("SET LOCAL idle_in_transaction_session_timeout = 30000"))
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": lock})
        upgrade(connection, _versions(service), service)


async def open_store(url: str, service: str) -> sa.Engine:
    """Return a migrated engine; waits up to 30 s for a database that is still starting.

    Raises:
        Unavailable: STORE_UNAVAILABLE when it is still away then.
        FailedPrecondition: STORE_URL_INVALID; STORE_TOO_NEW; STORE_TOO_OLD; STORE_UNREADABLE; MIGRATION_FAILED.
    """
    bound = engine(url)
    deadline = time.monotonic() + _START_SECONDS
    longest = _FIRST_WAIT_SECONDS
    while True:
        try:
            if not await asyncio.to_thread(_is_usable, bound, service):
                await _migrate_apart(url, service)
                # A newer replica may have been faster, and its form is not ours.
                await asyncio.to_thread(_is_usable, bound, service)
        except Unavailable:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(random.uniform(0, longest))  # noqa: S311 - so that replicas do not try at once
            longest = min(2 * longest, _LONGEST_WAIT_SECONDS)
        else:
            return bound


async def _migrate_apart(url: str, service: str) -> None:
    """Migrate in a process of its own: what Alembic needs, 10 MiB, goes with it."""
    # The URL may hold a password: it is in no command line.
    command = (sys.executable, "-P", "-m", "rocketconnect_kit.store.migration", service)
    child = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    said, _ = await child.communicate(url.encode())
    if child.returncode == os.EX_TEMPFAIL:
        raise Unavailable("STORE_UNAVAILABLE", said.decode())
    if child.returncode == os.EX_CONFIG:
        reason, _, message = said.decode().partition(" ")
        raise FailedPrecondition(reason, message)
    if child.returncode != os.EX_OK:
        message = f"the tables of the {service} service could not be brought to their newest form; what is written above says why"
        raise FailedPrecondition("MIGRATION_FAILED", message)


def _sqlite(url: sa.URL) -> sa.Engine:
    if url.database in {None, "", ":memory:"}:
        raise _invalid_url("a store in memory forgets")
    folder = Path(str(url.database)).parent
    try:
        # Nobody else may look into it.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        message = f"the folder of the store can't be made: {error}; create {folder} or choose another data_dir"
        raise FailedPrecondition("STORE_URL_INVALID", message) from error
    for path in (folder, Path(str(url.database))):
        if path.exists() and not os.access(path, os.W_OK):
            raise FailedPrecondition("STORE_URL_INVALID", _not_mine(path))
    made = sa.create_engine(url, hide_parameters=True, connect_args={"timeout": _BUSY_SECONDS})
    event.listen(made, "connect", _prepare_sqlite)
    event.listen(made, "begin", _begin_sqlite)
    return made


def _not_mine(path: Path) -> str:
    """What to do about a file or a folder in which this process can't write."""
    mine = os.geteuid()
    return (
        f"the store's {path.absolute()} belongs to user {path.stat().st_uid}, and this process, user {mine}, can't write there: "
        f"`chown -R {mine}` what belongs to the store (of a container: its volume), or choose another data_dir"
    )


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # The driver must not begin transactions by itself: _begin_sqlite decides which kind.
    connection.isolation_level = None
    cursor = connection.cursor()
    _write_ahead(cursor)
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _write_ahead(cursor: Any) -> None:
    # Only who has one loads it.
    import sqlite3

    # Of several that open a new file at once one switches it, and SQLite refuses the others without waiting.
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_SWITCH_SECONDS)
        else:
            return


def _begin_sqlite(connection: sa.Connection) -> None:
    # A transaction that began by reading can't wait for the write lock, it fails; so writers take the lock first.
    reads = connection.get_execution_options().get("rocketconnect_reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


@contextmanager
def _store_errors() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        away = faults.unavailable(error)
        if away is None:
            raise
        raise away from error


@contextmanager
def _refusals(reason: str, what: str) -> Iterator[None]:
    """At the start of a service: what the database refuses is told in words that say `what` could not be done."""
    try:
        yield
    except Unavailable as error:
        message = f"{what}: {error.message}"
        raise Unavailable(error.reason, message) from error
    except DBAPIError as error:
        said = hide_url_passwords(str(error.orig)).strip()
        message = f"{what}: the database says: {said}; put that right, and start the service again"
        raise FailedPrecondition(reason, message) from error


def _is_usable(bound: sa.Engine, service: str) -> bool:
    """Whether the store has all revisions that this service knows; later ones must be such that it may use it all the same.

    Raises:
        Unavailable: STORE_UNAVAILABLE when the database is away.
        FailedPrecondition: STORE_TOO_NEW; STORE_TOO_OLD; STORE_UNREADABLE.
    """
    folder = _versions(service)
    own = newest(folder)
    with _refusals("STORE_UNREADABLE", f"the store of the {service} service can't be read"), reading(bound) as connection:
        if bound.dialect.name == "postgresql":
            _refuse_old_postgres(connection.dialect.server_version_info or (0,))
        last = Applied(service).last(connection)
        if last is None or last.number < own:
            return False
        if last.number > own:
            refuse_newer(connection, service, last, folder)
            _log.warning(
                "the store is newer than this service, which may use it", store=last.number, of_release=last.release, known=own
            )
    return True


def _refuse_old_postgres(said: tuple[int | str, ...]) -> None:
    version = tuple(int(part) for part in said)
    if version < OLDEST_POSTGRES:
        has, wanted = (".".join(map(str, each)) for each in (version, OLDEST_POSTGRES))
        message = f"the store is a PostgreSQL {has}; {wanted} or newer is needed: upgrade it, or name another one in store_url"
        raise FailedPrecondition("STORE_TOO_OLD", message)


def _versions(service: str) -> Path:
    spec = importlib.util.find_spec(f"services.{service}")
    if spec is None or spec.origin is None:
        msg = f"no package services.{service}"
        raise ModuleNotFoundError(msg)
    return Path(spec.origin).parent / "migrations"


def _invalid_url(why: str) -> FailedPrecondition:
    # The URL itself is not repeated: it may hold a password, even where it can't be parsed.
    message = f"the store URL is wrong: {why}; use sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE"
    return FailedPrecondition("STORE_URL_INVALID", message)
