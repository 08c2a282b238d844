"""What the author of a QueueSource writes: a subscription to the broker."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rocketconnect_sdk.record import NO_HEADERS
from rocketconnect_sdk.resume import JSON
from rocketconnect_sdk.schema import Schema


@dataclass(frozen=True, slots=True)
class Share:
    """Whose a subscription is.

    Attributes:
        identity: The same for the same task at each start, and no other's: of the uid of the connector and the number.
        number: Of the task.
        tasks: How many there are.
        prefetch: So many messages are taken before the first of them is acknowledged, at most.
        before: What the subscription of this identity had as its `state` when it was there last; empty: it is the first.
        leaving: The plan has no such task any more. Nothing new is wanted, only what waits at the broker for this identity.
        passing: It is a preview, and leaves nothing behind when it is closed.
    """

    identity: str
    number: int = 0
    tasks: int = 1
    prefetch: int = 1
    before: Mapping[str, JSON] = field(default_factory=dict)
    leaving: bool = False
    passing: bool = False


@dataclass(slots=True)
class Received:
    """A message. Nobody changes one that was given; one that can't be changed would take three times as long to make.

    Attributes:
        tag: What acknowledges it; None: the broker does not want to hear of it again.
        value: Its value; a Rejected, where it could not be read.
        key: Its key.
        timestamp_ms: When it was made; None: not known.
        headers: Of it.
        topic: Where it goes; empty: to the topic of the configuration. All of a source have one, or none has.
        redelivered: It may have been given before, as the broker says.
        size: Of its value in bytes.
        schema: Of its value, where that is known. Records that follow each other and have the same one are a batch.
        properties: Of a message that goes on as it is, in the place of headers: for sources of whole_messages. The key still
            chooses the queue. All of a source have them, or none has.
    """

    tag: Any
    value: object
    key: object = None
    timestamp_ms: int | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: NO_HEADERS)
    topic: str = ""
    redelivered: bool = False
    size: int = 0
    schema: Schema | None = None
    properties: Mapping[str, str] | None = None


class Subscription(ABC):
    """A connection to a broker, which takes messages there. One thread calls it.

    After an error it is closed, and another one is made. Tags live as long as it does: none is acknowledged on another one. All
    methods raise SystemAway or RetriableError where they may succeed later, and PermanentError where they can't.
    """

    ping_seconds: float = 30.0
    """How often `ping` is wanted."""

    @property
    def state(self) -> Mapping[str, JSON]:
        """What the next one of this identity, or who removes it, has to know: see Share.before. Small. It is stored."""
        return {}

    @abstractmethod
    def receive(self, limit: int, size: int, seconds: float) -> Sequence[Received]:
        """Some messages, in the order of the broker: at most `limit`, and no more when they have so many bytes.

        Waits for the first one for so many seconds, and for no other. What is read from the network and not given here has a limit
        of its own (invariant 7).
        """

    @abstractmethod
    def ack(self, tags: Sequence[Any]) -> None:
        """Tells the broker that these are done. They come in the order in which they were given, so all before the last one are."""

    def nack(self, tags: Sequence[Any]) -> None:  # noqa: B027  # most brokers see the end of a connection
        """Gives back, before `close`, what was given and is not done, so that others get it at once. By default nothing is done."""

    @abstractmethod
    def ping(self, tags: Sequence[Any]) -> None:
        """Does what keeps the connection, and the messages that are given and not done, which `tags` are. Reads no messages."""

    @abstractmethod
    def close(self) -> None:
        """Ends it. What is not acknowledged comes again. Never raises."""
