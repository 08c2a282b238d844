"""The task: reads its partitions of a log from the positions that are stored, and tells what is gone."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.partitions.decoding import Batches
from rocketconnect_sdk.partitions.log import GONE, Bounds, Log, LogPartition, OutOfRange, text_of
from rocketconnect_sdk.polled import Polled
from rocketconnect_sdk.record import Offset, Position, SourceBatch
from rocketconnect_sdk.source import SourceTask

_ACCEPT = "Set on.gap=skip to accept the loss"


@dataclass(frozen=True, slots=True)
class Share:
    """What a task reads.

    Attributes:
        mine: By the name of a partition where it is begun without a position.
        all: All partitions of the plan.
        tells: It tells of partitions that are not there any more.
    """

    mine: Mapping[LogPartition, Offset]
    all: str
    tells: bool


class PartitionTask(SourceTask):
    """Reads its share of a log.

    Args:
        connect: Makes a connection.
        decoder: Makes batches.
        share: What it reads.
        context: What the runtime gives.
        skip: What is gone is passed.
        every: So often new partitions are looked for, in seconds.
        clock: Seconds that only grow.
    """

    remaining_unit = "records"

    def __init__(
        self,
        connect: Callable[[], Log],
        decoder: Callable[[], Batches],
        share: Share,
        context: TaskContext,
        *,
        skip: bool,
        every: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._make_decoder = decoder
        self._share = share
        self._context = context
        self._skip = skip
        self._every = every
        self._clock = clock
        self._log: Log | None = None
        self._names = {each.name: each.partition for each in share.mine}
        self._places: dict[str, Offset] = {}
        self._targets: dict[str, Offset] = {}
        self._ready: deque[SourceBatch] = deque()
        self._next_look = 0.0

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self.close()
        self._ready.clear()
        self._decoder = self._make_decoder()
        self._log = log = self._connect()
        there = log.partitions()
        self._look(there)
        if self._share.tells:
            self._tell_gone(positions, there)
        listed = set(there)
        # What was made anew since the plan is in the next one.
        begins = {each: begin for each, begin in self._share.mine.items() if each in listed}
        self._places = {}
        # Where a partition is begun is stored at once, so that another plan does not begin elsewhere.
        moved = {each.name for each in begins if each.partition not in positions}
        for each, begin in begins.items():
            if (at := positions.get(each.partition)) is not None:
                log.recall(each.name, at.resume)
            self._places[each.name] = begin if at is None else at.offset
        bounds = log.bounds(self._places)
        for name, place in self._places.items():
            lost = log.lost(name, place, bounds[name])
            if lost or place > bounds[name].end:
                self._pass_gap(name, bounds[name], lost)
                moved.add(name)
        self._targets = {name: bounds[name].end for name in self._places}
        self._seek(log, moved)

    def poll(self) -> Polled:
        """See SourceTask."""
        log = self._opened()
        batches = list(self._ready)
        self._ready.clear()
        if batches:
            return batches
        if self._clock() >= self._next_look:
            self._look_on(log)
        try:
            found = log.read(self._context.batch_records, self._context.batch_bytes)
        except OutOfRange as error:
            bounds = log.bounds([error.name])[error.name]
            self._pass_gap(error.name, bounds, log.lost(error.name, self._places[error.name], bounds))
            self._seek(log, [error.name])
            batches = list(self._ready)
            self._ready.clear()
            return batches
        for entries in found:
            place = entries.end or entries.offsets[-1]
            if entries.values or place > self._places[entries.name]:
                batches += self._decoder.batches(self._names[entries.name], entries, log.note(entries.name))
                self._places[entries.name] = place
        return batches or None

    @property
    def idle_seconds(self) -> float:
        """Reading itself waits for records. See SourceTask."""
        return 0.01

    @property
    def caught_up(self) -> bool:
        """See SourceTask."""
        return all(self._places[name] >= end for name, end in self._targets.items())

    def remaining(self) -> int | None:
        """See SourceTask."""
        log = self._log
        if log is None:
            return None
        left = [log.left(name, place) for name, place in self._places.items()]
        known = [number for number in left if number is not None]
        return sum(known) if len(known) == len(left) else None

    def close(self) -> None:
        """See SourceTask."""
        log, self._log = self._log, None
        if log is not None:
            log.close()

    def _opened(self) -> Log:
        if self._log is None:
            msg = "the connection is closed"
            raise SystemAway(msg)
        return self._log

    def _look(self, there: Sequence[LogPartition]) -> None:
        """Whether there are other partitions than the plan has."""
        self._next_look = self._clock() + self._every
        if listed(there) != self._share.all:
            self._context.log.info("other partitions are there than the plan has; another plan is asked for")
            self._context.replan()

    def _look_on(self, log: Log) -> None:
        """Looks while it reads. Raises SystemAway: one that it reads is not there any more, which another start tells."""
        there = log.partitions()
        self._look(there)
        gone = {self._names[name] for name in self._places} - {each.partition for each in there}
        if gone:
            msg = f"{', '.join(sorted(gone))}: not there any more"
            raise SystemAway(msg)

    def _tell_gone(self, positions: Mapping[str, Position], there: Sequence[LogPartition]) -> None:
        """Partitions that were read and are not there any more: nobody knows what was in them behind their positions."""
        names = {each.partition for each in there}
        gone = {name: at for name, at in positions.items() if name not in names and not at.resume.get(GONE)}
        if not gone:
            return
        anew = {name for name in gone if any(each.identity and name.startswith(f"{each.name}@") for each in there)}
        told = [_gone(name, at, is_anew=name in anew) for name, at in sorted(gone.items())]
        if not self._skip:
            self._opened().missed(gone)
            msg = f"{'; '.join(told)}. {_ACCEPT}"
            raise PermanentError(msg)
        for each in told:
            self._context.log.warning("%s; skipped, as on.gap=skip says", each)
        self._ready.extend(SourceBatch(name, [], [], end=at.offset, resume={**at.resume, GONE: True}) for name, at in gone.items())

    def _seek(self, log: Log, moved: Iterable[str]) -> None:
        """Reads on behind the places; those of some partitions are not stored yet."""
        log.seek(self._places)
        self._ready.extend(
            SourceBatch(self._names[name], [], [], end=self._places[name], resume=log.note(name)) for name in sorted(moved)
        )

    def _pass_gap(self, name: str, bounds: Bounds, lost: str) -> None:
        """The place is behind what was removed.

        Raises:
            PermanentError: on.gap=fail, or nothing can be passed: the log ends before the place.
        """
        place = self._places[name]
        partition = self._names[name]
        if place > bounds.end:
            where = f"{partition} was read up to offset {text_of(place)} and ends at {text_of(bounds.end)}"
            fix = "Look what it has lost, then move its position: `rocketconnect position set`"
            msg = f"{where}: it has lost its newest records, or was put back from a backup. {fix}"
            raise PermanentError(msg)
        told = f"{partition}: {lost or 'records were removed'} and never read"
        if not self._skip:
            msg = f"{told}. {_ACCEPT}, and keep them longer in the log (retention)"
            raise PermanentError(msg)
        self._context.log.warning("%s; skipped, as on.gap=skip says", told)
        self._places[name] = max(place, bounds.first)


def _gone(name: str, at: Position, *, is_anew: bool) -> str:
    what = "was made anew under its name, and is read from its beginning" if is_anew else "is not there any more"
    return f"{name} {what}; what it had behind offset {text_of(at.offset)} is lost"


def listed(partitions: Sequence[LogPartition]) -> str:
    """Some partitions as a text, the same in whatever order they are; short."""
    import hashlib

    return hashlib.sha256("\n".join(sorted(each.partition for each in partitions)).encode()).hexdigest()
