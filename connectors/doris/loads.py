"""A batch becomes one load for each table. Together with the positions it is there exactly once: see Store."""

from collections.abc import Mapping, Sequence

from connectors.doris.client import Client
from connectors.doris.dialect import Rows
from connectors.doris.owners import Pending
from connectors.doris.positions import Store
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.sink import QueuePosition
from rocketconnect_sdk.tables.task import Loader, Part


class Loads(Loader):
    """Writes rows of tables in two phases.

    Args:
        client: Loads.
        store: Of positions.
    """

    def __init__(self, client: Client, store: Store) -> None:
        super().__init__()
        self._client = client
        self._store = store
        self._open: Pending | None = None
        """A load of which it is not known whether it was committed."""

    def claim(self) -> None:
        """See Loader. A load that waits for its commit is aborted, unless it was committed."""
        self._store.create()
        self._open = None
        self.stored = dict(self._store.claim())

    def settle(self) -> None:
        """See Loader."""
        if self._open is not None:
            self._settle(self._open)

    def load(self, parts: Sequence[Part]) -> None:
        """See Loader."""
        if not parts and self._store.waits:
            # The last time it was committed, and that could not be said.
            self._store.put(self.stored)
        for part in parts:
            if part.loads:
                self._load(part.loads, part.commit.after)
            else:
                self._store.put({**self.stored, **part.commit.after})
                self._store.check()
                self.stored.update(part.commit.after)

    def forget(self) -> None:
        """See Loader."""
        self._store.forget()

    def _load(self, rows: Sequence[Rows], after: Mapping[str, QueuePosition]) -> None:
        if len(tables := sorted({each.table for each in rows})) > 1:
            fix = "Name one table in table, or give records of one topic one topic by transforms"
            msg = f"records of {', '.join(sorted(after))} go to several tables ({', '.join(tables)}), each of them a load. {fix}"
            raise PermanentError(msg)
        columns, data, deletes = joined(rows)
        database, _ = self._client.place.parts(rows[0].table)
        label = self._store.label()
        transaction = self._client.load(rows[0].table, data, label, columns, deletes=deletes)
        pending = Pending(database, rows[0].table, label, transaction, after)
        self._open = pending
        self._store.promise(self.stored, pending)
        self._client.commit(database, transaction)
        if not self._settle(pending):
            msg = f"{self._client.place}: {pending} was aborted before its commit"
            raise RetriableError(msg)
        # The server forgets what has become of a load, so it is said here.
        self._store.put(self.stored)

    def _settle(self, pending: Pending) -> bool:
        """Invariant 2: what is told to be there was committed."""
        is_there = self._store.settle(pending)
        self._open = None
        if is_there:
            self.stored.update(pending.after)
        return is_there

    def close(self) -> None:
        """See Loader."""
        self._store.close()


def joined(rows: Sequence[Rows]) -> tuple[Sequence[str], bytes, bool]:
    """The columns and the lines of one load, and whether lines may delete. Of each key the last line stays: a load has no order."""
    columns = list(dict.fromkeys(name for each in rows for name in each.columns))
    deletes = any(each.deletes for each in rows)
    if not rows[0].keys:
        return columns, b"\n".join(line for each in rows for line in each.lines), deletes
    last = {key: line for each in rows for key, line in zip(each.keys, each.lines, strict=True)}
    return columns, b"\n".join(last.values()), deletes
