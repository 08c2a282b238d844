"""Waits at brokers for messages, in threads of its own: a server lets no client ask without waiting for some seconds."""

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import grpc

from connectors.rocketmq_grpc import faults
from connectors.rocketmq_grpc.client import Client, Endpoint
from connectors.rocketmq_grpc.rocketmq import messaging_v2_pb2 as pb

_MOST = 32
"""So many messages a server gives at once at most."""
_WAIT_SECONDS = 5.0
"""How long a server may wait for a message: no less than that is allowed. What it waits for when we have left comes later."""
_PAUSE_SECONDS = 0.5
"""Where it answers at once, and gives nothing."""
_MOST_WAITING_BYTES = 8 << 20
"""Nothing is asked for while so many bytes wait here."""
_MOST_GIVEN = 4_096
"""Of a server that gives more messages than it was asked for so many are taken: each time that one is given again is counted."""
_END_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where messages are.

    Attributes:
        topic: The topic.
        broker: The name of the broker.
        endpoint: Where that is asked.
    """

    topic: str
    broker: str
    endpoint: Endpoint


@dataclass(slots=True)
class Held:
    """A message that was received, and is not done.

    Attributes:
        place: Where it was.
        message: The message.
        handle: What the server knows it by; renewing gives it another one.
        renewed: When the server was last told to keep it for us.
    """

    place: Place
    message: pb.Message
    handle: str
    renewed: float


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for.

    Attributes:
        group: The consumer group.
        expression: Which messages.
        invisible_seconds: So long nobody else gets a message.
        prefetch: So many messages are received and not done, at most; of each place one at least.
    """

    group: pb.Resource
    expression: pb.FilterExpression
    invisible_seconds: float
    prefetch: int


class Inbox:
    """What was received and not given yet, of all places. Safe to use from any thread.

    Args:
        client: Asks.
        wanted: What is asked for.
        places: Where; not to be changed.
    """

    def __init__(self, client: Client, wanted: Wanted, places: Sequence[Place]) -> None:
        self._client = client
        self._wanted = wanted
        self._quota = max(1, wanted.prefetch // max(1, len(places)))
        self._changed = threading.Condition()
        self._waiting: deque[Held] = deque()
        self._waiting_bytes = 0
        self._out: dict[Place, int] = dict.fromkeys(places, 0)
        """How many messages were asked for or received and are not done."""
        self._calls: dict[Place, Any] = {}
        self._fault: Exception | None = None
        self._is_over = False
        self._threads = [threading.Thread(target=self._run, args=(place,), daemon=True) for place in places]

    def start(self) -> None:
        """Begins to ask."""
        for thread in self._threads:
            thread.name = "rocketmq-grpc-receiving"
            thread.start()

    def take(self, limit: int, size: int, seconds: float) -> list[Held]:
        """Some messages, in the order of each place: at most `limit`, and no more when they have so many bytes.

        Raises:
            ConnectorError: nothing is left, and no more comes; any other error is a defect.
        """
        found: list[Held] = []
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._fault, seconds)
            while self._waiting and len(found) < limit and size > 0:
                found.append(self._waiting.popleft())
                length = len(found[-1].message.body)
                self._waiting_bytes -= length
                size -= length
            if not found and self._fault is not None:
                raise self._fault
            self._changed.notify_all()
        return found

    def waiting(self) -> list[Held]:
        """What was not given yet."""
        with self._changed:
            return list(self._waiting)

    def done(self, places: Mapping[Place, int]) -> None:
        """So many messages of these places are done."""
        with self._changed:
            for place, count in places.items():
                self._out[place] -= count
            self._changed.notify_all()

    def end(self) -> None:
        """Asks no more. Never raises."""
        with self._changed:
            self._is_over = True
            calls = list(self._calls.values())
            self._changed.notify_all()
        for call in calls:
            call.cancel()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_END_SECONDS)

    def _run(self, place: Place) -> None:
        try:
            while (count := self._reserved(place)) > 0:
                began = time.monotonic()
                received = self._ask(place, count)
                if not received and time.monotonic() - began < _PAUSE_SECONDS:
                    with self._changed:
                        self._changed.wait_for(lambda: self._is_over, _PAUSE_SECONDS)
        except Exception as error:
            # Also a defect: nobody would ask any more, and nobody would know.
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        with self._changed:
            if not self._is_over and self._fault is None:
                self._fault = error
            self._changed.notify_all()

    def _reserved(self, place: Place) -> int:
        """For how many messages there is room; waits for some. 0: it is over."""

        def room() -> int:
            return 0 if self._waiting_bytes >= _MOST_WAITING_BYTES else min(_MOST, self._quota - self._out[place])

        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._fault or room() > 0)
            if self._is_over or self._fault is not None:
                return 0
            count = room()
            self._out[place] += count
            return count

    def _ask(self, place: Place, count: int) -> int:
        """Asks once; returns how many messages came. Raises ConnectorError."""
        request = pb.ReceiveMessageRequest(
            group=self._wanted.group,
            message_queue=pb.MessageQueue(
                topic=self._client.resource(place.topic), id=-1, permission=pb.READ, broker=pb.Broker(name=place.broker)
            ),
            filter_expression=self._wanted.expression,
            batch_size=count,
        )
        request.invisible_duration.FromMilliseconds(round(self._wanted.invisible_seconds * 1000))
        request.long_polling_timeout.FromMilliseconds(round(_WAIT_SECONDS * 1000))
        came = 0
        try:
            answers = self._client.receive(place.endpoint, request, _WAIT_SECONDS)
            with self._changed:
                self._calls[place] = answers
                if self._is_over:
                    answers.cancel()
            for answer in answers:
                if answer.HasField("message"):
                    if came >= count and (came >= _MOST_GIVEN or self._waiting_bytes >= _MOST_WAITING_BYTES):
                        # There is no room for more: a server that gives it gives it again.
                        answers.cancel()
                        break
                    came += 1
                    self._put(Held(place, answer.message, answer.message.system_properties.receipt_handle, time.monotonic()))
                elif answer.HasField("status"):
                    self._judge(answer.status, place)
        except grpc.RpcError as error:
            if not (self._is_over and faults.was_cancelled(error)):
                raise faults.fault_of_call(error, self._client.place) from error
        finally:
            with self._changed:
                self._calls.pop(place, None)
                self._out[place] -= count - came
        return came

    def _judge(self, status: pb.Status, place: Place) -> None:
        if not (faults.is_done(status) or status.code == faults.NOTHING_NEW or faults.is_busy(status)):
            raise faults.fault_of(status, self._client.place, f"messages of {place.topic}")

    def _put(self, held: Held) -> None:
        with self._changed:
            self._waiting.append(held)
            self._waiting_bytes += len(held.message.body)
            self._changed.notify_all()
