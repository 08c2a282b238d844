"""A batch becomes one load for each table. Together with the positions it is there exactly once: see Store."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from connectors.doris.client import Client
from connectors.doris_sink.owners import Pending
from connectors.doris_sink.store import Store
from connectors.doris_sink.writer import Rows, TableWriter, joined
from connectors.doris_sink.writing import Writing
from rocketconnect_sdk.errors import RetriableError
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, Receipt, RecordSinkTask, SinkCommit, SinkWriter
from rocketconnect_sdk.targets.commits import is_written


class DorisTask(RecordSinkTask):
    """Writes rows of tables. Several tasks of one connector may.

    Args:
        writing: What is written.
        client: Loads.
        store: Of positions.
        flush: When batches are closed.
    """

    def __init__(self, writing: Writing, client: Client, store: Store, flush: FlushPolicy) -> None:
        self._writing = writing
        self._client = client
        self._store = store
        self._flush = flush
        self._stored: dict[str, QueuePosition] = {}
        self._open: Pending | None = None
        """A load of which it is not known whether it was committed."""

    @property
    def flush(self) -> FlushPolicy:
        """See SinkTask."""
        return self._flush

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask. A load that waits for its commit is aborted, unless it was committed."""
        self._store.create()
        self._open = None
        self._stored = dict(self._store.claim())
        return dict(self._stored)

    def writer(self) -> SinkWriter:
        """See RecordSinkTask."""
        return TableWriter(self._writing)

    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        """See RecordSinkTask. Each table has the rows of queues of its own, so what is there of a batch can be told by queue."""
        if self._open is not None:
            self._settle(self._open)
        # Before anything is written: it continues what is there, or is there.
        parts = [each for each in self._parts(receipts, commit) if not is_written(self._stored, each[1])]
        if not parts and self._store.waits:
            # The last time it was committed, and that could not be said.
            self._store.put(self._stored)
        for rows, part in parts:
            if rows:
                self._load(rows, part.after)
            else:
                self._store.put({**self._stored, **part.after})
                self._store.check()
                self._stored.update(part.after)

    def _parts(self, receipts: Sequence[Receipt], commit: SinkCommit) -> list[tuple[list[Rows], SinkCommit]]:
        """By table its rows, and what they are made of."""
        queues: dict[str, list[str]] = {}
        for queue in commit.after:
            queues.setdefault(self._writing.name(queue.partition("/")[0]), []).append(queue)
        found = []
        for table, names in queues.items():
            before, after = ({queue: each[queue] for queue in names if queue in each} for each in (commit.before, commit.after))
            rows = [each for each in receipts if each is not None and each.table == table]
            found.append((rows, replace(commit, before=before, after=after)))
        return found

    def _load(self, rows: Sequence[Rows], after: Mapping[str, QueuePosition]) -> None:
        columns, data, deletes = joined(rows)
        database, _ = self._client.place.parts(rows[0].table)
        label = self._store.label()
        transaction = self._client.load(rows[0].table, data, label, columns, deletes=deletes)
        pending = Pending(database, rows[0].table, label, transaction, after)
        self._open = pending
        self._store.promise(self._stored, pending)
        self._client.commit(database, transaction)
        if not self._settle(pending):
            msg = f"{self._client.place}: {pending} was aborted before its commit"
            raise RetriableError(msg)
        # The server forgets what has become of a load, so it is said here.
        self._store.put(self._stored)

    def _settle(self, pending: Pending) -> bool:
        """Invariant 2: what is told to be there was committed."""
        is_there = self._store.settle(pending)
        self._open = None
        if is_there:
            self._stored.update(pending.after)
        return is_there

    def close(self) -> None:
        """See SinkTask."""
        self._store.close()
