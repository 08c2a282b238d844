"""Workers in the order of their load, so that the emptiest are found without a look at the others."""

import heapq
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence


class Levels:
    """The workers of each load, by id. Small steps are cheap: a worker that changes its load is moved, the others stay."""

    def __init__(self, loads: Mapping[str, float]) -> None:
        self._load = dict(loads)
        self._at: dict[float, list[str]] = {}
        for worker, load in sorted(loads.items()):
            self._at.setdefault(load, []).append(worker)
        # May hold loads at which nobody is any more.
        self._loads = list(self._at)
        heapq.heapify(self._loads)

    def change(self, worker: str, load: float) -> None:
        """Take note of the new load of a worker."""
        before = self._load[worker]
        if before == load:
            return
        there = self._at[before]
        del there[bisect_left(there, worker)]
        self._load[worker] = load
        if load in self._at:
            insort(self._at[load], worker)
        else:
            self._at[load] = [worker]
            heapq.heappush(self._loads, load)

    def emptiest(self) -> Sequence[str]:
        """Return the workers with the least load, by id; there must be one."""
        while not self._at[self._loads[0]]:
            del self._at[heapq.heappop(self._loads)]
        return self._at[self._loads[0]]
