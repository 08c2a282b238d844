"""What is in a topic: how much, and the records."""

import json
from collections.abc import Iterator
from typing import Any

from rocketmq_remoting import Client, PullStream
from rocketmq_remoting.model import MessageQueue

_PULL_SECONDS = 5.0


class Topic:
    """A topic that is made for a measurement.

    Args:
        client: Of its broker.
        name: A new one.
        queues: How many.
    """

    def __init__(self, client: Client, name: str, queues: int = 8) -> None:
        self.name = name
        self._client = client
        client.create_topic(name, queues=queues)
        self._queues: list[MessageQueue] = client.queues(name)

    def count(self) -> int:
        """How many messages there are."""
        return sum(map(self._client.max_offset, self._queues))

    def records(self) -> Iterator[Any]:
        """The JSON of all, queue by queue."""
        for queue in self._queues:
            self._client.barrier(queue.broker)
            end = self._client.max_offset(queue)
            with PullStream(self._client, queue, 0) as stream:
                while stream.position < end:
                    for message in stream.next(_PULL_SECONDS) or ():
                        yield json.loads(message.body)
