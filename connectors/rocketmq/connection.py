"""Writes messages to another cluster."""

from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from connectors.rocketmq import messages
from connectors.rocketmq.client import client_of, fault_of, place_of, prove, told
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.writes import Connection, Operation
from rocketmq_remoting import (
    EncodedBatch,
    InvalidMessage,
    InvalidRequest,
    Message,
    MessageQueue,
    PendingSend,
    RocketMQError,
    TopicNotFound,
    decode_properties,
    encode_batch,
    encode_properties,
    queue_alike,
)

_MOST = 1_000
"""So many messages go into one request."""
_ALONE = "%RETRY%"
"""Begins the names of topics whose brokers take each message in a request of its own."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A message that is to be sent: the index of its operation, and what it is."""

    index: int
    body: bytes
    properties: bytes

    @property
    def size(self) -> int:
        return len(self.body) + len(self.properties)


class RocketmqConnection(Connection):
    """Sends what goes to one queue in its order, and to many queues at a time.

    Args:
        config: That of a sink.
        seconds: How long an answer may take; 0: as the configuration says.

    Raises:
        PermanentError: the client can't be made.
    """

    def __init__(self, config: Config, seconds: float = 0.0) -> None:
        self._config = config
        self._place = place_of(config)
        self._seconds = seconds or config["request.timeout"]
        self._client = client_of(config, config["group"], seconds)
        self._topics: dict[str, Sequence[MessageQueue]] = {}

    def ping(self) -> None:
        """See Connection."""
        with told(self._place):
            prove(self._client)

    def has(self, topic: str) -> bool:
        """Whether a topic is there."""
        with told(self._place):
            return self._client.topic_exists(topic)

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection. What was in the other cluster before is left out."""
        refused: dict[int, str] = {}
        waiting: dict[MessageQueue, deque[_Prepared]] = {}
        for index, operation in enumerate(operations):
            if self._config["target.cluster"] in messages.clusters_of(operation.headers):
                continue
            try:
                with_topic = self._queue(operation)
                prepared = _Prepared(
                    index, operation.value or b"", encode_properties(messages.sent_on(operation, self._config["source.cluster"]))
                )
            except (InvalidMessage, InvalidRequest) as error:
                refused[index] = str(error)
            except RocketMQError as error:
                raise fault_of(error, self._place) from error
            else:
                waiting.setdefault(with_topic, deque()).append(prepared)
        while waiting:
            self._send(waiting, refused)
        return refused

    def close(self) -> None:
        """See Connection."""
        self._client.close()

    def _queue(self, operation: Operation) -> MessageQueue:
        """The queue that is like the one that it was in."""
        _, broker, number = operation.more["queue"].rsplit("/", 2)
        topic = operation.target
        if topic not in self._topics:
            self._topics[topic] = self._queues(topic)
        return queue_alike(broker, int(number), self._topics[topic])

    def _queues(self, topic: str) -> Sequence[MessageQueue]:
        with suppress(TopicNotFound):
            return self._client.queues(topic, writable=True, fresh=True)
        if not self._config["target.create"]:
            msg = f"{self._place}: the topic {topic} is not there. Create it, or set target.create=true"
            raise SystemAway(msg)
        self._client.create_topic(topic, queues=self._config["target.queues"], keep=True)
        return self._client.queues(topic, writable=True, fresh=True)

    def _send(self, waiting: dict[MessageQueue, deque[_Prepared]], refused: dict[int, str]) -> None:
        """One request for each queue; takes what is confirmed or refused out of what waits.

        Raises:
            ConnectorError: it is not known of some whether they are there.
        """
        pending: list[tuple[MessageQueue, int, PendingSend]] = []
        fault: RocketMQError | None = None
        for queue, left in waiting.items():
            if queue.topic.startswith(_ALONE):
                self._send_alone(queue, left, refused)
                continue
            count, batch = self._batch(left)
            try:
                pending.append((queue, count, self._client.send_batch_async(queue, batch, self._seconds)))
            except RocketMQError as error:
                fault = error
        for queue, count, each in pending:
            left = waiting[queue]
            try:
                each.result()
            except InvalidMessage as error:
                # Which one of several it is nobody says.
                for prepared in [left.popleft() for _ in range(count)]:
                    if (why := str(error) if count == 1 else self._refusal(queue, prepared)) is not None:
                        refused[prepared.index] = why
            except RocketMQError as error:
                fault = error
            else:
                for _ in range(count):
                    left.popleft()
        for queue in [queue for queue, left in waiting.items() if not left]:
            del waiting[queue]
        if fault is not None:
            raise fault_of(fault, self._place) from fault

    def _send_alone(self, queue: MessageQueue, left: deque[_Prepared], refused: dict[int, str]) -> None:
        while left:
            message = Message(left[0].body, properties=decode_properties(left[0].properties))
            try:
                self._client.send(queue, message, self._seconds)
            except InvalidMessage as error:
                refused[left[0].index] = str(error)
            except RocketMQError as error:
                raise fault_of(error, self._place) from error
            left.popleft()

    def _refusal(self, queue: MessageQueue, prepared: _Prepared) -> str | None:
        """Sends a message alone; why it is refused, None: it is not."""
        try:
            self._client.send_batch(queue, encoded([prepared]), self._seconds)
        except InvalidMessage as error:
            return str(error)
        except RocketMQError as error:
            raise fault_of(error, self._place) from error
        return None

    def _batch(self, left: deque[_Prepared]) -> tuple[int, EncodedBatch]:
        """What goes into one request of what is left."""
        some: list[_Prepared] = []
        size = 0
        for prepared in left:
            size += prepared.size
            if some and (size > self._config["message.max.bytes"] or len(some) >= _MOST):
                break
            some.append(prepared)
        return len(some), encoded(some)


def encoded(some: Sequence[_Prepared]) -> EncodedBatch:
    """Messages as one request."""
    # How large one may be the broker says.
    return encode_batch([each.body for each in some], [each.properties for each in some], max_bytes=1 << 31)
