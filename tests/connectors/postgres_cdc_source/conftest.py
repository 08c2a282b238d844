"""A real PostgreSQL with logical decoding, and what was read from it."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import count

import psycopg
import pytest
from psycopg.rows import TupleRow
from sqlalchemy import make_url

from connectors.postgres_cdc_source.logical.catalog import Catalog
from connectors.postgres_cdc_source.logical.connection import Address, connect
from connectors.postgres_cdc_source.logical.publications import create_publication
from connectors.postgres_cdc_source.logical.slots import drop_slot, new_slot
from connectors.postgres_cdc_source.logical.stream import Stream
from connectors.postgres_cdc_source.logical.wire import events as ev
from connectors.postgres_cdc_source.logical.wire.messages import Decoder
from tests.connectors.postgres_cdc_source.capturing import Shop, wait_until_free
from tests.servers.postgres import Postgres, PostgresFailed

SECONDS = 300.0
"""Only a hang takes longer."""

Connection = psycopg.Connection[TupleRow]
_SHOPS = count(1)


def address_of(url: str) -> Address:
    """What an SQLAlchemy URL names."""
    parts = make_url(url)
    assert parts.host
    assert parts.port
    assert parts.username
    assert parts.database
    return Address(parts.host, parts.port, parts.username, parts.database)


class Changes:
    """A slot with a publication of all tables, and the events that come out of it."""

    def __init__(self, address: Address, connection: Connection, name: str) -> None:
        self.address = address
        self.connection = connection
        self.name = name
        create_publication(connection, name, None)
        with new_slot(address, name) as made:
            self.start = made.start
        self.stream: Stream | None = None

    def open(self, start: int = 0, *, streaming: bool = False) -> Stream:
        """Reads from a place on, anew."""
        self.close()
        self.stream = Stream(self.address, self.name, [self.name], start, streaming=streaming)
        self.decoder = Decoder(Catalog(self.connection).resolve)
        return self.stream

    def close(self) -> None:
        """Reads no more."""
        if self.stream is not None:
            self.stream.close()
            self.stream = None
        wait_until_free(self.connection, self.name)

    def until(self, is_last: Callable[[ev.Event], bool]) -> list[ev.Event]:
        """The events up to the end of the batch that has this one."""
        stream = self.stream or self.open()
        found: list[ev.Event] = []
        deadline = time.monotonic() + SECONDS
        while not any(map(is_last, found)):
            assert time.monotonic() < deadline, f"it did not come; the last: {found[-3:]}"
            found += self.decoder.decode_frames(stream.read(1.0).frames)
        return found

    def of(self, statements: Sequence[str]) -> list[ev.Event]:
        """Runs statements, each in a transaction of its own, and gives what comes of them."""
        for statement in statements:
            self.connection.execute(statement.encode())
        self.connection.execute("SELECT pg_logical_emit_message(true, 'end', %s)", [self.name])
        events = self.until(lambda event: isinstance(event, ev.Message) and event.content == self.name.encode())
        end = next(number for number, event in enumerate(events) if isinstance(event, ev.Message) and event.prefix == "end")
        return events[: end - 1]


@pytest.fixture(scope="session")
def database() -> Iterator[Address]:
    """A server with wal_level=logical."""
    try:
        settings = {"fsync": "off", "wal_level": "logical", "max_replication_slots": "20", "max_wal_senders": "20"}
        with Postgres(**settings).running("test") as url:
            yield address_of(url)
    except PostgresFailed as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def connection(database: Address) -> Iterator[Connection]:
    """As its superuser."""
    with connect(database) as opened:
        yield opened


@pytest.fixture(scope="module")
def make_changes(database: Address) -> Iterator[Callable[[], Changes]]:
    """Makes further slots; all are gone with the module."""
    numbers = count(1)
    with connect(database) as opened, ExitStack() as ending:

        def make() -> Changes:
            changes = Changes(database, opened, f"changes_{next(numbers)}")

            def end() -> None:
                changes.close()
                drop_slot(opened, changes.name)
                opened.execute(f"DROP PUBLICATION IF EXISTS {changes.name}".encode())

            ending.callback(end)
            return changes

        yield make


@pytest.fixture
def changes(make_changes: Callable[[], Changes]) -> Iterator[Changes]:
    """A slot of the test's own."""
    made = make_changes()
    yield made
    made.close()


@pytest.fixture
def shop(database: Address, connection: Connection) -> Iterator[Shop]:
    """Tables of the test's own."""
    made = Shop(database, connection, f"shop_{next(_SHOPS)}")
    yield made
    wait_until_free(connection, made.name)
    drop_slot(connection, made.name)
    made.run(f"DROP PUBLICATION IF EXISTS {made.name}", f"DROP SCHEMA {made.name} CASCADE")
