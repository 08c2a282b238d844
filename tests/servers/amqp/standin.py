"""A small broker of AMQP 1.0 in this process, out of proton's own reactor. Real ones are slow to start, and do no wrong."""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from proton import Condition, Delivery, Message
from proton.handlers import MessagingHandler
from proton.reactor import ApplicationEvent, Container, EventInjector

from tests import free_ports

MISSING = "missing"
"""What has no such name is not there."""


@dataclass(slots=True)
class Held:
    """A message in a queue.

    Attributes:
        message: That.
        times: How often it was given already.
    """

    message: Message
    times: int = 0


@dataclass(slots=True)
class Faults:
    """What goes wrong with what is sent to it.

    Attributes:
        outcomes: What becomes of the next messages: "rejected", "released", "modified", "detached", "silent";
            then all are accepted.
        credit: So many messages a link may send ahead.
        largest: A link that has brought a larger message is ended.
        told: Links tell how large a message may be.
        refused: The condition of links to MISSING.
    """

    outcomes: list[str] = field(default_factory=list)
    credit: int = 100
    largest: int = 0
    told: int = 0
    refused: str = "amqp:not-found"


class StandIn(MessagingHandler):  # type: ignore[misc]  # it may not be there when types are looked at
    """A broker of queues, which are made when they are named.

    Attributes:
        faults: What it does wrong.
        links: So many links were attached.
        ignores_filters: It knows no selectors.
    """

    def __init__(self) -> None:
        super().__init__(prefetch=0, auto_accept=False, auto_settle=False)
        self.port = free_ports.choose()
        self.faults = Faults()
        self.links = 0
        self.ignores_filters = False
        self._lock = threading.RLock()
        self._queues: dict[str, deque[Held]] = {}
        self._senders: dict[Any, str] = {}
        self._given: dict[Any, tuple[Any, str, Held]] = {}
        self._connections: list[Any] = []
        self._injector = EventInjector()
        self._listens = threading.Event()

    @property
    def url(self) -> str:
        """Of the broker."""
        return f"amqp://127.0.0.1:{self.port}"

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """It does nothing until the end of the block."""
        goes_on = threading.Event()
        self._tell("hung", goes_on)
        try:
            yield
        finally:
            goes_on.set()

    @contextmanager
    def running(self) -> Iterator["StandIn"]:
        """Runs it until the end of the block."""
        self._container = Container(self)
        self._container.selectable(self._injector)
        thread = threading.Thread(target=self._container.run, daemon=True)
        thread.start()
        assert self._listens.wait(60)
        try:
            yield self
        finally:
            self._tell("ended")
            thread.join(60)

    def publish(self, queue: str, bodies: Sequence[Any], **of: object) -> None:
        """Puts messages into a queue."""
        with self._lock:
            for body in bodies:
                message = Message(body, **of)
                message.inferred = isinstance(body, bytes)
                self._queue(queue).append(Held(message))
        self._tell("given")

    def peek(self, queue: str) -> list[Message]:
        """The messages of a queue, which stay there."""
        with self._lock:
            return [each.message for each in self._queue(queue)]

    def texts(self, queue: str) -> list[str]:
        """The bodies of the messages of a queue, which stay there."""
        return [bytes(message.body).decode() for message in self.peek(queue)]

    def waiting(self, queue: str) -> int:
        """How many messages a queue has, those that are given and not settled, too."""
        with self._lock:
            return len(self._queue(queue)) + sum(name == queue for _, name, _ in self._given.values())

    def cut(self) -> None:
        """Ends all connections."""
        done = threading.Event()
        self._tell("cut", done)
        assert done.wait(60)

    def _tell(self, what: str, subject: object = None) -> None:
        self._injector.trigger(ApplicationEvent(what, subject=subject))

    def _queue(self, name: str) -> deque[Held]:
        return self._queues.setdefault(name, deque())

    def on_start(self, event: Any) -> None:
        """See MessagingHandler."""
        self._acceptor = event.container.listen(f"127.0.0.1:{self.port}")
        self._listens.set()

    def on_ended(self, event: Any) -> None:
        """See running."""
        del event
        self._acceptor.close()
        self._injector.close()
        self._container.stop()

    def on_cut(self, event: Any) -> None:
        """See cut."""
        connections, self._connections = self._connections, []
        for each in connections:
            if each.transport is not None:
                each.transport.close_tail()
                each.transport.close_head()
        event.subject.set()

    def on_hung(self, event: Any) -> None:
        """See hanging."""
        event.subject.wait()

    def on_refused(self, event: Any) -> None:
        """See on_link_opening."""
        event.subject.close()

    def on_given(self, event: Any) -> None:
        """See publish."""
        del event
        for link in list(self._senders):
            self._give(link)

    def on_connection_opening(self, event: Any) -> None:
        """See MessagingHandler."""
        self._connections.append(event.connection)

    def on_link_opening(self, event: Any) -> None:
        """See MessagingHandler."""
        link = event.link
        self.links += 1
        end, wanted = (link.source, link.remote_source) if link.is_sender else (link.target, link.remote_target)
        other, theirs = (link.target, link.remote_target) if link.is_sender else (link.source, link.remote_source)
        other.copy(theirs)
        if (wanted.address or "").startswith(MISSING):
            # As the protocol has it: the end is told to be nowhere, then the link ends.
            end.type = 0
            link.condition = Condition(self.faults.refused, f"no {wanted.address}")
            self._tell("refused", link)
            return
        end.copy(wanted)
        if self.ignores_filters:
            end.filter.clear()
        if link.is_sender:
            self._senders[link] = wanted.address
            return
        if self.faults.told:
            link.max_message_size = self.faults.told
        link.flow(self.faults.credit)

    def on_sendable(self, event: Any) -> None:
        """See MessagingHandler."""
        self._give(event.sender)

    def _give(self, link: Any) -> None:
        with self._lock:
            name = self._senders.get(link)
            while name is not None and link.credit > 0 and (waiting := self._queue(name)):
                held = waiting.popleft()
                held.message.delivery_count = held.times
                delivery = link.delivery(link.delivery_tag())
                link.send(held.message.encode())
                link.advance()
                self._given[delivery] = (link, name, held)

    def on_message(self, event: Any) -> None:
        """See MessagingHandler."""
        outcome = self.faults.outcomes.pop(0) if self.faults.outcomes else "accepted"
        link, delivery = event.link, event.delivery
        size = len(event.message.encode())
        if self.faults.largest and size > self.faults.largest:
            link.condition = Condition("amqp:link:message-size-exceeded", f"{size} bytes")
            link.close()
            return
        if outcome == "detached":
            link.condition = Condition("amqp:link:detach-forced", "for a test")
            link.close()
            return
        if outcome == "silent":
            return
        if outcome == "accepted":
            with self._lock:
                self._queue(link.target.address).append(Held(event.message))
            self._tell("given")
        if outcome == "rejected":
            delivery.local.condition = Condition("test:refused", "not like this")
        delivery.update(getattr(Delivery, outcome.upper()))
        delivery.settle()
        link.flow(1)

    def on_delivery(self, event: Any) -> None:
        """What becomes of a message that was given."""
        delivery = event.delivery
        if not delivery.link.is_sender or not delivery.updated or delivery not in self._given:
            return
        _, name, held = self._given.pop(delivery)
        if delivery.remote_state in (Delivery.RELEASED, Delivery.MODIFIED):
            held.times += bool(delivery.remote.failed)
            self._put_back(name, [held])
        delivery.settle()

    def on_disconnected(self, event: Any) -> None:
        """See MessagingHandler."""
        self._forget([link for link in self._senders if link.connection == event.connection])

    def on_link_closing(self, event: Any) -> None:
        """See MessagingHandler."""
        self._forget([event.link])

    def on_connection_closing(self, event: Any) -> None:
        """See MessagingHandler."""
        self.on_disconnected(event)

    def _forget(self, links: Sequence[Any]) -> None:
        for link in links:
            name = self._senders.pop(link, None)
            if name is None:
                continue
            mine = [(delivery, held) for delivery, (of, _, held) in self._given.items() if of == link]
            for delivery, held in mine:
                del self._given[delivery]
                held.times += 1
            self._put_back(name, [held for _, held in mine])

    def _put_back(self, name: str, found: Sequence[Held]) -> None:
        with self._lock:
            self._queue(name).extendleft(reversed(found))
        self._tell("given")
