"""The durable rows in memory, and a note of what changed since it was last taken."""

from collections.abc import Mapping
from typing import TypeVar

from services.cluster.model import Changes, Connector, Key, Plan, Unit, Worker

K = TypeVar("K")
V = TypeVar("V")

_NUMBER = "number"
_ASSIGNMENT_CHANGES = "assignment_changes"
_CLOCK = "clock"
_CLOCK_NOTED_EACH = 86_400_000
"""Milliseconds."""


class Table(dict[K, V]):
    """Rows by key that remember which of them changed. Changed by its own methods only, never as a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self._changed: dict[K, V | None] = {}
        self.version = 0
        """Higher after each change."""

    def put(self, key: K, row: V) -> None:
        """Store a row; one that is there already as it is changes nothing."""
        if self.get(key) != row:
            self.change(key, row)

    def change(self, key: K, row: V) -> None:
        """Store a row that surely is another than the one that is there."""
        self[key] = row
        self._changed[key] = row
        self.version += 1

    def drop(self, key: K) -> None:
        """Remove a row, if there is one."""
        if self.pop(key, None) is not None:
            self._changed[key] = None
            self.version += 1

    def take_changes(self) -> dict[K, V | None]:
        """Return what changed since the last call; None stands for a row that is gone."""
        changed, self._changed = self._changed, {}
        return changed

    def apply(self, changes: Mapping[K, V | None]) -> None:
        """Make changes that were taken from another table, without noting them."""
        for key, row in changes.items():
            if row is None:
                self.pop(key, None)
            else:
                self[key] = row


class Tables:
    """All durable rows of the cluster service."""

    def __init__(self) -> None:
        self.workers: Table[str, Worker] = Table()
        self.connectors: Table[str, Connector] = Table()
        self.plans: Table[str, Plan] = Table()
        self.units: Table[Key, Unit] = Table()
        # Kept when a connector is deleted: its uid may be adopted, and generations of a uid never go back.
        self.generations: Table[str, int] = Table()
        self.counters: Table[str, int] = Table()
        self._floor = 0

    def raise_floor(self, floor: int) -> None:
        """Let every number that is drawn from now on be higher than this one, whatever the store says was drawn before."""
        self._floor = max(self._floor, floor)
        # What was believed last is known after a start, also where nothing was drawn for long.
        if self._floor - self.counters.get(_CLOCK, 0) > _CLOCK_NOTED_EACH:
            self.counters.put(_CLOCK, self._floor)

    @property
    def last_number(self) -> int:
        """The highest number that was drawn, or that was taken for the floor of those to come; 0: none is known."""
        return max(self.counters.get(_NUMBER, 0), self.counters.get(_CLOCK, 0), self._floor)

    def next_number(self) -> int:
        """Draw a number that was never drawn before and is higher than all of those: an epoch or a session."""
        return self._count(_NUMBER, 1, self._floor)

    def next_generation(self, uid: str) -> int:
        """Return a plan generation of a connector that is higher than every one before; drawn when it is stored."""
        return max(self.generations.get(uid, 0), self._floor) + 1

    def next_epochs(self, count: int) -> range:
        """Draw the numbers of as many assignments, and count these."""
        self._count(_ASSIGNMENT_CHANGES, count)
        last = self._count(_NUMBER, count, self._floor)
        return range(last - count + 1, last + 1)

    @property
    def assignment_changes(self) -> int:
        """How often a unit has been given to a worker since the store was made."""
        return self.counters.get(_ASSIGNMENT_CHANGES, 0)

    def _count(self, name: str, count: int, floor: int = 0) -> int:
        number = max(self.counters.get(name, 0), floor) + count
        self.counters.put(name, number)
        return number

    def take_changes(self) -> Changes:
        """Return everything that changed since the last call."""
        return Changes(
            self.workers.take_changes(),
            self.connectors.take_changes(),
            self.plans.take_changes(),
            self.units.take_changes(),
            self.generations.take_changes(),
            self.counters.take_changes(),
        )

    def apply(self, changes: Changes) -> None:
        """Make changes that were taken from other tables, without noting them."""
        self.workers.apply(changes.workers)
        self.connectors.apply(changes.connectors)
        self.plans.apply(changes.plans)
        self.units.apply(changes.units)
        self.generations.apply(changes.generations)
        self.counters.apply(changes.counters)
