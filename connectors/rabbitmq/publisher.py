"""What of a sink needs the client: a connection that publishes, and waits until the server has confirmed it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import pika
from pika.spec import Basic

from connectors.rabbitmq.client import Client
from connectors.rabbitmq.faults import MessageTooLarge, NotThere
from connectors.rabbitmq.options import EXCHANGE, HEADER, LONGEST, TEXTS
from rocketconnect_sdk.errors import RecordError, RetriableError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.wording.counts import counted
from rocketconnect_sdk.writes import Connection, Operation

_MOST_PRIORITY = 255
_FRAME_REST = 4_096
"""So many bytes of a frame are left for what is beside headers."""


@dataclass(slots=True)
class _Message:
    exchange: str
    routing_key: str
    body: bytes
    properties: Any
    is_returned: bool = False

    @property
    def known_by(self) -> tuple[str, str, str | None]:
        """What is told of it when it comes back."""
        return self.exchange, self.routing_key, self.properties.message_id


class RabbitmqConnection(Connection):
    """Publishes the messages of a batch without waiting between them, and counts what is confirmed."""

    def __init__(self, config: Config, name: str) -> None:
        self._client = Client(config, name)
        self._declare: str = config["exchange.declare"]
        self._is_fixed = "${" not in config["exchange"]
        self._unroutable: str = config["unroutable"]
        self._expiration = str(round(config["expiration"] * 1000)) if config["expiration"] else None
        self._mode = pika.DeliveryMode.Persistent.value if config["persistent"] else pika.DeliveryMode.Transient.value
        self._exchanges = {""}
        self._most = 0
        self._waiting: dict[int, int] = {}
        """By the number on the channel the index of a message that is not confirmed, in their order."""
        self._begun: Sequence[Operation] = ()
        self._messages: dict[int, _Message] = {}
        """By index in what was begun what is not confirmed."""
        self._refused: dict[int, str] = {}
        try:
            self._confirm()
        except BaseException:
            self._client.end()
            raise

    def ping(self) -> None:
        """See Connection. It was let in when it connected."""
        self._client.turn()

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection. Tried again it goes on with what was not confirmed."""
        if self._begun != operations:
            messages, refused = self._all_made(operations)
            # Not before all are made: what is begun is gone on with.
            self._begun, self._messages, self._refused = operations, messages, refused
            self._refuse_large()
        while self._messages:
            try:
                self._publish()
            except MessageTooLarge as error:
                # Which one it was the server does not say, and what came behind it is dropped.
                self._most = error.most
                if not self._refuse_large():
                    raise
                self._client.reopen()
                self._confirm()
        self._begun = ()
        return self._refused

    def close(self) -> None:
        """See Connection."""
        self._client.end()

    def _confirm(self) -> None:
        self._number = 0
        self._waiting = {}
        self._client.channel.add_on_return_callback(self._returned)
        self._client.call("confirm_delivery", ack_nack_callback=self._answered)

    def _all_made(self, operations: Sequence[Operation]) -> tuple[dict[int, _Message], dict[int, str]]:
        """By index the messages, and what is wrong with operations that have none."""
        made: dict[int, _Message] = {}
        refused: dict[int, str] = {}
        for index, operation in enumerate(operations):
            try:
                made[index] = self._made(operation)
            except RecordError as error:
                refused[index] = str(error)
        return made, refused

    def _made(self, operation: Operation) -> _Message:
        texts = {"routing key": operation.target, **operation.more}
        headers = {name.removeprefix(HEADER): text for name, text in operation.more.items() if name.startswith(HEADER)}
        size = sum(len(_bytes(name, text)) for name, text in texts.items())
        if size + sum(map(len, headers)) > self._client.frame - _FRAME_REST:
            msg = f"its headers and properties take {size:,} bytes, and the server takes {self._client.frame - _FRAME_REST:,}"
            raise RecordError(msg)
        long = next((name for name, text in texts.items() if not name.startswith(HEADER) and len(text.encode()) > LONGEST), None)
        if long is not None:
            msg = f"its {long} takes more than the {LONGEST} bytes that AMQP allows"
            raise RecordError(msg)
        properties: dict[str, Any] = {name: operation.more[key] for key, name in TEXTS.items() if key in operation.more}
        if "priority" in properties:
            properties["priority"] = _priority(properties["priority"])
        made = pika.BasicProperties(headers=headers or None, delivery_mode=self._mode, expiration=self._expiration, **properties)
        exchange = operation.more.get(EXCHANGE, "")
        if not exchange and not self._is_fixed:
            msg = "the record has nothing where `exchange` looks for a name"
            raise RecordError(msg)
        self._look_for(exchange)
        return _Message(exchange, operation.target, operation.value, made)

    def _look_for(self, exchange: str) -> None:
        """Makes an exchange, or makes sure that it is there: publishing to one that is not would end the channel.

        Raises:
            RecordError: it is not there, and comes of a record.
        """
        if exchange in self._exchanges:
            return
        how: dict[str, Any] = {"exchange_type": self._declare, "durable": True} if self._declare else {"passive": True}
        try:
            self._client.call("exchange_declare", exchange=exchange, **how)
        except NotThere as error:
            if self._is_fixed:
                raise
            self._client.reopen()
            self._confirm()
            raise RecordError(str(error)) from None
        self._exchanges.add(exchange)

    def _refuse_large(self) -> bool:
        large = {index: message for index, message in self._messages.items() if self._most and len(message.body) > self._most}
        for index, message in large.items():
            self._refused[index] = (
                f"it has {len(message.body):,} bytes, and the server takes {self._most:,} at most (max_message_size)"
            )
            del self._messages[index]
        return bool(large)

    def _publish(self) -> None:
        """Publishes what is left. What is confirmed is left no more.

        Raises:
            RetriableError: some are not confirmed.
        """
        for index, message in list(self._messages.items()):
            message.is_returned = False
            self._number += 1
            self._waiting[self._number] = index
            self._client.send(
                "basic_publish",
                exchange=message.exchange,
                routing_key=message.routing_key,
                body=message.body,
                properties=message.properties,
                mandatory=self._unroutable != "drop",
            )
        while self._waiting:
            left = len(self._waiting)
            self._client.wait(lambda left=left: len(self._waiting) < left)  # type: ignore[misc]
        returned = {index: message for index, message in self._messages.items() if message.is_returned}
        told = [_no_queue(message) for message in returned.values()]
        if self._unroutable == "refuse":
            for (index, _), why in zip(returned.items(), told, strict=True):
                self._refused[index] = why
                del self._messages[index]
        elif told:
            msg = f"{self._client.place}: {counted(len(told), 'message')} unroutable, the first: {told[0]}"
            raise RetriableError(msg)
        if self._messages:
            why = "the server has not taken them: a queue is full (x-overflow), or can't keep them for now"
            msg = f"{self._client.place}: {counted(len(self._messages), 'message')} refused: {why}"
            raise RetriableError(msg)

    def _returned(self, _: Any, method: Any, properties: Any, __: bytes) -> None:
        """No queue takes a message. It is told before the message is confirmed."""
        known_by = (method.exchange, method.routing_key, properties.message_id)
        for index in self._waiting.values():
            message = self._messages[index]
            if message.known_by == known_by and not message.is_returned:
                message.is_returned = True
                return

    def _answered(self, frame: Any) -> None:
        """The server has confirmed some messages, or has not taken them."""
        last, is_taken = frame.method.delivery_tag, isinstance(frame.method, Basic.Ack)
        numbers = list(takewhile(lambda number: number <= last, self._waiting)) if frame.method.multiple else [last]
        for number in numbers:
            index = self._waiting.pop(number)
            if is_taken and not self._messages[index].is_returned:
                del self._messages[index]


def _bytes(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        msg = f"its {name.removeprefix(HEADER)} is no text in UTF-8"
        raise RecordError(msg) from None


def _priority(text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) <= 3 and int(text) <= _MOST_PRIORITY:
        return int(text)
    msg = f"its priority {text[:100]!r} is no whole number from 0 to {_MOST_PRIORITY}"
    raise RecordError(msg)


def _no_queue(message: _Message) -> str:
    return f"no queue takes it from the exchange {message.exchange!r} by the routing key {message.routing_key!r}"
