"""An assignment in the making: who has what, and how much that is."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from services.cluster.assignment.levels import Levels
from services.cluster.assignment.model import Candidate, Demand, Move
from services.cluster.model import PLAN, Key


class Loads:
    """Begins with what is held now and takes note of what a strategy changes.

    A unit whose worker can not take it any more counts as held by nobody, as soon as another one can.
    """

    def __init__(self, workers: Sequence[Candidate], demands: Sequence[Demand], current: Mapping[Key, str]) -> None:
        self.workers = {worker.id: worker for worker in sorted(workers, key=lambda worker: worker.id)}
        self.demands = {demand.key: demand for demand in demands}
        self.held: dict[str, set[Key]] = {worker: set() for worker in self.workers}
        """The tasks of each worker, without PLANs."""
        self.owner: dict[Key, str] = {}
        """Who has each unit, of those that one of the workers has."""
        self._current = current
        self._plans: Counter[str] = Counter()
        self._of_connector: dict[tuple[str, str], int] = {}
        self._capable: dict[tuple[str, frozenset[tuple[str, str]]], frozenset[str]] = {}
        self._levels: dict[tuple[bool, frozenset[str]], Levels] = {}
        """The loads that workers would have with one more unit, a PLAN or not, of those that can take it."""
        self._levels_of: dict[str, list[tuple[bool, Levels]]] = {worker: [] for worker in self.workers}
        self._free: list[Demand] = []
        for key, demand in self.demands.items():
            worker = current.get(key)
            if worker is None:
                self._free.append(demand)
            elif worker in self.workers:
                capable = self.capable(demand)
                if worker in capable or not capable:
                    self.put(key, worker)
                else:
                    self._free.append(demand)

    def capable(self, demand: Demand) -> frozenset[str]:
        """Return the workers that can take a unit."""
        asked = demand.plugin, demand.labels
        found = self._capable.get(asked)
        if found is None:
            found = self._capable[asked] = frozenset(id_ for id_, worker in self.workers.items() if worker.can_take(demand))
        return found

    def free(self) -> list[Demand]:
        """Return the units that nobody held in the beginning and somebody can take.

        Those with the least choice come first, so that the others can go around them.
        """
        choices = [(len(self.capable(demand)), demand.key) for demand in self._free]
        return [self.demands[key] for choice, key in sorted(choices) if choice]

    def least_loaded(self, demand: Demand) -> str:
        """Return which of the workers that can take a unit would have the least load with it.

        Among equals the one that had it last, then the one with the fewest of its connector.
        """
        emptiest = self._levels_for(demand).emptiest()
        if demand.last in emptiest:
            return demand.last
        uid = demand.key.connector_uid
        for worker in emptiest:
            # Few workers have anything of the connector: mostly it is the first.
            if not self._of_connector.get((worker, uid)):
                return worker
        return min(emptiest, key=lambda worker: (self.crowd(uid, worker), worker))

    def load(self, worker: str, more: int = 0) -> float:
        """Return the tasks of a worker, and so many more, for each unit of its weight."""
        return (len(self.held[worker]) + more) / self.workers[worker].weight

    def crowd(self, uid: str, worker: str) -> int:
        """Return how many units of a connector a worker has."""
        return self._of_connector.get((worker, uid), 0)

    def was_held(self, key: Key) -> bool:
        """Return whether somebody has it now, so that to move it is to stop it."""
        return key in self._current

    def put(self, key: Key, worker: str) -> None:
        """Let a worker have a unit, and nobody else."""
        before = self.owner.get(key)
        if before is not None:
            self._count(key, before, -1)
        self._count(key, worker, 1)
        self.owner[key] = worker

    def moves(self) -> list[Move]:
        """Return what has to be done to get here."""
        current = self._current
        return sorted(Move(key, current.get(key), worker) for key, worker in self.owner.items() if current.get(key) != worker)

    def tasks_of(self, workers: Iterable[str]) -> list[Demand]:
        """Return the tasks that the workers have."""
        return [self.demands[key] for worker in workers for key in self.held[worker]]

    def _levels_for(self, demand: Demand) -> Levels:
        is_plan, capable = demand.key.task == PLAN, self.capable(demand)
        found = self._levels.get((is_plan, capable))
        if found is None:
            found = self._levels[is_plan, capable] = Levels({worker: self._next_load(worker, is_plan) for worker in capable})
            for worker in capable:
                self._levels_of[worker].append((is_plan, found))
        return found

    def _next_load(self, worker: str, is_plan: bool) -> float:
        """Return the load with one more; PLANs, which are short, count for each other alone."""
        more = 1 + self._plans[worker] if is_plan else 1
        return (len(self.held[worker]) + more) / self.workers[worker].weight

    def _count(self, key: Key, worker: str, change: int) -> None:
        of_connector = worker, key.connector_uid
        self._of_connector[of_connector] = self._of_connector.get(of_connector, 0) + change
        if key.task == PLAN:
            self._plans[worker] += change
        elif change > 0:
            self.held[worker].add(key)
        else:
            self.held[worker].discard(key)
        for is_plan, levels in self._levels_of[worker]:
            levels.change(worker, self._next_load(worker, is_plan))
