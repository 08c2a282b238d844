"""Commits positions in the background, one under way at a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rocketconnect_kit.backoff import Backoff
from services.executor.runtime.positions.client import CALL_SECONDS, PositionClient, PositionsAway
from services.executor.runtime.positions.stored import Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import grpc
    from rocketconnect.position.v1 import position_service_pb2 as wire

_MOST_UPDATES = 5_000
_MOST_BYTES = 4 << 20
"""Of what goes with the offsets: a message to the service holds 16 MiB."""


def _first(waiting: dict[str, Stored]) -> tuple[dict[str, Stored], dict[str, Stored]]:
    """What goes with the next commit, and the rest: a commit takes a limited number of positions.

    The rows that tasks keep for themselves ("~...") go last: what they say holds for positions that are stored already.
    """
    ordered = sorted(waiting.items(), key=lambda item: item[0].startswith("~"))
    size = 0
    for count, (_, stored) in enumerate(ordered):
        size += len(stored.text)
        if count == _MOST_UPDATES or (count and size > _MOST_BYTES):
            return dict(ordered[:count]), dict(ordered[count:])
    return waiting, {}


class Committer:
    """Stores positions in the background: what is new is merged, and one commit is under way at a time.

    Used by one thread. Positions that could not be stored yet stay here: one value for each partition, so that memory is bounded
    by the number of partitions.

    Args:
        client: The position service.
        interval: Seconds from one commit to the next.
        woken: Called from another thread when a commit has ended.
        stored: Called in `poll` and `flush` with what is stored now.
    """

    def __init__(
        self,
        client: PositionClient,
        interval: float,
        woken: Callable[[], None],
        stored: Callable[[Mapping[str, Stored]], None],
    ) -> None:
        self._client = client
        self._interval = interval
        self._woken = woken
        self._stored = stored
        self._waiting: dict[str, Stored] = {}
        # Sent, and not known to be stored.
        self._under_way: dict[str, Stored] = {}
        self._call: grpc.Future[wire.CommitPositionsResponse] | None = None
        self._backoff = Backoff(0.1, 2.0)
        self._not_before = 0.0
        self.trouble = ""

    @property
    def idle(self) -> bool:
        """True when everything is stored."""
        return not self._under_way and not self._waiting

    def put(self, positions: Mapping[str, Stored]) -> None:
        """These are to be stored; what was put before for the same partitions is out of date."""
        self._waiting.update(positions)

    def poll(self, *, soon: bool = False) -> float:
        """Ends a commit that was answered and begins the next one when it is due.

        Args:
            soon: It is due now, whatever the interval: nothing else is going on.

        Returns: seconds until it should be called again; it wakes by itself for an answer.

        Raises:
            Fenced: refused.
        """
        now = time.monotonic()
        if self._call is not None:
            if not self._call.done():
                return self._interval
            self._finish()
        if self.idle:
            return self._interval
        due = self._not_before - (0.0 if self.trouble or not soon else self._interval * 0.8)
        if now < due:
            return due - now
        self._begin()
        return self._interval

    def flush(self, until: float, *, clean: bool = False) -> bool:
        """Stores all there is, now; true when everything is stored before the monotonic time `until`.

        Args:
            until: Monotonic time.
            clean: Say that the task has ended and everything that it sent is covered.

        Raises:
            Fenced: refused.
        """
        finished = False
        while True:
            if self._call is not None:
                self._finish()
            if self.idle and not self.trouble and (finished or not clean):
                return True
            if time.monotonic() >= until:
                return False
            if self.trouble:
                # The try after it needs time, too: one that always had none would never succeed.
                time.sleep(min(self._backoff.pause(), max(0.0, until - time.monotonic()) / 2))
            self._begin(clean=clean, seconds=min(CALL_SECONDS, max(0.0, until - time.monotonic())))
            finished = not self._waiting

    def _begin(self, *, clean: bool = False, seconds: float = CALL_SECONDS) -> None:
        """Begins the next commit, or the one whose outcome is not known again, as it was; `clean` goes with the last one."""
        if not self._under_way:
            self._under_way, self._waiting = _first(self._waiting)
        self._not_before = time.monotonic() + self._interval
        self._call = self._client.commit(self._under_way, clean=clean and not self._waiting, seconds=seconds)
        self._call.add_done_callback(lambda _call: self._woken())

    def _finish(self) -> None:
        call, self._call = self._call, None
        if call is None:
            return
        under_way = self._under_way
        try:
            self._client.settled(call, under_way)
        except PositionsAway as error:
            self.trouble = str(error)
            self._not_before = time.monotonic() + self._backoff.pause()
            return
        self._under_way = {}
        self.trouble = ""
        self._backoff.reset()
        self._stored(under_way)
