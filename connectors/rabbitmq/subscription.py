"""What of a source needs the client: a connection that takes messages."""

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

from connectors.rabbitmq.client import Client
from connectors.rabbitmq.messages import STREAM_OFFSET, received
from connectors.rabbitmq.options import QUEUE_TYPE, arguments_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.queues import Received, Share, Subscription
from rocketconnect_sdk.queues.values import VALUES

_PINGS = 3
"""So many times within a heartbeat the connection is looked after."""


class RabbitmqSubscription(Subscription):
    """A consumer of each queue, on one channel."""

    def __init__(self, config: Config, share: Share, context: TaskContext) -> None:
        self._make = partial(received, value=VALUES[config["value.format"]], key=config["key"], most_bytes=context.max_record_bytes)
        self._held: deque[Received] = deque()
        self._queues: dict[str, str] = {}
        heartbeat: float = config["heartbeat"]
        if heartbeat:
            self.ping_seconds = min(heartbeat / _PINGS, Subscription.ping_seconds)
        self._client = Client(config, share.identity, heartbeat=heartbeat)
        try:
            self._consume(config, share)
        except BaseException:
            self._client.end()
            raise

    def receive(self, limit: int, size: int, seconds: float) -> Sequence[Received]:
        """See Subscription. Little is read beyond what is given: the rest waits in the network, and at the server."""
        found: list[Received] = []
        while len(found) < limit and size > 0:
            if not self._held and not self._client.turn(lambda: self._held, 0.0 if found else seconds):
                break
            found.append(self._held.popleft())
            size -= found[-1].size
        return found

    def ack(self, tags: Sequence[Any]) -> None:
        """See Subscription."""
        self._client.send("basic_ack", delivery_tag=tags[-1], multiple=True)
        self._client.turn()

    def ping(self, tags: Sequence[Any]) -> None:
        """See Subscription. Reads a few KiB, since heartbeats may be among them."""
        del tags
        self._client.turn()

    def close(self) -> None:
        """See Subscription. The server gives what is not acknowledged to others, or again."""
        self._client.end()

    def _consume(self, config: Config, share: Share) -> None:
        client, queues = self._client, config["queues"]
        if not share.passing:
            _declare(client, config)
        client.call("basic_qos", prefetch_count=max(1, share.prefetch // len(queues)))
        client.channel.add_on_cancel_callback(self._cancelled)
        for number, name in enumerate(queues):
            on_message = partial(self._on_message, name)
            tag = f"{share.identity} {number}"
            self._queues[tag] = name
            client.call("basic_consume", queue=name, on_message_callback=on_message, consumer_tag=tag)

    def _on_message(self, queue: str, _: Any, method: Any, properties: Any, body: bytes) -> None:
        if STREAM_OFFSET in (properties.headers or {}):
            why = f"the queue {queue!r} is a stream, and gives no message again that was not acknowledged"
            self._client.fail(PermanentError(f"{self._client.place}: {why}. Read a queue that is bound to the same"))
            return
        self._held.append(self._make(queue, method, properties, body))

    def _cancelled(self, frame: Any) -> None:
        queue = self._queues[frame.method.consumer_tag]
        why = f"the server gives nothing of the queue {queue!r} any more: it was deleted, or its node has gone"
        self._client.fail(SystemAway(f"{self._client.place}: {why}"))


def _declare(client: Client, config: Config) -> None:
    """Makes queues and bindings, as the options say.

    Raises:
        PermanentError: the server refuses it, such as where a queue is there in another form.
    """
    if config["declare"]:
        arguments = {QUEUE_TYPE: config["declare"], **arguments_of(config["declare.arguments"])}
        for name in config["queues"]:
            client.call("queue_declare", queue=name, durable=True, arguments=arguments)
    for name in config["queues"]:
        for exchange, _, routing_key in (pair.partition("=") for pair in config["bindings"]):
            client.call("queue_bind", queue=name, exchange=exchange, routing_key=routing_key)
