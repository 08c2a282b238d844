"""The task of a source of a lake."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from connectors.lakes.reading.log import TableLog
from connectors.lakes.reading.places import Split, TableCoordinate, foreign, place_of
from connectors.lakes.reading.walk import Policy, Walk
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError
from rocketconnect_sdk.record import Offset, Position, SourceBatch
from rocketconnect_sdk.source import SourceTask

_PIECES = 16
"""Rows of so many small files are given at once."""
_LOOK_SECONDS = 0.02
"""For so long a poll looks ahead for what is left."""
_END_SECONDS = 1.0
"""So often it is told how far versions without rows were read."""
_LONGEST_IDLE = 60.0


@dataclass(frozen=True, slots=True)
class Share:
    """What a task reads.

    Attributes:
        table: The id of the table when the plan was made.
        begin: Where a part is begun that has no position.
        numbers: Of the parts that this task reads.
        parts: How many parts there are.
        interval: Seconds between two looks for a new version.
        is_divided: A row may become several records.
    """

    table: str
    begin: TableCoordinate
    numbers: Sequence[int]
    parts: int
    interval: float
    is_divided: bool = False


class LakeSourceTask(SourceTask):
    """Reads some parts of a table.

    Args:
        open_log: Gives the history of the table.
        share: What is read.
        policy: What is passed.
        context: Of the run.
        clock: Seconds that only grow.
    """

    remaining_unit = "bytes"

    def __init__(
        self,
        open_log: Callable[[], TableLog],
        share: Share,
        policy: Policy,
        context: TaskContext,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_log = open_log
        self._share = share
        self._policy = policy
        self._context = context
        self._clock = clock
        self._walk: Walk | None = None

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self.close()
        share = self._share
        if problem := foreign(share.table, share.parts, positions):
            raise PermanentError(problem)
        if not positions and (found := self._open_log().identity) != share.table:
            self._context.replan()
            msg = f"the table {found} is there now, and the plan was made for {share.table}: a new plan is made"
            raise RetriableError(msg)
        places: dict[Split, TableCoordinate] = {}
        behind: dict[Split, Offset] = {}
        self._given: dict[Split, TableCoordinate] = {}
        """Up to where each part was given, or is stored."""
        for number in share.numbers:
            split = Split(share.table, number, share.parts)
            stored = positions.get(split.partition)
            places[split] = share.begin if stored is None else place_of(stored.offset)
            if stored is not None:
                self._given[split] = places[split]
                if share.is_divided:
                    behind[split] = stored.offset
        self._next_look = self._next_glance = self._next_end = 0.0
        self._walk = Walk(self._open_log, places, behind, self._policy, self._context, self._clock)

    def poll(self) -> Sequence[SourceBatch]:
        """See SourceTask."""
        walk, batches = self._walk, list[SourceBatch]()
        if walk is None or self._clock() < self._next_look:
            return batches
        records, size = self._context.batch_records, self._context.batch_bytes
        try:
            while records > 0 and size > 0 and len(batches) < _PIECES:
                batch = walk.next(records)
                if batch is None:
                    self._next_look = self._clock() + self._share.interval if walk.is_at_end and not batches else 0.0
                    break
                batches.append(batch)
                records -= len(batch)
                size -= batch.size
        except ConnectorError:
            # What was read before is given first; the next poll meets the same again.
            if not batches:
                raise
        batches += list(self._ends(walk, batches))
        if self._clock() >= self._next_glance and walk.look(_LOOK_SECONDS):
            self._next_glance = self._clock() + self._share.interval
        return batches

    @property
    def idle_seconds(self) -> float:
        """See SourceTask."""
        return min(max(self._next_look - self._clock(), 0.001), _LONGEST_IDLE)

    @property
    def caught_up(self) -> bool:
        """See SourceTask."""
        return self._walk is not None and self._walk.is_at_end

    def remaining(self) -> int | None:
        """Bytes of files."""
        return None if self._walk is None else self._walk.left()

    def close(self) -> None:
        """See SourceTask."""
        if self._walk is not None:
            self._walk.close()
        self._walk = None

    def _ends(self, walk: Walk, batches: Sequence[SourceBatch]) -> Iterator[SourceBatch]:
        """Tells how far parts were read: behind their last rows, and where there is nothing to give, their beginnings among it."""
        last = {batch.partition: batch for batch in batches}
        due = self._clock() >= self._next_end
        for split, place in walk.places.items():
            before = self._given.get(split)
            if (batch := last.get(split.partition)) is not None:
                self._given[split] = place
                if batch.offsets[-1] < place:
                    # What was read to its end is not asked for again, when it is not there any more.
                    batch.end = place
            elif before is None or (due and before < place):
                self._given[split] = place
                self._next_end = self._clock() + _END_SECONDS
                yield SourceBatch(split.partition, [], [], end=place)
