"""Where RocketMQ's tools have reset the consumer group of a task to, until the task has dealt with it."""

import threading
from collections.abc import Mapping

from rocketmq_remoting.model import MessageQueue


class GroupResets:
    """What brokers have told of, which they do once. Any thread may use it.

    It outlives a reader of queues: the answer to a pull of one that was closed meanwhile may be the one that tells it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: dict[MessageQueue, int] = {}

    def told(self, queue: MessageQueue, to: int) -> None:
        """A broker has told of it: the queue goes on at this offset."""
        with self._lock:
            self._told[queue] = to

    def __contains__(self, queue: MessageQueue) -> bool:
        """Whether a reset of the queue waits."""
        return queue in self._told

    def waiting(self) -> Mapping[MessageQueue, int]:
        """Those that wait."""
        with self._lock:
            return dict(self._told)

    def take(self) -> Mapping[MessageQueue, int]:
        """Those that wait; they wait no more."""
        with self._lock:
            taken, self._told = self._told, {}
        return taken
