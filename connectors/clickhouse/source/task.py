"""Reads the tables of one task, in turn."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connectors.clickhouse.client import Client
from connectors.clickhouse.source.rows import NewRows
from connectors.clickhouse.source.tables import TableSettings, look
from connectors.jdbc_source.readers import BatchSizer
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import SourceTask

_LONGEST_IDLE = 60.0


@dataclass(frozen=True, slots=True)
class PollSettings:
    """When and how much is read.

    Attributes:
        poll: Seconds between two looks for new rows.
        rows: At once, at most.
        delay: Rows that are newer are left for later, in microseconds.
        first: Without a position rows are read from this time on, in microseconds; None: all.
    """

    poll: float
    rows: int
    delay: int
    first: int | None


class ClickHouseSourceTask(SourceTask):
    """Reads tables; each is a source partition.

    Args:
        client: The server.
        wanted: What is read.
        names: Of the tables.
        rhythm: When and how much.
        context: Of the run.
    """

    def __init__(
        self, client: Client, wanted: TableSettings, names: Sequence[str], rhythm: PollSettings, context: TaskContext
    ) -> None:
        self._client = client
        self._wanted = wanted
        self._names = names
        self._rhythm = rhythm
        self._context = context
        self._readers: list[NewRows] = []

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self._readers = [self._reader(name, positions) for name in self._names]

    def poll(self) -> SourceBatch | None:
        """See SourceTask."""
        for _ in range(len(self._readers)):
            reader = self._readers.pop(0)
            self._readers.append(reader)
            batch = reader.poll() if reader.due <= time.monotonic() else None
            if batch is not None:
                return batch
        return None

    @property
    def idle_seconds(self) -> float:
        """See SourceTask."""
        due = min((reader.due for reader in self._readers), default=float("inf"))
        return min(max(due - time.monotonic(), 0.001), _LONGEST_IDLE)

    def close(self) -> None:
        """See SourceTask."""
        self._readers = []
        self._client.close()

    def _reader(self, name: str, positions: Mapping[str, Position]) -> NewRows:
        target, problems = look(self._client, self._wanted, name)
        if target is None:
            raise PermanentError("; ".join(map(str, problems)))
        rhythm, context = self._rhythm, self._context
        partition = partition_of(self._wanted, name)
        position = positions.get(partition)
        return NewRows(
            self._client,
            target,
            partition,
            None if position is None else position.offset,
            BatchSizer(min(rhythm.rows, context.batch_records), context.batch_bytes),
            delay=rhythm.delay,
            first=rhythm.first,
            interval=rhythm.poll,
            columnar=context.columns,
        )


def partition_of(wanted: TableSettings, name: str) -> str:
    """The source partition of a table. Offsets of other columns mean nothing."""
    return f"{name} by {','.join(filter(None, (wanted.timestamp, wanted.incrementing, *wanted.key)))}"
