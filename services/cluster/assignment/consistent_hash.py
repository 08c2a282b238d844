"""A hash ring with bounded loads: a worker that comes back gets the tasks that it had, but for a few.

After Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads" (2018): a task goes to the first worker on the
ring, clockwise from its own place, that has room; no worker takes more than `BOUND` of its share. Where the paper moves tasks with
every change, so that the assignment does not depend on the past, a task moves here only to a worker that has just joined, or away
from one that has more than its bound. (The few: a task that was there because the first worker for it was full may find room with
that one meanwhile, and stays.)
"""

import math
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b

from services.cluster.assignment.loads import Loads
from services.cluster.assignment.model import Candidate, Demand, Intake, Move
from services.cluster.model import PLAN, Key

BOUND = Fraction(5, 4)
"""How many times its share a worker takes at most; what is a part of a task counts as one."""

_POINTS = 64
"""Of a worker on the ring, for each unit of its weight: shares then differ by about an eighth."""


def assign(workers: Sequence[Candidate], demands: Sequence[Demand], current: Mapping[Key, str]) -> list[Move]:
    """Place tasks on the ring, and move them only to who joins or from who has too many.

    A unit goes back to who had it last, if there is room. Where no capable worker has room, the one with the least load takes it.
    """
    return _Placing(Loads(workers, demands, current)).run()


class _Placing:
    def __init__(self, loads: Loads) -> None:
        self._loads = loads
        self._ring = _ring(tuple((worker.id, worker.weight) for worker in loads.workers.values()))
        self._joining = {id_ for id_, worker in loads.workers.items() if worker.intake is Intake.JOINING}
        self._returning = {id_ for id_, worker in loads.workers.items() if worker.intake is Intake.RETURNING}
        self._limits = self._limits_of_all()

    def run(self) -> list[Move]:
        loads = self._loads
        for demand in loads.free():
            loads.put(demand.key, self._place_of(demand))
        for worker in loads.workers:
            self._shed(worker)
        if self._joining:
            for demand in _in_order(loads.tasks_of(loads.workers.keys() - self._joining)):
                home = self._home_of(demand)
                if home is not None:
                    loads.put(demand.key, home)
        return loads.moves()

    def _limits_of_all(self) -> dict[str, int]:
        """Return how many tasks each worker takes at most.

        Counted are all tasks, also those of workers that are not there to take any: so nobody's limit sinks, and nothing moves
        because of that, when a worker falls silent. And until somebody who returns is given their share, it is the others'.
        """
        workers = self._loads.workers.values()
        tasks = sum(key.task != PLAN for key in self._loads.demands)
        counted = sum(worker.weight for worker in workers if worker.id not in self._returning)
        whole = counted or sum(worker.weight for worker in workers)
        return {worker.id: math.ceil(BOUND * tasks * worker.weight / whole) for worker in workers}

    def _has_room(self, worker: str) -> bool:
        return len(self._loads.held[worker]) < self._limits[worker]

    def _place_of(self, demand: Demand) -> str:
        capable = self._loads.capable(demand)
        if demand.key.task == PLAN:
            return self._loads.least_loaded(demand)
        if demand.last in capable and self._has_room(demand.last):
            return demand.last
        with_room = (worker for worker in self._ring.clockwise(demand.key) if worker in capable and self._has_room(worker))
        return next(with_room, None) or self._loads.least_loaded(demand)

    def _home_of(self, demand: Demand) -> str | None:
        """Return the worker among those that join that a task comes to before its owner on the ring, and that has room."""
        owner, capable = self._loads.owner[demand.key], self._loads.capable(demand)
        for worker in self._ring.clockwise(demand.key):
            if worker == owner:
                break
            if worker in self._joining and worker in capable and self._has_room(worker):
                return worker
        return None

    def _shed(self, worker: str) -> None:
        """Move what a worker has too many: to who joins if possible, and if possible what belongs there."""
        loads = self._loads
        surplus = len(loads.held[worker]) - self._limits[worker]
        if surplus <= 0:
            return
        tasks = _in_order(loads.tasks_of([worker]))
        # A unit that nobody holds yet is moved for nothing.
        tasks.sort(key=lambda demand: (loads.was_held(demand.key), self._home_of(demand) is None))
        for demand in tasks:
            target = self._home_of(demand) or self._relief_of(demand)
            if target is not None:
                loads.put(demand.key, target)
                surplus -= 1
            if surplus == 0:
                break

    def _relief_of(self, demand: Demand) -> str | None:
        capable = self._loads.capable(demand)
        with_room = [
            worker
            for worker in self._ring.clockwise(demand.key)
            if worker in capable and worker not in self._returning and self._has_room(worker)
        ]
        return next((worker for worker in with_room if worker in self._joining), next(iter(with_room), None))


class _Ring:
    """The workers' points in a circle of 64 bits."""

    def __init__(self, workers: Sequence[tuple[str, int]]) -> None:
        points = sorted(point for id_, weight in workers for point in _points_of(id_, weight))
        self._places = [place for place, _ in points]
        self._workers = [worker for _, worker in points]
        self._count = len(workers)

    def clockwise(self, key: Key) -> Iterator[str]:
        """Yield every worker once, in the order in which the ring has them from the place of a task on."""
        begin = bisect(self._places, _place(key))
        seen: set[str] = set()
        for index in range(len(self._workers)):
            worker = self._workers[(begin + index) % len(self._workers)]
            if worker not in seen:
                seen.add(worker)
                yield worker
            if len(seen) == self._count:
                return


def _in_order(demands: Sequence[Demand]) -> list[Demand]:
    return sorted(demands, key=lambda demand: (_place(demand.key), demand.key))


@lru_cache(maxsize=8)
def _ring(workers: tuple[tuple[str, int], ...]) -> _Ring:
    return _Ring(workers)


@lru_cache(maxsize=1024)
def _points_of(worker: str, weight: int) -> list[tuple[int, str]]:
    return [(_hash(f"{worker}#{number}"), worker) for number in range(_POINTS * weight)]


@lru_cache(maxsize=65_536)
def _place(key: Key) -> int:
    return _hash(f"{key.connector_uid}/{key.task}")


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
