"""Until when the tasks of a host may write."""

from __future__ import annotations

import threading

from rocketconnect_kit.clock import boot_seconds
from rocketconnect_sdk.errors import SystemAway


class Lease:
    """Until when this worker may write. One for all tasks of a host; safe to use from any thread.

    It begins expired. Times are of `boot_seconds`, which is the same in all processes of a machine and goes on while that is
    suspended.
    """

    def __init__(self) -> None:
        self._until = float("-inf")
        self._changes = 0
        self._counting = threading.Lock()

    @property
    def until(self) -> float:
        """The time at which it ends, by `boot_seconds`."""
        return self._until

    def renew(self, until: float) -> None:
        """It now ends at this time; a renewal that arrives late does not shorten it."""
        # One writer (the host's command loop) and a single assignment: readers see the old value or the new one.
        self._until = max(self._until, until)

    def valid(self) -> bool:
        """True while it lasts."""
        return boot_seconds() < self._until

    def check(self) -> None:
        """Return if it lasts (invariant 3: without a lease somebody else may own the task).

        Raises:
            SystemAway: it has run out; for people, what is waited for.
        """
        if not self.valid():
            msg = "the lease of this worker has run out; waiting for the cluster service or the position service to confirm it"
            raise SystemAway(msg)

    def begin_change(self) -> None:
        """A target is changed for good from here to `end_change`: see `outlived`.

        Raises:
            SystemAway: see `check`; nothing has begun.
        """
        with self._counting:
            self._changes += 1
        try:
            # Only now: whoever finds no change under way after the lease has ended must not miss this one.
            self.check()
        except SystemAway:
            self.end_change()
            raise

    def end_change(self) -> None:
        """The change is made, or has failed."""
        with self._counting:
            self._changes -= 1

    def outlived(self, grace: float) -> bool:
        """True when the lease ended more than so many seconds ago and a change that began in it is still under way."""
        return self._changes > 0 and boot_seconds() > self._until + grace
