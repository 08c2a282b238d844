"""What brokers said in one round of questions."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rocketmq_remoting import ConsumerStatus, Counted, GroupConnections, GroupProgress, MessageQueue, QueueEnds


@dataclass(frozen=True, slots=True, order=True)
class Broker:
    """A process of a broker: the master of its group, or a replica."""

    cluster: str
    name: str
    address: str
    number: int

    @property
    def is_master(self) -> bool:
        """Whether it takes messages."""
        return self.number == 0


@dataclass(slots=True)
class Snapshot:
    """By broker, topic, consumer group and client what was said; what was not said is not in it.

    Attributes:
        broadcasting, members: By group; of the broker to which most are connected.
        statuses: By address of the client, its id and its group: what it says, by topic.
        waits: By broker, topic and group: for how many ms the first message has waited, at most.
        left_out: How many topics, groups and clients were too many, and 1 for questions where time was.
    """

    runtime: dict[Broker, Mapping[str, str]] = field(default_factory=dict)
    put: dict[Broker, Counted | None] = field(default_factory=dict)
    got: dict[Broker, Counted | None] = field(default_factory=dict)
    producers: dict[Broker, Mapping[str, int]] = field(default_factory=dict)
    ends: dict[tuple[Broker, str], Mapping[MessageQueue, QueueEnds]] = field(default_factory=dict)
    topic_counts: dict[tuple[Broker, str, str], Counted | None] = field(default_factory=dict)
    group_counts: dict[tuple[Broker, str, str, str], Counted | None] = field(default_factory=dict)
    progress: dict[tuple[Broker, str, str], GroupProgress] = field(default_factory=dict)
    members: dict[str, GroupConnections] = field(default_factory=dict)
    statuses: dict[tuple[str, str, str], Mapping[str, ConsumerStatus]] = field(default_factory=dict)
    waits: dict[tuple[Broker, str, str], float] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
