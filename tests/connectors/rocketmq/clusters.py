"""A cluster of RocketMQ as tests of copying write and read it."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rocketmq_remoting import Client, Message, PulledMessage, TopicNotFound

LIMIT = 120.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster.

    Attributes:
        servers: Its name server.
        client: Of it.
    """

    servers: str
    client: Client

    def make(self, topic: str, queues: int = 1, **more: object) -> None:
        self.client.create_topic(topic, queues=queues, **more)  # type: ignore[arg-type]

    def put(self, topic: str, bodies: Sequence[bytes], queue: int = 0, **more: object) -> None:
        target = self.client.queues(topic)[queue]
        for body in bodies:
            self.client.send(target, Message(body, **more))  # type: ignore[arg-type]
        self.client.barrier(target.broker)

    def put_all(self, topic: str, messages: Sequence[Message], queue: int = 0) -> None:
        target = self.client.queues(topic)[queue]
        for begin in range(0, len(messages), 500):
            self.client.send_batch(target, messages[begin : begin + 500], 60.0)
        self.client.barrier(target.broker)

    def read(self, topic: str) -> dict[int, list[PulledMessage]]:
        """All messages by the number of their queue."""
        found: dict[int, list[PulledMessage]] = {}
        try:
            queues = self.client.queues(topic, fresh=True)
        except TopicNotFound:
            return {}
        for queue in queues:
            self.client.barrier(queue.broker)
            at, end = self.client.min_offset(queue), self.client.max_offset(queue)
            found[queue.queue_id] = []
            while at < end:
                result = self.client.pull(queue, at)
                found[queue.queue_id] += result.messages
                at = result.next_offset
        return found

    def bodies(self, topic: str) -> list[bytes]:
        """Those of all messages, sorted."""
        return sorted(message.body for messages in self.read(topic).values() for message in messages)


def until(done: Callable[[], object], what: str) -> None:
    end = time.monotonic() + LIMIT
    while not done():
        assert time.monotonic() < end, f"{what} did not come within {LIMIT} s"
        time.sleep(0.01)


def options(cluster: Cluster, given: Mapping[str, str]) -> dict[str, str]:
    """Of a source that reads this cluster."""
    names = {"source.cluster": "A", "target.cluster": "B", "name.servers": cluster.servers}
    return {**names, **{name.replace("_", "."): value for name, value in given.items()}}
