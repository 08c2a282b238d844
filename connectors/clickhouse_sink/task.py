"""A batch becomes one INSERT for each table, and then a row of positions. Together they are exactly once.

Rows carry their places. The positions say which places need not be looked for; what was inserted behind them by whoever died
before he could say so is found by its places, and left out. See Store for owners that were replaced and do not know it yet.
"""

from collections.abc import Iterable, Mapping, Sequence
from logging import Logger

from connectors.clickhouse.client import Client
from connectors.clickhouse.place import literal, quoted
from connectors.clickhouse_sink.store import Store
from connectors.clickhouse_sink.writer import Rows, TableWriter, unified
from connectors.clickhouse_sink.writing import OFFSET, PLACE, QUEUE, Writing, queue_number, queue_text
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, Receipt, RecordSinkTask, SinkCommit, SinkWriter
from rocketconnect_sdk.targets.commits import is_written

_Seen = dict[tuple[str, str], int]


class ClickHouseTask(RecordSinkTask):
    """Adds rows to tables. Several tasks of one connector may.

    Args:
        writing: What is written.
        client: The server.
        store: Of positions.
        flush: When batches are closed.
        log: For people.
    """

    def __init__(self, writing: Writing, client: Client, store: Store, flush: FlushPolicy, log: Logger) -> None:
        self._writing = writing
        self._client = client
        self._store = store
        self._flush = flush
        self._log = log
        self._stored: dict[str, QueuePosition] = {}
        self._seen: _Seen = {}
        """By table and queue, as rows have it: the highest offset that may be there behind the positions; -1: none is."""
        self._uncertain = False
        """A statement has failed: it may have been done, or still run."""

    @property
    def flush(self) -> FlushPolicy:
        """See SinkTask."""
        return self._flush

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask. What was inserted behind the positions is looked for when its queue is written to."""
        self._store.create()
        self._seen, self._uncertain = {}, False
        self._stored = dict(self._store.claim())
        return dict(self._stored)

    def writer(self) -> SinkWriter:
        """See RecordSinkTask."""
        return TableWriter(self._writing, self._client)

    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        """See RecordSinkTask."""
        if is_written(self._stored, commit):
            return
        if self._uncertain:
            self._store.settle()
            self._seen, self._uncertain = {}, False
        # Until all of it is known to be done, nothing is.
        self._uncertain = True
        for rows in unified([each for receipt in receipts for each in receipt or ()]):
            self._insert(rows, commit)
        # Invariant 2: the rows are durable.
        self._store.put(commit.after)
        self._stored.update(commit.after)
        self._uncertain = False

    def _insert(self, rows: Sequence[Rows], commit: SinkCommit) -> None:
        first = rows[0]
        table = self._writing.place.table(first.table)
        names = [name for name, _ in first.structure]
        values, conditions = names, [self._store.guard]
        columns = [quoted(name) for name in first.columns]
        if self._writing.exact:
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
        query = f"SELECT {quoted(QUEUE)}, max({quoted(OFFSET)}) FROM {self._writing.place.table(table)} WHERE {where}"  # noqa: S608  # quoted
        found = {text: int(offset) for text, offset in self._client.rows(f"{query} GROUP BY {quoted(QUEUE)}")}
        for queue, text in new.items():
            self._seen[table, text] = found.get(text, -1)
            if text in found:
                self._log.info("%s: rows of %s up to offset %d are there already", table, queue, found[text])

    def _there(self, table: str, texts: Mapping[str, str], commit: SinkCommit) -> str:
        """A query: the places of rows that are there behind the positions."""
        columns = ", ".join(map(quoted, PLACE))
        return f"SELECT {columns} FROM {self._writing.place.table(table)} WHERE {_behind(texts, commit)}"  # noqa: S608  # quoted

    def close(self) -> None:
        """See SinkTask."""
        self._client.close()


def _behind(texts: Mapping[str, str], commit: SinkCommit) -> str:
    least = min(commit.before[queue].until for queue in texts)
    return f"{quoted(OFFSET)} >= {least} AND {quoted(QUEUE)} IN ({_listed(texts.values())})"


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(map(literal, texts))
