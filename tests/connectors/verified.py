"""Tables of SQLite that are compared with what a sink of tables keeps of them."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rocketconnect_sdk.sink import Sink
from services.executor.contract.answers import Verified
from services.executor.contract.questions import NamedConnector, TableKey, VerifyConnector
from services.executor.host.jobs.verification import verify

Told = list[tuple[str, str, str]]
"""Keys as JSON has them, how their rows differ, and in what."""


class Shop:
    """A database that jdbc_source reads, and whose rows go to the topic orders.

    Args:
        folder: Where it is.
        sink: What keeps its tables.
        options: Of the sink.
    """

    def __init__(self, folder: Path, sink: type[Sink], options: Mapping[str, str]) -> None:
        self._path = folder / "shop.db"
        self._sink = NamedConnector("copy", {"connector.class": sink.name, "topics": "orders", **options})
        source = {"connector.class": "jdbc_source", "connection.url": f"sqlite:///{self._path}", "topic": "orders", "mode": "bulk"}
        self._source = NamedConnector("shop", source)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self._path)
        try:
            yield database
            database.commit()
        finally:
            database.close()

    def run(self, statement: str, *rows: Sequence[object]) -> list[Any]:
        """One statement, or one for each of some rows."""
        with self._open() as database:
            if not rows:
                return database.execute(statement).fetchall()
            return database.executemany(statement, rows).fetchall()

    def verified(self, *keys: str, token: str = "", seconds: float = 60.0, target: str = "") -> Verified:
        """All rows, or those of some keys, of the table orders; `target`: where its rows are kept, if not where the sink says."""
        asked = [TableKey("orders", key) for key in keys]
        return verify(VerifyConnector(self._source, [self._sink], {"orders": target} if target else {}, asked, token, seconds))

    def differences(self, *keys: str, target: str = "") -> Told:
        """What differs, where a comparison comes to its end."""
        found = self.verified(*keys, target=target)
        assert (found.problems, found.trouble, found.next_page_token) == ([], "", "")
        return [(each.key, each.kind, each.about) for each in found.differences]
