"""The durable rows in memory, and a note of what changed since it was last taken."""

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Generic, TypeVar, overload

from services.cluster.model import Changes, Connector, Key, Plan, Unit, Worker

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

_NUMBER = "number"
_ASSIGNMENT_CHANGES = "assignment_changes"


class Table(Mapping[K, V], Generic[K, V]):
    """Rows by key, as a mapping, that remembers which of them changed."""

    def __init__(self, rows: Mapping[K, V] | None = None) -> None:
        self._rows = dict(rows or {})
        self._changed: dict[K, V | None] = {}
        self.version = 0
        """Higher after each change."""

    def __getitem__(self, key: K) -> V:
        """Return the row."""
        return self._rows[key]

    def __iter__(self) -> Iterator[K]:
        """Iterate over the keys."""
        return iter(self._rows)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    # Those of Mapping itself look up one key after the other.

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, /, default: V) -> V: ...
    @overload
    def get(self, key: K, /, default: T) -> V | T: ...
    def get(self, key: K, /, default: V | T | None = None) -> V | T | None:
        """Return the row, or the default."""
        return self._rows.get(key, default)

    def items(self) -> ItemsView[K, V]:
        """Return the keys and rows."""
        return self._rows.items()

    def values(self) -> ValuesView[V]:
        """Return the rows."""
        return self._rows.values()

    def put(self, key: K, row: V) -> None:
        """Store a row; one that is there already as it is changes nothing."""
        if self._rows.get(key) != row:
            self._rows[key] = row
            self._changed[key] = row
            self.version += 1

    def drop(self, key: K) -> None:
        """Remove a row, if there is one."""
        if self._rows.pop(key, None) is not None:
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
                self._rows.pop(key, None)
            else:
                self._rows[key] = row


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

    def next_number(self) -> int:
        """Draw a number that was never drawn before and is higher than all of those: an epoch or a session."""
        number = self.counters.get(_NUMBER, 0) + 1
        self.counters.put(_NUMBER, number)
        return number

    @property
    def assignment_changes(self) -> int:
        """How often a unit has been given to a worker since the store was made."""
        return self.counters.get(_ASSIGNMENT_CHANGES, 0)

    def count_assignment(self) -> None:
        """Note that a unit was given to a worker."""
        self.counters.put(_ASSIGNMENT_CHANGES, self.assignment_changes + 1)

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
