"""A backup becomes the stores: all of it, or nothing is changed."""

import signal
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.backups import postgres, schema, sqlite
from rocketconnect_cli.backups.archive import Reader
from rocketconnect_cli.backups.endpoints import StoreEndpoint
from rocketconnect_kit.logs import hide_url_passwords
from rocketconnect_kit.store import database
from rocketconnect_sdk.version import __version__

_ROWS = 1000
_NO_LIMITS = ("statement_timeout", "idle_in_transaction_session_timeout")


def check_revisions(reader: Reader, services: Iterable[str]) -> None:
    """Refuse what a later version has made.

    Raises:
        ApiError: WRONG.
    """
    for service in services:
        revision, known = reader.manifest.stores[service].revision, schema.revisions(service)
        if revision not in known:
            message = (
                f"the backup is of RocketConnect {reader.manifest.version}: its store of {service} has tables of revision "
                f"{revision}. RocketConnect {__version__} knows them up to {known[-1]}. Restore it with that version or a "
                f"later one. Nothing was changed."
            )
            raise ApiError(Exit.WRONG, {"detail": message})


def look(place: StoreEndpoint) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return what is in a place now that is of use to tell what becomes of it: by service, rows by table; changes nothing.

    Raises:
        ApiError: CONFLICT: a service runs on it; WRONG: a later version has made what is there.
    """
    if place.file is not None:
        sqlite.refuse_used(place.file)
        if not place.file.exists():
            return {}
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    with _engine(place) as engine, database.reading(engine) as connection:
        if place.file is None:
            postgres.refuse_used(connection, str(place))
        for service in place.services:
            if revision := schema.revision_of(connection, service):
                _refuse_later(place, service, revision)
                found[service] = {name: _rows(connection, name) for name in _TOLD.get(service, ())}
    return found


_TOLD = {"config": ("config_connectors",), "position": ("position_positions",)}


def put(reader: Reader, places: Sequence[StoreEndpoint]) -> None:
    """Make the stores what the backup has: of all files at once, and of each database.

    Raises:
        ApiError: CONFLICT: a service runs; WRONG: the backup can't be put there. Nothing was changed.
    """
    files = [place for place in places if place.file is not None]
    with ExitStack() as held:
        staged = [(place, *_staged(held, reader, place)) for place in files]
        for place in places:
            if place.file is None:
                held.enter_context(_written(reader, place))
        with _uninterrupted():
            if staged:
                sqlite.put([(file, new) for _, file, new in staged], [_names(reader, place) for place in files])
            # The databases commit.
            held.close()


def _staged(held: ExitStack, reader: Reader, place: StoreEndpoint) -> tuple[Path, Path]:
    """The file of a place, and a new one beside it, on the same disk, with what is to be in it."""
    file = place.file
    if file is None:
        raise TypeError(place)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = held.enter_context(tempfile.TemporaryDirectory(prefix=".restore-", dir=file.parent))
    except OSError as error:
        raise ApiError(Exit.FAILED, {"detail": f"{file.parent} can't be written: {error.strerror}. Nothing was changed."}) from None
    new = Path(folder) / file.name
    with (
        _engine(StoreEndpoint(f"sqlite:///{new}", place.services)) as engine,
        _refused(place),
        database.writing(engine) as connection,
    ):
        for service in place.services:
            _fill(reader, connection, service)
    return file, new


@contextmanager
def _written(reader: Reader, place: StoreEndpoint) -> Iterator[None]:
    """A transaction in which a database is as it is to be; it commits when the block ends without an exception."""
    with _engine(place) as engine, _refused(place), database.writing(engine) as connection:
        for limit in _NO_LIMITS:
            connection.exec_driver_sql(f"SET LOCAL {limit} = 0")
        postgres.refuse_used(connection, str(place))
        # Another place may be in the same database, by another URL: this one is no service to it.
        connection.exec_driver_sql("SET LOCAL application_name = 'rocketconnect restore'")
        there = set(sa.inspect(connection).get_table_names())
        terms = {}
        for service in place.services:
            if (leader := _leader(service)) in there:
                terms[service] = int(connection.scalar(sa.text(f"SELECT max(term) FROM {leader}")) or 0)  # noqa: S608 - a name of ours
        # Who starts now waits for their end, and finds the new ones.
        for name in sorted(there & _names(reader, place)):
            connection.exec_driver_sql(f'DROP TABLE "{name}"')
        for service in place.services:
            _fill(reader, connection, service, terms.get(service, 0))
        yield


def _fill(reader: Reader, connection: sa.Connection, service: str, term: int = 0) -> None:
    store = reader.manifest.stores[service]
    schema.make(connection, service, store.revision)
    own = {name for name in schema.tables(service, store.revision) if schema.keeps_rows(service, name)}
    if unknown := sorted(store.tables.keys() - own):
        message = f"the backup has a table {unknown[0]}, which {service} has not. It was damaged. Nothing was changed."
        raise ApiError(Exit.WRONG, {"detail": message})
    for name in sorted(store.tables):
        table = sa.Table(name, sa.MetaData(), autoload_with=connection)
        connection.execute(table.delete())
        rows: list[dict[str, Any]] = []
        for row in reader.rows(service, name):
            rows.append(row)
            if len(rows) == _ROWS:
                connection.execute(table.insert(), rows)
                rows.clear()
        if rows:
            connection.execute(table.insert(), rows)
    if (leader := _leader(service)) in own:
        # Nobody leads, and no term comes again that somebody may have had who was cut off all the while.
        seat = sa.table(leader, sa.column("holder"), sa.column("term"), sa.column("until"))
        last = max(term, int(connection.scalar(sa.select(sa.func.max(seat.c.term))) or 0))
        connection.execute(seat.update().values(holder="", term=last + 1, until=0.0))


def _leader(service: str) -> str:
    return f"{service}_leader"


def _names(reader: Reader, place: StoreEndpoint) -> frozenset[str]:
    """All tables that the services of a place can have, in any version up to this one."""
    both = (
        (service, revision)
        for service in place.services
        for revision in (reader.manifest.stores[service].revision, _newest(service))
    )
    return frozenset().union(*(schema.tables(service, revision) for service, revision in both))


def _newest(service: str) -> str:
    return schema.revisions(service)[-1]


def _refuse_later(place: StoreEndpoint, service: str, revision: str) -> None:
    if revision not in schema.revisions(service):
        message = (
            f"the store of {service} at {place} is of a later version: its tables have revision {revision}, and RocketConnect "
            f"{__version__} knows them up to {_newest(service)}. Use the command of that version, or put the backup into another "
            f"place. Nothing was changed."
        )
        raise ApiError(Exit.WRONG, {"detail": message})


def _rows(connection: sa.Connection, name: str) -> list[dict[str, Any]]:
    table = sa.Table(name, sa.MetaData(), autoload_with=connection)
    return [dict(row._mapping) for row in connection.execute(sa.select(table))]  # noqa: SLF001 - the public name of it


@contextmanager
def _engine(place: StoreEndpoint) -> Iterator[sa.Engine]:
    engine = database.engine(place.url, patient=True)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def _refused(place: StoreEndpoint) -> Iterator[None]:
    """What a database does not take."""
    try:
        yield
    except (SQLAlchemyError, TypeError, ValueError) as error:
        said = hide_url_passwords(str(getattr(error, "orig", None) or error)).strip()
        message = f"the backup can't be put into {place}: {said}. Nothing was changed."
        raise ApiError(Exit.FAILED, {"detail": message}) from None


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C, and who asks this process to end, come too late for the last step: what was begun is finished."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
