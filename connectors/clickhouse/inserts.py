"""A batch becomes one INSERT for each table, and then a row of positions. Together they are exactly once.

Rows carry their places. The positions say which places need not be looked for; what was inserted behind them by whoever died
before he could say so is found by its places, and left out. See Store for owners that were replaced and do not know it yet.
"""

from collections.abc import Iterable, Mapping, Sequence
from logging import Logger

from connectors.clickhouse.client import Client
from connectors.clickhouse.dialect import Rows
from connectors.clickhouse.endpoint import literal, quoted
from connectors.clickhouse.places import OFFSET, PLACE, QUEUE, queue_number, queue_text
from connectors.clickhouse.positions import Store
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.tables.task import Loader, Part

_Seen = dict[tuple[str, str], int]


class Inserts(Loader):
    """Adds rows to tables.

    Args:
        client: The server.
        store: Of positions.
        log: For people.
        exact: Rows carry their places.
    """

    def __init__(self, client: Client, store: Store, log: Logger, *, exact: bool) -> None:
        super().__init__()
        self._client = client
        self._store = store
        self._log = log
        self._exact = exact
        self._seen: _Seen = {}
        """By table and queue, as rows have it: the highest offset that may be there behind the positions; -1: none is."""
        self._uncertain = False
        """A statement has failed: it may have been done, or still run."""

    def claim(self) -> None:
        """See Loader. What was inserted behind the positions is looked for when its queue is written to."""
        self._store.create()
        self._seen, self._uncertain = {}, False
        self.stored = dict(self._store.claim())

    def settle(self) -> None:
        """See Loader. What it has done is found by its places."""
        if self._uncertain:
            self._store.settle()
            self._seen, self._uncertain = {}, False

    def load(self, parts: Sequence[Part]) -> None:
        """See Loader."""
        if not parts:
            return
        # Until all of it is known to be done, nothing is.
        self._uncertain = True
        after: dict[str, QueuePosition] = {}
        for part in parts:
            for rows in unified(part.loads):
                self._insert(rows, part.commit)
            after.update(part.commit.after)
        # Invariant 2: the rows are durable.
        self._store.put(after)
        self.stored.update(after)
        self._uncertain = False

    def forget(self) -> None:
        """See Loader."""
        self._store.forget()

    def _insert(self, rows: Sequence[Rows], commit: SinkCommit) -> None:
        first = rows[0]
        table = self._client.place.table(first.table)
        names = [name for name, _ in first.structure]
        values, conditions = names, [self._store.guard]
        columns = [quoted(name) for name in first.columns]
        if self._exact:
            texts = {each.queue: queue_text(each.queue, commit.before[each.queue], commit.connector_uid) for each in rows}
            queue = f"transform(q, [{', '.join(str(queue_number(each)) for each in texts)}], [{_listed(texts.values())}], '')"
            columns += map(quoted, PLACE)
            values = [*names[:-3], queue, *names[-2:]]
            self._look(first.table, texts, commit)
            seen = {queue: self._seen[first.table, text] for queue, text in texts.items()}
            if any(each.offsets[0] <= seen[each.queue] for each in rows):
                conditions.append(f"({queue}, o, r) NOT IN ({self._there(first.table, texts, commit)})")
        head = f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)}"
        tail = f"WHERE {' AND '.join(conditions)}"
        self._client.insert(head, tail, first.structure, b"".join(each.data for each in rows), self._store.query_id())

    def _look(self, table: str, texts: Mapping[str, str], commit: SinkCommit) -> None:
        """Finds out what is there behind the positions, of queues of which it is not known."""
        new = {queue: text for queue, text in texts.items() if (table, text) not in self._seen}
        if not new:
            return
        where = _behind(new, commit)
        query = f"SELECT {quoted(QUEUE)}, max({quoted(OFFSET)}) FROM {self._client.place.table(table)} WHERE {where}"  # noqa: S608  # quoted
        found = {text: int(offset) for text, offset in self._client.rows(f"{query} GROUP BY {quoted(QUEUE)}")}
        for queue, text in new.items():
            self._seen[table, text] = found.get(text, -1)
            if text in found:
                self._log.info("%s: rows of %s up to offset %d are there already", table, queue, found[text])

    def _there(self, table: str, texts: Mapping[str, str], commit: SinkCommit) -> str:
        """A query: the places of rows that are there behind the positions."""
        columns = ", ".join(map(quoted, PLACE))
        return f"SELECT {columns} FROM {self._client.place.table(table)} WHERE {_behind(texts, commit)}"  # noqa: S608  # quoted

    def close(self) -> None:
        """See Loader."""
        self._client.close()


def _behind(texts: Mapping[str, str], commit: SinkCommit) -> str:
    least = min(commit.before[queue].until for queue in texts)
    return f"{quoted(OFFSET)} >= {least} AND {quoted(QUEUE)} IN ({_listed(texts.values())})"


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(map(literal, texts))


def unified(rows: Sequence[Rows]) -> list[list[Rows]]:
    """Rows that go in one statement, together."""
    found: dict[object, list[Rows]] = {}
    for each in rows:
        found.setdefault((each.table, tuple(each.columns), tuple(each.structure)), []).append(each)
    return list(found.values())
