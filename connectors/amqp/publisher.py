"""What of a sink needs the client: a connection on which messages go, and which waits for what becomes of each."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import uuid4

from proton import Delivery, Event, Link

from connectors.amqp.client import Client
from connectors.amqp.faults import MessageTooLarge, refused, words_of
from connectors.amqp.shaping import Making
from rocketconnect_sdk.errors import ConnectorError, PermanentError, RecordError, RetriableError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.wording.counts import counted
from rocketconnect_sdk.writes import Connection, Operation

_MOST_LINKS = 200
_AHEAD_BYTES = 1 << 20
"""So many bytes are handed to the network before it has taken them."""


@dataclass(slots=True)
class _Message:
    address: str
    encoded: bytes
    why: str = ""
    """Why the broker has given it back."""


class AmqpConnection(Connection):
    """Sends the messages of a batch without waiting between them, and counts what is accepted."""

    def __init__(self, config: Config, name: str, making: Making, *, is_fixed: bool) -> None:
        self._config = config
        self._name = name
        self._client = self._connected()
        self._making = making
        self._is_fixed = is_fixed
        self._begun: Sequence[Operation] = ()
        self._messages: dict[int, _Message] = {}
        """By index in what was begun what is not accepted."""
        self._refused: dict[int, str] = {}
        self._begin()

    def ping(self) -> None:
        """See Connection. It was let in when it connected."""
        self._client.turn()

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection. Tried again it goes on with what was not accepted."""
        self._look_after()
        if self._begun != operations:
            self._begun, self._messages, self._refused = (), {}, {}
            for index, operation in enumerate(operations):
                try:
                    encoded = self._making.encoded(operation, self._client.prefix(self._making.kind) + operation.target)
                    self._messages[index] = _Message(operation.target, encoded)
                except RecordError as error:
                    self._refused[index] = str(error)
            # Not before all are made: what is begun is gone on with.
            self._begun = operations
        for index, message in list(self._messages.items()):
            self._send(index, message)
        self._client.wait(lambda: not self._waiting, "has not said what becomes of each message")
        self._last = time.monotonic()
        self._one_by_one()
        if self._messages:
            first = next(iter(self._messages.values()))
            msg = f"{self._client.place}: {counted(len(self._messages), 'message')} not accepted, the first: {first.why}"
            raise RetriableError(msg)
        self._begun = ()
        return self._refused

    def close(self) -> None:
        """See Connection."""
        self._client.end()

    def _connected(self) -> Client:
        return Client(self._config, f"{self._name}-{uuid4().hex[:8]}")

    def _begin(self) -> None:
        self._links: dict[str, Any] = {}
        self._waiting: dict[bytes, int] = {}
        """By the tag of a delivery the index of its message."""
        self._tags = count()
        self._large: list[int] = []
        """What was on its way when the broker found a message too large, which it does not name."""
        self._last = time.monotonic()
        for event, call in (
            (Event.DELIVERY, self._on_delivery),
            (Event.LINK_REMOTE_CLOSE, self._on_end),
            (Event.LINK_REMOTE_DETACH, self._on_end),
        ):
            self._client.on(event, call)

    def _look_after(self) -> None:
        """Connects again where the connection has ended, or the broker has heard nothing for so long that it may have ended it."""
        if self._client.has_ended or time.monotonic() - self._last >= self._client.ping_seconds:
            self._client.end()
            self._client = self._connected()
            self._begin()

    def _send(self, index: int, message: _Message) -> None:
        link = self._link(index, message)
        if link is None:
            return
        most = link.remote_max_message_size
        if most and len(message.encoded) > most:
            self._refuse(index, f"it takes {len(message.encoded):,} bytes, and the broker allows {most:,}")
            return
        if link.credit <= 0:
            self._client.wait(lambda: link.credit > 0 or self._is_gone(link), f"takes nothing for {message.address!r}")
            if self._is_gone(link):
                self._send(index, message)
                return
        tag = next(self._tags)
        self._waiting[str(tag).encode()] = index
        link.delivery(str(tag))
        link.send(message.encoded)
        link.advance()
        if link.session.outgoing_bytes >= _AHEAD_BYTES:
            self._client.wait(lambda: link.session.outgoing_bytes < _AHEAD_BYTES, "takes nothing of what is sent")

    def _link(self, index: int, message: _Message) -> Any:
        """The link to an address; None: there is none, and the record is refused."""
        found = self._links.pop(message.address, None)
        if found is None:
            if len(self._links) >= _MOST_LINKS:
                # All that it had sent is settled before another one takes its place.
                self._client.wait(lambda: not self._waiting)
                self._links.pop(next(iter(self._links))).close()
            try:
                found = self._attached(message.address)
            except PermanentError as error:
                if self._is_fixed:
                    raise
                self._refuse(index, str(error))
                return None
        self._links[message.address] = found
        return found

    def _attached(self, address: str) -> Any:
        client, kind = self._client, self._making.kind
        link = client.sender(f"{address}-{uuid4().hex[:8]}")
        link.snd_settle_mode, link.rcv_settle_mode = Link.SND_UNSETTLED, Link.RCV_FIRST
        link.source.address = address
        link.target.address = client.prefix(kind) + address
        client.say(link.target, kind)
        client.attach(link, f"{kind or 'address'} {address!r}")
        return link

    def _is_gone(self, link: Any) -> bool:
        return link not in self._links.values()

    def _refuse(self, index: int, why: str) -> None:
        self._refused[index] = why
        self._messages.pop(index, None)

    def _on_delivery(self, event: Any) -> None:
        """The broker has said what becomes of a message."""
        delivery = event.delivery
        if not delivery.link.is_sender or not (delivery.remote_state or delivery.settled):
            return
        index = self._waiting.pop(delivery.tag.encode(), None)
        if index is not None:
            self._take(index, delivery)
        delivery.settle()

    def _take(self, index: int, delivery: Any) -> None:
        state, remote = delivery.remote_state, delivery.remote
        if state == Delivery.ACCEPTED:
            self._messages.pop(index)
        elif state == Delivery.REJECTED:
            why = words_of(remote.condition) if remote.condition is not None else "it does not say why"
            self._refuse(index, f"the broker rejects it: {why}")
        else:
            self._messages[index].why = (
                "the broker has given it back (released)" if state == Delivery.RELEASED else "it has given it back"
            )

    def _on_end(self, event: Any) -> None:
        """The broker has ended a link: what was on its way is sent again, or refused where it says that it does not take it."""
        link = event.link
        address = next((name for name, each in self._links.items() if each == link), None)
        if address is None:
            return
        del self._links[address]
        error: ConnectorError = refused(link.remote_condition, self._client.place, f"{self._making.kind or 'address'} {address!r}")
        link.close()
        lost = [tag for tag, index in self._waiting.items() if self._messages[index].address == address]
        indexes = [self._waiting.pop(tag) for tag in lost]
        if isinstance(error, MessageTooLarge) and indexes:
            self._large += indexes
        elif isinstance(error, PermanentError) and not self._is_fixed:
            for index in indexes:
                self._refuse(index, str(error))
        else:
            self._client.fail(error)

    def _one_by_one(self) -> None:
        """Sends again what was on its way with a message that is too large, so that it is known which one that is."""
        while self._large:
            some, self._large = self._large, []
            for index in some:
                self._send(index, self._messages[index])
                self._client.wait(lambda: not self._waiting, "has not said what becomes of each message")
                if index in self._large:
                    self._large.remove(index)
                    size = len(self._messages[index].encoded)
                    self._refuse(index, f"it takes {size:,} bytes, and the broker takes no message of this size")
