"""Leases: how long a worker may be believed to run what it holds.

All times are seconds of one monotonic clock. The worker counts its lease from the moment that it sent the renewal, this service
from the moment that it received it, so here a lease always ends later than there (as long as both clocks run at the same rate;
the send deadline on top is far longer than what two clocks drift apart within a lease).
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds: how long a heartbeat holds, how often to send one, and how long a send may be under way after the lease."""

    lease: float = 5.0
    heartbeat_interval: float = 1.0
    send_deadline: float = 2.0


class Leases:
    """The leases of the workers that have not been judged. In memory only: see `restart`."""

    def __init__(self, timing: Timing) -> None:
        self.timing = timing
        self._until: dict[str, float] = {}
        self._cut: set[str] = set()

    def renew(self, worker: str, now: float) -> None:
        """Let the lease of a worker run for its full length from now."""
        self._until[worker] = now + self.timing.lease
        self._cut.discard(worker)

    def restart(self, workers: Iterable[str], now: float) -> None:
        """Give each of the workers a full lease, but for those that can't come back.

        After this service was away (not started, or not scheduled) it cannot know who renewed meanwhile, so nobody is judged
        before a full lease has passed.
        """
        for worker in workers:
            if worker not in self._cut:
                self.renew(worker, now)

    def cut(self, worker: str, now: float) -> None:
        """End the lease of a worker that can't do anything any more now, if it has not ended: the send deadline runs from here."""
        if worker in self._until:
            self._until[worker] = min(now, self._until[worker])
            self._cut.add(worker)

    def forget(self, worker: str) -> None:
        """End the lease of a worker whose session is over."""
        self._until.pop(worker, None)
        self._cut.discard(worker)

    def is_cut(self, worker: str) -> bool:
        """Return whether the lease was cut, and not renewed since: there is nobody who could come back."""
        return worker in self._cut

    def until(self, worker: str) -> float | None:
        """Return when the lease ends or ended; None: the worker has none."""
        return self._until.get(worker)

    def is_alive(self, worker: str, now: float) -> bool:
        """Return whether the lease has not ended: the worker can take units."""
        return now < self._until.get(worker, now)

    def is_any_alive(self, now: float) -> bool:
        """Return whether any lease has not ended."""
        return any(now < until for until in self._until.values())

    def is_over(self, worker: str, now: float) -> bool:
        """Return whether the worker surely does nothing any more: lease and send deadline have passed."""
        until = self._until.get(worker)
        return until is not None and now >= until + self.timing.send_deadline

    def over(self, now: float) -> list[str]:
        """Return the workers that surely do nothing any more, by id."""
        return sorted(worker for worker in self._until if self.is_over(worker, now))

    def next_event(self, now: float) -> float:
        """Return when the next lease ends or the next worker is over."""
        ends = [end for until in self._until.values() for end in (until, until + self.timing.send_deadline) if now < end]
        return min(ends, default=float("inf"))
