"""The same load for all, with the fewest moves."""

import heapq
from collections.abc import Mapping, Sequence

from services.cluster.assignment.loads import Loads
from services.cluster.assignment.model import Candidate, Demand, Intake, Move
from services.cluster.model import Key

_Cost = tuple[bool, int, Key]


def assign(workers: Sequence[Candidate], demands: Sequence[Demand], current: Mapping[Key, str]) -> list[Move]:
    """Balance the number of tasks by weight.

    A unit that nobody holds goes to the capable worker with the least load. Then tasks go from a worker to one that has less load
    even with the task, until there is none: each move goes from the fullest worker to the emptiest, so none is made twice. Among
    equals the tasks of one connector spread.
    """
    loads = Loads(workers, demands, current)
    for demand in loads.free():
        loads.put(demand.key, loads.least_loaded(demand))
    _Levelling(loads).run()
    return loads.moves()


class _Levelling:
    """Moves tasks from fuller workers to emptier ones.

    A queue for each pair of workers has the tasks that can go from one to the other, the cheapest first. Costs only rise while
    tasks go that way, so an entry is looked at again when it comes to the front.
    """

    def __init__(self, loads: Loads) -> None:
        self._loads = loads
        self._queues: dict[tuple[str, str], list[_Cost]] = {}
        self._targets = [id_ for id_, worker in loads.workers.items() if worker.intake is not Intake.RETURNING]

    def run(self) -> None:
        while (shift := self._next()) is not None:
            key, target = shift
            self._loads.put(key, target)
            for (source, further), queue in self._queues.items():
                if source == target and self._fits(key, further):
                    heapq.heappush(queue, self._cost(key, source, further))

    def _next(self) -> tuple[Key, str] | None:
        loads = self._loads
        fullest_first = sorted(loads.workers, key=lambda id_: (-loads.load(id_), id_))
        emptiest_first = sorted(self._targets, key=lambda id_: (loads.load(id_, 1), id_))
        for source in fullest_first:
            for target in emptiest_first:
                if loads.load(source) <= loads.load(target, 1):
                    break
                key = self._cheapest(source, target)
                if key is not None:
                    return key, target
        return None

    def _cheapest(self, source: str, target: str) -> Key | None:
        queue = self._queues.get((source, target))
        if queue is None:
            fitting = (key for key in self._loads.held[source] if self._fits(key, target))
            queue = self._queues[source, target] = [self._cost(key, source, target) for key in fitting]
            heapq.heapify(queue)
        while queue:
            key = queue[0][-1]
            cost = self._cost(key, source, target)
            if self._loads.owner[key] != source:
                heapq.heappop(queue)
            elif cost > queue[0]:
                heapq.heapreplace(queue, cost)
            else:
                return key
        return None

    def _fits(self, key: Key, target: str) -> bool:
        return target in self._loads.capable(self._loads.demands[key])

    def _cost(self, key: Key, source: str, target: str) -> _Cost:
        """Order tasks by what moving them costs: best one that nobody holds yet, then one of a crowded connector."""
        loads, uid = self._loads, key.connector_uid
        return loads.was_held(key), loads.crowd(uid, target) - loads.crowd(uid, source), key
