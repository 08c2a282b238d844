"""A channel to the replicas of a service."""

from collections.abc import Sequence
from typing import Any

from rocketconnect_kit.errors import Unavailable
from tests.simulation.world import CALL_SECONDS, Process, Steps

_FIRST_BACKOFF = 0.15


class Replicas:
    """Mirrors kit/channel.channel: a call that got no answer is made again at the next replica, as long as its deadline lets it."""

    def __init__(self, process: Process, names: Sequence[str]) -> None:
        self._process = process
        self._names = names
        self._index = process.world.random.randrange(len(names))

    @property
    def name(self) -> str:
        """The one that is asked next."""
        return self._names[self._index]

    def call(self, method: str, args: Any, seconds: float = CALL_SECONDS) -> Steps:
        """Raises Unavailable when the time is over."""
        process, backoff = self._process, _FIRST_BACKOFF
        until = process.clock() + seconds
        while True:
            try:
                return (yield process.world.network.call(process, self.name, method, args, until - process.clock()))
            except Unavailable:
                self._index = (self._index + 1) % len(self._names)
                if process.clock() + backoff >= until:
                    raise
            yield backoff
            backoff *= 2.5
