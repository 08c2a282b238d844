"""Which worker takes which unit: a pure function."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from services.cluster.model import PLAN, Key

PLUGIN_OPTION = "connector.class"
LABELS_OPTION = "worker.labels"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A worker that can take units now."""

    id: str
    labels: Mapping[str, str]
    plugins: frozenset[str]

    def can_take(self, demand: "Demand") -> bool:
        """Whether it offers the plugin and has all the labels."""
        return demand.plugin in self.plugins and demand.labels.items() <= self.labels.items()


@dataclass(frozen=True, slots=True)
class Demand:
    """A unit that shall have an owner, and what it asks of one."""

    key: Key
    plugin: str
    labels: Mapping[str, str]


class Move(NamedTuple):
    """A unit that shall go to `target`, from `source` or (None) from nobody."""

    key: Key
    source: str | None
    target: str


class Strategy(Protocol):
    """Decides which units go where. Must be deterministic."""

    def __call__(self, workers: Sequence[Candidate], demands: Sequence[Demand], current: Mapping[Key, str]) -> Sequence[Move]:
        """Return the moves that lead from `current` (unit -> worker) to the assignment that it wants.

        A worker in `current` that is not among `workers` keeps what it holds. A demand that nobody can take gets no move.
        """


def demand_of(key: Key, config: Mapping[str, str]) -> Demand:
    """Return what a unit asks of a worker, as the configuration of its connector says.

    `worker.labels` is a list such as `spark=3.5,zone=a`; a part without "=" asks for that label with an empty value.
    """
    parts = [part.partition("=") for part in config.get(LABELS_OPTION, "").split(",") if part.strip()]
    labels = {name.strip(): value.strip() for name, _, value in parts}
    return Demand(key, config.get(PLUGIN_OPTION, ""), labels)


def why_nobody(demand: Demand, workers: Sequence[Candidate]) -> str:
    """Return why none of the workers can take the unit, and what would change that."""
    if not workers:
        return "no executor is registered: start one"
    if not any(demand.plugin in worker.plugins for worker in workers):
        return (
            f"no executor offers plugin {demand.plugin}: start one that has it installed, or correct {PLUGIN_OPTION} "
            "(the list of plugins says what is offered)"
        )
    labels = ",".join(f"{name}={value}" for name, value in sorted(demand.labels.items()))
    return f"no executor that offers plugin {demand.plugin} has the labels {labels}: start one with them, or change {LABELS_OPTION}"


def assign(workers: Sequence[Candidate], demands: Sequence[Demand], current: Mapping[Key, str]) -> list[Move]:
    """Balance by the number of tasks, and move only what must move.

    A unit without an owner goes to the capable worker with the fewest. Then tasks go from a worker to one with at least two
    fewer, until there is none. A PLAN is short: it never moves, and no task moves because of it. Among equals the tasks of one
    connector spread.
    """
    balance = _Balance(workers, current)
    free = [demand for demand in demands if demand.key not in current]
    # Those with the least choice first, so that the others can go around them.
    for demand in sorted(free, key=lambda demand: (len(balance.capable(demand)), demand.key)):
        balance.place(demand)
    balance.level([demand for demand in demands if demand.key.task != PLAN])
    return [Move(key, current.get(key), target) for key, target in sorted(balance.target.items()) if current.get(key) != target]


class _Balance:
    """An assignment in the making, with the counts that decide it."""

    def __init__(self, workers: Sequence[Candidate], current: Mapping[Key, str]) -> None:
        self._workers = {worker.id: worker for worker in sorted(workers, key=lambda worker: worker.id)}
        self._current = current
        self._tasks: Counter[str] = Counter()
        self._plans: Counter[str] = Counter()
        self._of_connector: Counter[tuple[str, str]] = Counter()
        self.target: dict[Key, str] = {}
        for key, worker in current.items():
            if worker in self._workers:
                self._count(key, worker, 1)
                self.target[key] = worker

    def capable(self, demand: Demand) -> list[str]:
        return [id_ for id_, worker in self._workers.items() if worker.can_take(demand)]

    def place(self, demand: Demand) -> None:
        """Give a unit to the worker that has the least, if any can take it."""
        capable = self.capable(demand)
        if capable:
            self._put(demand.key, min(capable, key=lambda id_: self._weight(demand.key, id_)))

    def level(self, movable: Sequence[Demand]) -> None:
        """Move units from fuller workers to emptier ones as long as that brings two workers closer together."""
        held: dict[str, dict[Key, Demand]] = defaultdict(dict)
        for demand in movable:
            if demand.key in self.target:
                held[self.target[demand.key]][demand.key] = demand
        while (move := self._next_shift(held)) is not None:
            held[move.target][move.key] = held[str(move.source)].pop(move.key)
            self._put(move.key, move.target)

    def _next_shift(self, held: Mapping[str, Mapping[Key, Demand]]) -> Move | None:
        emptiest_first = sorted(self._workers, key=lambda id_: (self._tasks[id_], id_))
        for source in reversed(emptiest_first):
            for target in emptiest_first:
                if self._tasks[source] - self._tasks[target] <= 1:
                    break
                candidates = held.get(source, {}).values()
                fitting = [demand.key for demand in candidates if self._workers[target].can_take(demand)]
                if fitting:
                    return Move(min(fitting, key=lambda key: self._cost(key, source, target)), source, target)
        return None

    def _weight(self, key: Key, worker: str) -> tuple[int, int, str]:
        load = self._tasks[worker] + (self._plans[worker] if key.task == PLAN else 0)
        return load, self._of_connector[worker, key.connector_uid], worker

    def _cost(self, key: Key, source: str, target: str) -> tuple[bool, int, Key]:
        """Order units by what moving them costs: best one that nobody holds yet, then one of a crowded connector."""
        crowd = self._of_connector[source, key.connector_uid] - self._of_connector[target, key.connector_uid]
        return key in self._current, -crowd, key

    def _put(self, key: Key, worker: str) -> None:
        if key in self.target:
            self._count(key, self.target[key], -1)
        self._count(key, worker, 1)
        self.target[key] = worker

    def _count(self, key: Key, worker: str, change: int) -> None:
        (self._plans if key.task == PLAN else self._tasks)[worker] += change
        self._of_connector[worker, key.connector_uid] += change
