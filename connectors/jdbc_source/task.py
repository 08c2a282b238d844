"""Reads the tables of one task, in turn."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from connectors.jdbc.session import Session
from connectors.jdbc_source.place import Mode
from connectors.jdbc_source.ranged import RangedRows
from connectors.jdbc_source.ranges import Share, foreign
from connectors.jdbc_source.readers import AllRows, BatchSizer, NewRows, Reader
from connectors.jdbc_source.tables import TableSettings, Target, look
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, Position, SourceBatch
from rocketconnect_sdk.source import SourceTask

_LONGEST_IDLE = 60.0


@dataclass(frozen=True, slots=True)
class PollSettings:
    """When and how much is read.

    Attributes:
        poll: Seconds between two looks for new rows.
        bulk: Seconds between the beginnings of two rounds; 0: there is one.
        rows: At once, at most.
        delay: Rows that are newer are left for later, in microseconds.
        first: Without a position rows are read from this time on, in microseconds; None: all.
        zone: Of the clock that times without a zone are written by.
    """

    poll: float
    bulk: float
    rows: int
    delay: int
    first: int | None
    zone: tzinfo


class JdbcSourceTask(SourceTask):
    """Reads tables, or a query; each is a source partition.

    Args:
        session: The database.
        wanted: What is read.
        names: Of the tables; the empty name is the query.
        share: The ranges of each that are read; None: tables are read whole.
        rhythm: When and how much.
        context: Of the run.
    """

    remaining_unit = "rows"

    def __init__(
        self,
        session: Session,
        wanted: TableSettings,
        names: Sequence[str],
        share: Share | None,
        rhythm: PollSettings,
        context: TaskContext,
    ) -> None:
        self._session = session
        self._wanted = wanted
        self._names = names
        self._share = share
        self._rhythm = rhythm
        self._context = context
        self._readers: list[Reader] = []

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self.close()
        offsets = {name: position.offset for name, position in positions.items()}
        for name in self._names:
            self._find(name)
            self._refuse_other_ranges(partition(self._wanted, name), offsets)
        self._readers = [self._reader(name, offsets) for name in self._names]

    def poll(self) -> SourceBatch | None:
        """See SourceTask."""
        for _ in range(len(self._readers)):
            reader = self._readers[0]
            batch = reader.poll() if reader.due <= time.monotonic() else None
            if not reader.is_open:
                self._readers.append(self._readers.pop(0))
            if batch is not None:
                return batch
        return None

    def remaining(self) -> int | None:
        """About how many rows are left, by the statistics of the database: of the first reading of each table, or of a round."""
        lefts = [reader.left for reader in self._readers]
        known = [left for left in lefts if left is not None]
        return sum(known) if known and len(known) == len(lefts) else None

    @property
    def idle_seconds(self) -> float:
        """See SourceTask."""
        due = min((reader.due for reader in self._readers), default=float("inf"))
        return min(max(due - time.monotonic(), 0.001), _LONGEST_IDLE)

    @property
    def finished(self) -> bool:
        """See SourceTask."""
        return all(reader.due == float("inf") for reader in self._readers)

    def close(self) -> None:
        """See SourceTask."""
        self._readers = []
        self._session.close()

    def _reader(self, name: str, offsets: Mapping[str, Offset]) -> Reader:
        rhythm, context = self._rhythm, self._context
        pace = BatchSizer(min(rhythm.rows, context.batch_records), context.batch_bytes)
        bulk = self._wanted.mode is Mode.BULK
        position = offsets.get(partition(self._wanted, name))
        others = (
            self._session,
            lambda: self._find(name),
            partition(self._wanted, name),
            rhythm.bulk if bulk else rhythm.poll,
            pace,
        )
        if bulk:
            return AllRows(*others, position=position, columnar=context.columns)
        if self._share is not None:
            return RangedRows(*others, share=self._share, positions=offsets, columnar=context.columns)
        return NewRows(
            *others, delay=rhythm.delay, first=rhythm.first, zone=rhythm.zone, position=position, columnar=context.columns
        )

    def _refuse_other_ranges(self, table: str, offsets: Mapping[str, Offset]) -> None:
        other = foreign(table, self._share.size if self._share else 0, offsets)
        if other is not None:
            msg = (
                f"split.size: the position of {other!r} is of another size: rows would be read twice. Set split.size as it was, or "
                "delete the positions of the connector to read everything again"
            )
            raise PermanentError(msg)

    def _find(self, name: str) -> Target:
        target, problems = look(self._session, self._wanted, name)
        if problems:
            raise PermanentError("; ".join(map(str, problems)))
        return target


def partition(wanted: TableSettings, name: str) -> str:
    """The source partition of a table. Offsets of one mode mean nothing in another."""
    return f"{wanted.mode.value} {name}" if name else f"{wanted.mode.value} query"
