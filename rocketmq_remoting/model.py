"""What callers hand in and get back: queues, messages, receipts, filters, routes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntFlag
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping


class MessageQueue(NamedTuple):
    """One queue of a topic. Tuples sort by topic, broker and number."""

    topic: str
    broker: str
    queue_id: int


class Permission(IntFlag):
    """What a topic allows."""

    WRITE = 2
    READ = 4


class Compression(Enum):
    """How a body is compressed, with its bits in the system flag."""

    LZ4 = 1 << 8
    ZSTD = 2 << 8
    ZLIB = 3 << 8


@dataclass(frozen=True, slots=True)
class Message:
    """A message to be sent.

    Attributes:
        body: the payload, not compressed; may be empty, unless the message is delayed.
        tags: one tag, by which consumers can filter.
        keys: business keys for look-ups with RocketMQ's tools, separated by spaces.
        properties: names and values of your own; neither may be empty or hold the characters U+0001 and U+0002.
        delay_level: RocketMQ's delay level, 1 (1 s) to 18 (2 h); 0: none.
        deliver_at_ms: deliver at this time, milliseconds since 1970; 0: at once.
        compression: compress the body; a body that doesn't get smaller is sent as it is.
    """

    body: bytes
    tags: str = ""
    keys: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    delay_level: int = 0
    deliver_at_ms: int = 0
    compression: Compression | None = None


@dataclass(frozen=True, slots=True)
class SendReceipt:
    """The broker's confirmation, at the flush and replication that the broker is configured for.

    Attributes:
        queue: where the messages are.
        queue_offset: offset of the first one; the others follow without a gap. Of a delayed message it is where the broker keeps it
            until its time comes, which is not known to be a place in the queue.
        count: how many messages.
        raw_message_ids: the broker's ids of the stored units, separated by commas.
    """

    queue: MessageQueue
    queue_offset: int
    count: int
    raw_message_ids: str

    @property
    def message_ids(self) -> list[str]:
        """The broker's ids: one for each message, on a batch topic one for each stored unit."""
        return self.raw_message_ids.split(",")


class PullStatus(Enum):
    """How a pull ended."""

    FOUND = "FOUND"
    NO_NEW = "NO_NEW"
    NO_MATCHED = "NO_MATCHED"
    OFFSET_ILLEGAL = "OFFSET_ILLEGAL"


@dataclass(frozen=True, slots=True)
class TagFilter:
    """Deliver messages that have one of these tags. The broker compares hashes, the client the tags themselves."""

    tags: frozenset[str]

    @classmethod
    def of(cls, *tags: str) -> TagFilter:
        """Make a filter from tags."""
        return cls(frozenset(tags))


@dataclass(frozen=True, slots=True)
class SqlFilter:
    """Deliver messages whose properties fit an SQL92 expression; the broker needs `enablePropertyFilter=true`."""

    expression: str


@dataclass(frozen=True, slots=True)
class QueueData:
    """How many queues of a topic a broker has, and what they allow."""

    broker: str
    read_queues: int
    write_queues: int
    permission: Permission


@dataclass(frozen=True, slots=True)
class BrokerData:
    """A broker group: addresses by broker id; id 0 is the master."""

    cluster: str
    name: str
    addresses: Mapping[int, str]

    @property
    def master(self) -> str | None:
        """The master's address, if one is alive."""
        return self.addresses.get(0)


@dataclass(frozen=True, slots=True)
class TopicRoute:
    """Where a topic's queues are."""

    topic: str
    queues: tuple[QueueData, ...]
    brokers: tuple[BrokerData, ...]

    def message_queues(self, needed: Permission) -> list[MessageQueue]:
        """Return the queues that allow this, sorted."""
        found = []
        for data in self.queues:
            if needed in data.permission:
                count = data.write_queues if needed is Permission.WRITE else data.read_queues
                found += [MessageQueue(self.topic, data.broker, number) for number in range(count)]
        return sorted(found)


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """A topic as a broker has it.

    Attributes:
        attributes: without the sign, such as {"queue.type": "BatchCQ"}.
        order: it is an ordered one (updateTopic -o), whose queues producers take from the name servers.
        system_flag: what RocketMQ keeps of units.
    """

    topic: str
    read_queues: int
    write_queues: int
    permission: Permission
    attributes: Mapping[str, str]
    order: bool = False
    system_flag: int = 0

    @property
    def topic_type(self) -> str:
        """`batch` or `normal`."""
        return "batch" if self.attributes.get("queue.type") == "BatchCQ" else "normal"


@dataclass(frozen=True, slots=True)
class QueueEnds:
    """The offsets of the first message of a queue and of the one that comes next."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """How far a group is in a queue: the offset of the message that comes next, and the one from which it goes on."""

    end: int
    committed: int


@dataclass(frozen=True, slots=True)
class GroupConnection:
    """A connection of a consumer to a broker.

    Attributes:
        address: its other end, "host:port".
        client_id: what the client calls itself.
    """

    address: str
    client_id: str


@dataclass(frozen=True, slots=True)
class GroupConnections:
    """Who is connected to a broker for a consumer group.

    Attributes:
        broadcasting: each consumer gets all messages, and keeps its own offsets.
    """

    connections: tuple[GroupConnection, ...]
    broadcasting: bool


@dataclass(frozen=True, slots=True)
class GroupProgress:
    """How far a group is in the queues of a topic on a broker, and how many messages a second it has committed of late."""

    queues: Mapping[MessageQueue, QueueProgress]
    per_second: float


@dataclass(frozen=True, slots=True)
class Counted:
    """What a broker has counted in the last minute: how much, and how much a second."""

    total: float
    per_second: float


@dataclass(frozen=True, slots=True)
class ConsumerStatus:
    """What a consumer says of a topic: in the last minute, of failures in the last hour; times in milliseconds."""

    failed: int
    failed_per_second: float
    consumed_per_second: float
    consume_ms: float
    pulled_per_second: float
    pull_ms: float


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """TLS to name servers and brokers.

    Attributes:
        context: certificates and checks, made with the standard library.
        server_hostname: the name to check certificates against; default: the host of each address. Brokers announce
            themselves by IP address, for which certificates are rarely made out.
    """

    context: ssl.SSLContext
    server_hostname: str | None = None

    @classmethod
    def of_files(cls, ca: str | None, certificate: str | None, key: str | None, server_hostname: str | None) -> TlsOptions:
        """Return those with certificates of PEM files; `ca` None: whom the machine trusts.

        Raises:
            OSError: a file can't be used; an ssl.SSLError is one.
        """
        # Who speaks in the clear does without.
        from ssl import create_default_context

        context = create_default_context(cafile=ca)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
        return cls(context, server_hostname)
