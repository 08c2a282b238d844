"""What this worker is to run, what it runs, and what to do about the difference. Pure: no I/O, no clock of its own.

    (start)──►RUNNING──stop──►STOPPING──late──►FENCING──late──►kill
      host died │  ▲              │               │
      or begins │  │ backoff      └─────ended─────┴──►ENDED──►release
           anew ▼  │ is over
              BACKOFF

A unit is one assignment: a task, or the planning of a connector. At most one run of it is alive at any time, whatever the cluster
says: one that is no longer ours is fenced, and a newer epoch starts when the old run has ended (invariant 3).
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from random import Random
from typing import Literal

from services.executor.contract.assignment import PLAN, Assigned, End, Key
from services.executor.contract.stop_limits import StopLimits


@dataclass(frozen=True, slots=True)
class Start:
    """Start a run."""

    run: int
    assigned: Assigned
    restarts: int


@dataclass(frozen=True, slots=True)
class Direct:
    """Tell a run what is wanted of it."""

    run: int
    wish: Literal["stop", "pause", "resume", "fence"]


@dataclass(frozen=True, slots=True)
class Kill:
    """End the process of a run: it was told to end and did not."""

    run: int


@dataclass(frozen=True, slots=True)
class Restarting:
    """Tell that a run was lost, or has ended to begin anew, and will be started again."""

    assigned: Assigned
    restarts: int
    reason: str
    is_lost: bool = True


@dataclass(frozen=True, slots=True)
class Ended:
    """Tell how it ended."""

    assigned: Assigned
    end: End


@dataclass(frozen=True, slots=True)
class Release:
    """Give the assignment back, or report its plan, which does the same."""

    assigned: Assigned
    end: End


@dataclass(frozen=True, slots=True)
class Forget:
    """It is no longer ours: say nothing more of it."""

    key: Key
    epoch: int


Effect = Start | Direct | Kill | Restarting | Ended | Release | Forget


@dataclass(frozen=True, slots=True)
class Policy:
    """Seconds and limits.

    Attributes:
        stop: How long a run may take to end clean.
        fence: How long a fenced run may take to end before its process is killed.
        gone: How long a worker that leaves waits until nothing runs.
        first_backoff: Before a lost run is started again; doubles each time.
        longest_backoff: The most of it.
        limit: So many runs lost in a row are started again here; then the cluster decides.
        healthy: A run that lasted so long begins a new count.
        first_rest: So long a run that has begun anew for a changed secret looks for no other change; doubles each time.
        longest_rest: The most of it.
    """

    stop: float = 10.0
    fence: float = 1.0
    gone: float = 12.0
    first_backoff: float = 0.5
    longest_backoff: float = 30.0
    limit: int = 5
    healthy: float = 60.0
    first_rest: float = 60.0
    longest_rest: float = 3600.0

    @classmethod
    def within(cls, limits: StopLimits) -> "Policy":
        """With these limits of a stop."""
        return cls(stop=limits.stop, fence=limits.kill - limits.stop, gone=limits.gone)


class _Phase(Enum):
    RUNNING = auto()
    BACKOFF = auto()
    STOPPING = auto()
    FENCING = auto()
    ENDED = auto()


_ALIVE = (_Phase.RUNNING, _Phase.STOPPING, _Phase.FENCING)


@dataclass(slots=True)
class _Unit:
    assigned: Assigned
    run: int
    phase: _Phase
    started: float
    deadline: float = float("inf")
    restarts: int = 0
    lost_in_a_row: int = 0
    anew_in_a_row: int = 0
    rest: float = 0.0
    refused: bool = False


class Lifecycle:
    """All units of this worker. Every method takes the monotonic time and returns what is to be done, in order."""

    def __init__(self, policy: Policy, random: Random) -> None:
        self._policy = policy
        self._random = random
        self._wanted: dict[Key, Assigned] = {}
        self._units: dict[Key, _Unit] = {}
        self._by_run: dict[int, Key] = {}
        self._runs = itertools.count(1)
        self._draining = False

    @property
    def alive(self) -> int:
        """How many runs have not ended."""
        return sum(unit.phase in _ALIVE for unit in self._units.values())

    @property
    def next_deadline(self) -> float:
        """When tick() has something to do; infinite: never."""
        return min((unit.deadline for unit in self._units.values()), default=float("inf"))

    def assigned_to(self, run: int) -> Assigned | None:
        """What a run works on; None when it is over."""
        key = self._by_run.get(run)
        return self._units[key].assigned if key is not None else None

    def restarts_of(self, run: int) -> int:
        """How often the unit of a run was started again before it."""
        key = self._by_run.get(run)
        return self._units[key].restarts if key is not None else 0

    def is_wanted(self, key: Key, epoch: int) -> bool:
        """Whether the assignment is still ours under this epoch."""
        wanted = self._wanted.get(key)
        return wanted is not None and wanted.epoch == epoch

    def held(self) -> list[Assigned]:
        """The tasks that run here or may be started without another word of the cluster, each under its newest epoch."""
        found = {key: unit.assigned for key, unit in self._units.items() if unit.phase is not _Phase.ENDED}
        for key, wanted in self._wanted.items():
            unit = self._units.get(key)
            if unit is None or wanted.epoch > unit.assigned.epoch:
                found[key] = wanted
        return [one for key, one in found.items() if key.task != PLAN]

    def runs(self, key: Key) -> bool:
        """Whether a run of the unit has not ended."""
        unit = self._units.get(key)
        return unit is not None and unit.phase in _ALIVE

    def assign(self, assigned: Iterable[Assigned], removed: Iterable[Key], now: float, *, snapshot: bool) -> list[Effect]:
        """The cluster's word: all there is (a snapshot), or what changed.

        An older epoch than the one that runs is old news among changes. In a snapshot it says that the store of the cluster has
        gone back: what runs here is not known there, and makes room.
        """
        if snapshot:
            self._wanted.clear()
        for one in assigned:
            self._wanted[one.key] = one
        for key in removed:
            self._wanted.pop(key, None)
        return self._reconcile_all(now, went_back=snapshot)

    def ended(self, run: int, end: End, now: float) -> list[Effect]:
        """A run ended by itself or as it was told; nothing of it is left."""
        key = self._by_run.pop(run, None)
        if key is None:
            return []
        unit = self._units[key]
        if end.anew and self._begins_anew(unit, end, now):
            unit.restarts += 1
            unit.phase, unit.deadline = _Phase.BACKOFF, now + self._backoff(unit.anew_in_a_row)
            return [Restarting(unit.assigned, unit.restarts, end.anew, is_lost=False)]
        if unit.phase is _Phase.RUNNING and not end.failed and not end.plan:
            error = end.error or "it ended without being told to"
            end = replace(end, failed=True, error=error)
        elif unit.phase is _Phase.STOPPING:
            end = replace(end, failed=False, permanent=False, plan=None)
        return list(self._end(unit, end, now))

    def _begins_anew(self, unit: _Unit, end: End, now: float) -> bool:
        """Whether a run that wants to begin anew may; each in a row rests longer before it looks for a reason to do it again."""
        if unit.phase is not _Phase.RUNNING or self._draining:
            return False
        unit.anew_in_a_row = unit.anew_in_a_row + 1 if now - unit.started < 2 * unit.rest else 1
        unit.rest = min(self._policy.first_rest * 2.0 ** min(unit.anew_in_a_row - 1, 60), self._policy.longest_rest)
        # One that fails does not rest: each new secret may be the right one, but not for ever.
        return not end.failed or unit.anew_in_a_row <= self._policy.limit

    def lost(self, run: int, reason: str, now: float) -> list[Effect]:
        """The process of a run died."""
        key = self._by_run.pop(run, None)
        if key is None:
            return []
        unit = self._units[key]
        if unit.phase is not _Phase.RUNNING:
            return list(self._end(unit, End(error=reason), now))
        unit.lost_in_a_row = 1 if now - unit.started >= self._policy.healthy else unit.lost_in_a_row + 1
        if key.task == PLAN or self._draining or unit.lost_in_a_row > self._policy.limit:
            return list(self._end(unit, End(failed=True, error=reason), now))
        unit.restarts += 1
        unit.phase = _Phase.BACKOFF
        unit.deadline = now + self._backoff(unit.lost_in_a_row)
        return [Restarting(unit.assigned, unit.restarts, reason)]

    def refuse(self, key: Key, epoch: int, now: float) -> list[Effect]:
        """Invariant 3: a report under this epoch was refused, so somebody else owns the unit: stop it at once."""
        unit = self._units.get(key)
        if unit is None or unit.assigned.epoch != epoch or unit.refused:
            return []
        unit.refused = True
        if unit.phase in (_Phase.RUNNING, _Phase.STOPPING):
            return [self._fence(unit, now)]
        if unit.phase is _Phase.BACKOFF:
            return list(self._end(unit, End(failed=True, fenced=True), now))
        return []

    def fence_all(self, now: float) -> list[Effect]:
        """The session is over or the lease is lost: nothing here is ours any more."""
        self._wanted.clear()
        return self._reconcile_all(now)

    def drain(self, now: float) -> list[Effect]:
        """Stop everything clean and start nothing more. Nothing is released: the worker leaves with all of it at once."""
        self._draining = True
        return [self._stop(unit, now) for unit in self._units.values() if unit.phase is _Phase.RUNNING]

    def tick(self, now: float) -> list[Effect]:
        """Do what is due."""
        due = [unit for unit in self._units.values() if unit.deadline <= now]
        return [effect for unit in due for effect in self._due(unit, now)]

    def _due(self, unit: _Unit, now: float) -> Iterator[Effect]:
        unit.deadline = float("inf")
        match unit.phase:
            case _Phase.STOPPING:
                yield self._fence(unit, now)
            case _Phase.FENCING:
                yield Kill(unit.run)
            case _Phase.BACKOFF if not self._draining:
                yield self._start(unit, now)

    def _reconcile_all(self, now: float, *, went_back: bool = False) -> list[Effect]:
        # Units first, in their order; then what is new.
        keys = dict.fromkeys([*self._units, *self._wanted])
        return [effect for key in keys for effect in self._reconcile(key, now, went_back=went_back)]

    def _reconcile(self, key: Key, now: float, *, went_back: bool = False) -> Iterator[Effect]:
        """Bring a unit in line with what is wanted; `went_back`: also when what is wanted has an older epoch."""
        wanted, unit = self._wanted.get(key), self._units.get(key)
        if unit is None:
            if wanted is not None:
                yield from self._begin(wanted, now)
        elif wanted is None or wanted.epoch > unit.assigned.epoch:
            yield from self._give_up(unit, now)
        elif wanted.epoch == unit.assigned.epoch:
            yield from self._follow(unit, wanted, now)
        elif went_back:
            yield from self._give_up(unit, now)

    def _begin(self, wanted: Assigned, now: float) -> Iterator[Effect]:
        if self._draining:
            return
        unit = self._units[wanted.key] = _Unit(wanted, 0, _Phase.ENDED, now)
        if wanted.revoked:
            yield Release(wanted, End())
        else:
            yield self._start(unit, now)

    def _give_up(self, unit: _Unit, now: float) -> Iterator[Effect]:
        if unit.phase in (_Phase.RUNNING, _Phase.STOPPING):
            yield self._fence(unit, now)
        elif unit.phase is not _Phase.FENCING:
            yield from self._drop(unit, now)

    def _follow(self, unit: _Unit, wanted: Assigned, now: float) -> Iterator[Effect]:
        before, unit.assigned = unit.assigned, wanted
        if unit.phase is _Phase.BACKOFF and wanted.revoked:
            yield from self._end(unit, End(), now)
        elif unit.phase is _Phase.RUNNING and wanted.revoked:
            yield self._stop(unit, now)
        elif unit.phase is _Phase.RUNNING and wanted.paused != before.paused and wanted.key.task != PLAN:
            yield Direct(unit.run, "pause" if wanted.paused else "resume")

    def _start(self, unit: _Unit, now: float) -> Effect:
        unit.run = next(self._runs)
        unit.phase, unit.started, unit.deadline = _Phase.RUNNING, now, float("inf")
        self._by_run[unit.run] = unit.assigned.key
        # What a run before has sent may be under way, whatever was known of the owner before.
        settled = unit.assigned.settled and not unit.restarts
        return Start(unit.run, replace(unit.assigned, settled=settled, secrets_rest=unit.rest), unit.restarts)

    def _stop(self, unit: _Unit, now: float) -> Effect:
        if unit.assigned.key.task == PLAN:
            # A planning has no position to commit: it can end at once.
            return self._fence(unit, now)
        unit.phase, unit.deadline = _Phase.STOPPING, now + self._policy.stop
        return Direct(unit.run, "stop")

    def _fence(self, unit: _Unit, now: float) -> Effect:
        unit.phase, unit.deadline = _Phase.FENCING, now + self._policy.fence
        return Direct(unit.run, "fence")

    def _end(self, unit: _Unit, end: End, now: float) -> Iterator[Effect]:
        key, epoch = unit.assigned.key, unit.assigned.epoch
        unit.phase, unit.deadline = _Phase.ENDED, float("inf")
        if not self.is_wanted(key, epoch):
            yield from self._drop(unit, now)
            return
        if unit.refused:
            end = replace(end, failed=True, fenced=True)
        yield Ended(unit.assigned, end)
        # It stays as ENDED until the cluster has taken note, so that what has ended is never started again under its epoch.
        if not self._draining:
            yield Release(unit.assigned, end)

    def _drop(self, unit: _Unit, now: float) -> Iterator[Effect]:
        key = unit.assigned.key
        del self._units[key]
        yield Forget(key, unit.assigned.epoch)
        yield from self._reconcile(key, now)

    def _backoff(self, lost_in_a_row: int) -> float:
        doubled = self._policy.first_backoff * 2.0 ** min(lost_in_a_row - 1, 60)
        # The spread keeps tasks that were lost together from coming back together.
        return min(doubled, self._policy.longest_backoff) * self._random.uniform(0.75, 1.25)
