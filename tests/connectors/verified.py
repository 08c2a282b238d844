"""Tables of SQLite that are compared with what a sink of tables keeps of them."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rocketconnect_sdk.conformance.runs import Run
from rocketconnect_sdk.schema import Schema, Type, struct
from rocketconnect_sdk.sink import Sink
from services.executor.contract.answers import Verified
from services.executor.contract.questions import NamedConnector, TableKey, VerifyConnector
from services.executor.host.jobs.verification import verify

Told = list[tuple[str, str, str]]
"""Keys as JSON has them, how their rows differ, and in what."""
LINE = struct([("id", Schema(Type.INT64)), ("name", Schema(Type.STRING, optional=True)), ("price", Schema(Type.FLOAT64))])
_TOWNS = ("a", "Z", "é", "b'\\c", "😀")


def line(number: int) -> dict[str, object]:
    """A record of LINE."""
    return {"id": number, "name": None if number % 5 == 0 else f"n{number}", "price": number / 8}


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

    def fill(self, count: int) -> None:
        """The table orders, with so many lines."""
        self.run("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, price REAL NOT NULL)")
        self.run("INSERT INTO orders VALUES (?, ?, ?)", *(tuple(line(number).values()) for number in range(count)))


def goes_on_behind_the_key_at_which_it_ended(shop: Shop, run: Run[Any]) -> int:
    """Says in how many parts a comparison came to its end. Keys are of two columns, one of them a text, in the order of its bytes.

    Args:
        shop: Without a table; its sink has columns town and number.
        run: What writes there.
    """
    shop.run("CREATE TABLE orders (town TEXT, number INTEGER, PRIMARY KEY (town, number))")
    keys = [(town, number) for town in _TOWNS for number in (-1, 0, 3, 1 << 60)]
    shop.run("INSERT INTO orders VALUES (?, ?)", *keys)
    schema = struct([("town", Schema(Type.STRING)), ("number", Schema(Type.INT64))])
    run.start().write_values([{"town": town, "number": number} for town, number in keys if number], schema)
    found, token, parts = [], "", 0
    while parts == 0 or token:
        part = shop.verified(token=token, seconds=0)
        assert (part.problems, part.trouble) == ([], "")
        found += [(each.key, each.kind) for each in part.differences]
        token, parts = part.next_page_token, parts + 1
    assert found == [(f'["{town}", 0]', "MISSING") for town in ("Z", "a", "b'\\\\c", "é", "😀")]
    assert parts > 2
    return parts


def says_what_cannot_be_compared(shop: Shop, run: Run[Any]) -> str:
    """Says what was told of a table that is not there.

    Args:
        shop: Without a table.
        run: What writes to the table rows of its sink, which is not there.
    """
    shop.run("CREATE TABLE orders (id INTEGER, name TEXT)")
    missing = shop.verified().trouble
    assert "rows is no table of" in missing
    run.start().write_values([line(1)], LINE)
    (problem,) = shop.verified().problems
    assert (problem.value, problem.reason) == ("orders", "has no key")
    shop.run("DROP TABLE orders")
    shop.run("CREATE TABLE orders (id TEXT PRIMARY KEY, more TEXT)")
    (problem,) = shop.verified().problems
    assert problem.reason == "has texts in id of its key, and rows has numbers"
    return missing
