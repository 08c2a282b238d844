"""The task: a batch becomes loads of tables, and they are there exactly once with their positions."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, Receipt, RecordSinkTask, SinkCommit, SinkWriter
from rocketconnect_sdk.tables.dialect import Dialect
from rocketconnect_sdk.tables.settings import TableSettings
from rocketconnect_sdk.tables.writer import TableWriter
from rocketconnect_sdk.targets.commits import is_written


@dataclass(frozen=True, slots=True)
class Part:
    """Of a batch what can be there without the rest: it has queues and tables of its own, so queues tell whether it is there.

    Attributes:
        loads: See Dialect.encoded, in their order; they may be none. Of one table, but where transforms, or dead letters that come
            back, give records of a queue different topics, and these different tables.
        commit: What they are made of, and where the sink is when they are there.
    """

    loads: Sequence[Any]
    commit: SinkCommit


def parts_of(receipts: Sequence[Receipt], commit: SinkCommit) -> list[Part]:
    """As many parts as there can be."""
    loads = [load for receipt in receipts for load in receipt or ()]
    groups: list[tuple[set[str], set[str]]] = []
    for queue in commit.after:
        queues, tables = {queue}, {load.table for load in loads if load.queue == queue}
        for other in [each for each in groups if each[1] & tables or not (each[1] or tables)]:
            groups.remove(other)
            queues, tables = queues | other[0], tables | other[1]
        groups.append((queues, tables))
    found = []
    for queues, _ in groups:
        before, after = ({queue: each[queue] for queue in each if queue in queues} for each in (commit.before, commit.after))
        mine = [load for load in loads if load.queue in queues]
        found.append(Part(mine, replace(commit, before=before, after=after)))
    return found


class Loader(ABC):
    """What the author of a TableSink writes of batches: how they are loaded, and how positions are claimed and stored with them.

    It need not be pickled, and one thread calls it. All methods raise SystemAway where the system does not answer or cannot do it
    now, and PermanentError where it refuses, or where a newer owner has claimed the task (invariant 3).

    Attributes:
        stored: By queue the position behind what is known to be there, with its position.
    """

    def __init__(self) -> None:
        self.stored: dict[str, QueuePosition] = {}

    @abstractmethod
    def claim(self) -> None:
        """Makes this owner the one of its task, and those of older plans nobody's; undoes or completes what they left half done.

        From then on nothing that they are late with becomes visible. Sets `stored` to what all of them have stored.
        """

    @abstractmethod
    def settle(self) -> None:
        """Before each batch: finds out what has become of the last one if that failed, and sets `stored` to it."""

    @abstractmethod
    def load(self, parts: Sequence[Part]) -> None:
        """Makes loads durable with their positions, which `stored` has as soon as they are there (invariant 2).

        Args:
            parts: Those that are not there yet. None: all are, and it may be that this is not stored.
        """

    @abstractmethod
    def forget(self) -> None:
        """Removes what is stored of a connector that is deleted."""

    @abstractmethod
    def close(self) -> None:
        """Ends its connections. It may be used again."""


class TableTask(RecordSinkTask):
    """Writes rows of tables. Several tasks of one connector may.

    Args:
        settings: What is written.
        dialect: The tables.
        loader: Brings batches there.
        flush: When batches are closed.
    """

    def __init__(self, settings: TableSettings, dialect: Dialect[Any, Any], loader: Loader, flush: FlushPolicy) -> None:
        self._settings = settings
        self._dialect = dialect
        self._loader = loader
        self._flush = flush

    @property
    def flush(self) -> FlushPolicy:
        """See SinkTask."""
        return self._flush

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask."""
        self._loader.claim()
        return dict(self._loader.stored)

    def writer(self) -> SinkWriter:
        """See RecordSinkTask."""
        return TableWriter(self._settings, self._dialect)

    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        """See RecordSinkTask."""
        self._loader.settle()
        # Before anything is written: it continues what is there, or is there.
        parts = [each for each in parts_of(receipts, commit) if not is_written(self._loader.stored, each.commit)]
        self._loader.load(parts)

    def close(self) -> None:
        """See SinkTask."""
        self._loader.close()
        self._dialect.close()
