"""Who has joined, left and come back: what moves to a worker because it is there.

A worker that was gone may go again: an executor in a crash loop, a rolling restart. What nobody holds it gets at once; what
others hold moves to it only when it has stayed for a while, longer each time that it was gone before: no task wanders to and fro.
In memory only: after a start of this service nobody is remembered as gone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from services.cluster.assignment.model import Intake

_LONGEST = 6
"""So many times the delay is the longest."""


@dataclass(frozen=True, slots=True)
class _Gone:
    at: float
    times: int


class Arrivals:
    """Says of each worker what it takes. Times are seconds of one monotonic clock.

    Args:
        delay: for how long a worker that was gone once has to stay; doubles each time.
        memory: for how long it is remembered that a worker was gone, and how long one has to stay to be as any other.
        new: the workers that are there already and shall get what is to move to a worker that joins.
    """

    def __init__(self, delay: float, memory: float, new: Iterable[str] = ()) -> None:
        self._delay = delay
        self._memory = memory
        self._gone: dict[str, _Gone] = {}
        self._joining = dict.fromkeys(new, 0.0)

    def joined(self, worker: str, now: float) -> None:
        """Note that a worker is there that was not."""
        self._forget(now)
        gone = self._gone.get(worker)
        wait = 0.0 if gone is None else self._delay * min(2 ** (gone.times - 1), _LONGEST)
        self._joining[worker] = now + wait

    def left(self, worker: str, now: float) -> None:
        """Note that a worker is gone, whatever the reason."""
        self._forget(now)
        self._joining.pop(worker, None)
        before = self._gone.get(worker)
        self._gone[worker] = _Gone(now, before.times + 1 if before is not None else 1)

    def intake(self, worker: str, now: float) -> Intake:
        """Return what the worker takes now."""
        begins = self._joining.get(worker)
        if begins is None:
            return Intake.JOINED
        return Intake.RETURNING if now < begins else Intake.JOINING

    def taken_in(self, now: float) -> None:
        """Note that what was to move to those who are JOINING has been decided."""
        self._joining = {worker: begins for worker, begins in self._joining.items() if now < begins}

    def _forget(self, now: float) -> None:
        self._gone = {worker: gone for worker, gone in self._gone.items() if now < gone.at + self._memory}
