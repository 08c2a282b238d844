"""A database on a real server, and what its log says of it."""

import time
from itertools import count
from typing import Any, Self

from connectors.mysql_cdc_source.binlog.events import Heartbeat, Rows
from connectors.mysql_cdc_source.binlog.server import Login, Position, end_of_log
from connectors.mysql_cdc_source.binlog.stream import BinlogStream, Entry
from tests.servers.mariadb import PASSWORD, Mariadb

_SECONDS = 180.0
_numbers = count(1)
server_ids = count(5_000)


def login_of(server: Mariadb) -> Login:
    """As root."""
    return Login("127.0.0.1", server.port, "root", PASSWORD)


class Database:
    """An empty database; its log is read from `start` on."""

    def __init__(self, server: Mariadb) -> None:
        self.server = server
        self.name = f"test_{next(_numbers)}"
        self.login = login_of(server)

    def __enter__(self) -> Self:
        self.connection = self.server.connect()
        self.run(
            f"CREATE DATABASE {self.name} CHARACTER SET utf8mb4", f"USE {self.name}", "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'"
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.run(f"DROP DATABASE {self.name}")
        self.connection.close()

    def run(self, *statements: str) -> None:
        """Run statements in turn."""
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def select(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with self.connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def end(self) -> Position:
        """Where the log ends now."""
        return end_of_log(self.connection)

    def stream(self, start: Position, **options: Any) -> BinlogStream:
        """The server's log from there on."""
        return BinlogStream(self.login, start, server_id=next(server_ids), **options)

    def entries(self, start: Position, until: Position | None = None, **options: Any) -> list[Entry]:
        """What the log has from there to its present end."""
        with self.stream(start, **options) as stream:
            return read_until(stream, until or self.end())

    def rows(self, start: Position, **options: Any) -> list[Rows]:
        """The events of rows from there to the present end."""
        return [entry.event for entry in self.entries(start, **options) if isinstance(entry.event, Rows)]


def read_until(stream: BinlogStream, end: Position) -> list[Entry]:
    """All entries up to a place; the files of a log are named in order."""
    entries: list[Entry] = []
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        for entry in stream.poll(0.5):
            if not isinstance(entry.event, Heartbeat):
                entries.append(entry)
        if entries and entries[-1].position[:2] >= end[:2]:
            return entries
    raise TimeoutError(f"the log does not come to {end}")
