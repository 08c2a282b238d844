"""Where the queues of a sink end while nothing is pulled from them: it is paused, or its target takes nothing."""

from collections.abc import Mapping

from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import RocketMQError
from rocketmq_remoting.model import MessageQueue

_SECONDS = 10.0
"""So often the broker is asked at most, once for each queue."""


class Ends:
    """Written by one thread, read by any."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asked: dict[MessageQueue, tuple[int, int]] = {}
        """By queue the end, and what its stream knew then."""
        self._next = float("-inf")

    def look(self, streams: Mapping[MessageQueue, int], now: float) -> Mapping[MessageQueue, int]:
        """Asks, if it is time to. What is not answered stays as it was.

        Args:
            streams: By queue what its stream knows of the end; 0: nothing.
            now: Monotonic time.

        Returns: the ends that were told just now.
        """
        told: dict[MessageQueue, int] = {}
        if now < self._next:
            return told
        self._next = now + _SECONDS
        for queue, known in streams.items():
            try:
                told[queue] = self._client.max_offset(queue)
            except RocketMQError:
                # Whoever reads the queue says what is wrong.
                break
            self._asked[queue] = told[queue], known
        return told

    def of(self, queue: MessageQueue, known: int) -> int | None:
        """Returns where a queue ends, as it was told last; None: not known.

        Args:
            queue: One of those that were looked at.
            known: What its stream knows now; 0: nothing.
        """
        asked = self._asked.get(queue)
        if asked is None:
            return known or None
        # What the stream was told since then is newer, be it lower: the topic may have been made anew.
        return asked[0] if known == asked[1] else known
