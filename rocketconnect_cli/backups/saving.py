"""All stores as they were at one point, while services run on them."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.backups import archive, schema
from rocketconnect_cli.backups.archive import Manifest, Store
from rocketconnect_cli.backups.endpoints import StoreEndpoint
from rocketconnect_kit.store import database
from rocketconnect_sdk.version import __version__

_ROWS = 1000
"""So many are in memory at a time."""


def save(file: Path, places: Sequence[StoreEndpoint], *, over: bool) -> Manifest:
    """Write a backup of these stores, and return what is in it.

    Raises:
        ApiError: NOT_FOUND: a store is not there; WRONG: it is of a later version; CONFLICT, FAILED: see `archive.writing`.
        Unavailable: a database does not answer.
    """
    with _at_one_point(places) as connections:
        manifest = Manifest(__version__, datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"))
        databases = [place for place in places if place.file is None]
        for place, connection in connections.items():
            # While the files are locked the first database is seen; further ones are seen behind it.
            point = databases.index(place) if place in databases else 0
            for service in place.services:
                manifest.stores[service] = Store(_known(connection, place, service), connection.dialect.name, point)
        with archive.writing(file, manifest, over=over) as writer:
            for place, connection in connections.items():
                for service in place.services:
                    _write(writer, connection, service)
    return manifest


@contextmanager
def _at_one_point(places: Sequence[StoreEndpoint]) -> Iterator[dict[StoreEndpoint, sa.Connection]]:
    """Connections that see their stores as they are now, until the block ends.

    All files of SQLite are locked for writers, for milliseconds, until everything is seen: so it is one point for them and for one
    database of PostgreSQL. Several databases are seen behind each other, in the order of the places.
    """
    with ExitStack() as opened, ExitStack() as held:
        engines = {place: opened.enter_context(_engine(place)) for place in places}
        for place, engine in engines.items():
            if place.file is not None:
                held.enter_context(database.writing(engine))
        connections = {}
        for place, engine in engines.items():
            connection = connections[place] = opened.enter_context(database.reading(engine))
            if place.file is None:
                # Reading may take long; it holds up nobody.
                for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
                    connection.exec_driver_sql(f"SET LOCAL {limit} = 0")
            # What is seen begins with the first thing that is read.
            sa.inspect(connection).get_table_names()
        held.close()
        yield connections


@contextmanager
def _engine(place: StoreEndpoint) -> Iterator[sa.Engine]:
    if place.file is not None and not place.file.is_file():
        message = (
            f"there is no store of {' and '.join(place.services)} at {place}. Give the folder of the stores with --data, or what "
            f"the services have as ROCKETCONNECT_STORE_URL with --store-url; --only SERVICE leaves out the others."
        )
        raise ApiError(Exit.NOT_FOUND, {"detail": message})
    # A standby will do.
    engine = database.engine(place.url, writes=False, patient=True)
    try:
        yield engine
    finally:
        engine.dispose()


def _known(connection: sa.Connection, place: StoreEndpoint, service: str) -> str:
    revision = schema.revision_of(connection, service)
    if not revision:
        message = (
            f"{place} has no store of {service}. Start the service once, or leave it out: --only SERVICE names those to be saved."
        )
        raise ApiError(Exit.NOT_FOUND, {"detail": message})
    if revision not in schema.revisions(service):
        newest = schema.revisions(service)[-1]
        message = (
            f"the store of {service} has tables of revision {revision}, and RocketConnect {__version__} knows them up to {newest}. "
            f"Use the command of the version that the service has."
        )
        raise ApiError(Exit.WRONG, {"detail": message})
    return revision


def _write(writer: archive.Writer, connection: sa.Connection, service: str) -> None:
    inspected = sa.inspect(connection)
    for name in sorted(schema.tables(service, writer.manifest.stores[service].revision)):
        if schema.keeps_rows(service, name) and inspected.has_table(name):
            table = sa.Table(name, sa.MetaData(), autoload_with=connection)
            query = sa.select(table).execution_options(yield_per=_ROWS)
            columns = [column.name for column in table.columns]
            writer.table(service, name, columns, (tuple(row) for row in connection.execute(query)))
