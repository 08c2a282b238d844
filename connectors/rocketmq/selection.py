"""Which topics of a cluster are read, and which messages of them. Pure."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from rocketconnect_sdk.configuration.patterns import compiled
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.routes.reserved import is_reserved
from rocketmq_remoting import BrokerData

if TYPE_CHECKING:
    import re


def topic_tags(text: str) -> dict[str, Sequence[str]]:
    """Topics with their tags, as RocketMQ's replicator has them: "orders,new;payments,*".

    Raises:
        ValueError: what is wrong with it.
    """
    found: dict[str, Sequence[str]] = {}
    for pair in filter(None, map(str.strip, text.split(";"))):
        topic, _, tags = map(str.strip, pair.partition(","))
        if not topic:
            msg = f"has {pair[:100]!r}, which names no topic"
            raise ValueError(msg)
        found[topic] = () if tags in ("", "*") else tuple(filter(None, map(str.strip, tags.split("||"))))
    return found


def topic_tags_problem(text: str) -> str | None:
    """What is wrong with topics and their tags; None: nothing."""
    try:
        topic_tags(text)
    except ValueError as error:
        return str(error)
    return None


@dataclass(frozen=True, slots=True)
class Selection:
    """What a source reads. Made by `of`.

    Attributes:
        names: Topics that are read, with all that they have.
        pattern: Of others; None: there are none.
        exclude: Of those that are left out of these.
        tags: Of all topics that have no own.
        own: By topic its own tags.
    """

    names: Sequence[str]
    pattern: "re.Pattern[str] | None" = None
    exclude: "re.Pattern[str] | None" = None
    tags: Sequence[str] = ()
    own: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Config) -> Self:
        """What a configuration says."""
        own = topic_tags(config["src.topictags"])
        pattern, exclude = (compiled(text) if (text := config[key]) else None for key in ("topics.pattern", "topics.exclude"))
        return cls([*dict.fromkeys((*config["topics"], *own))], pattern, exclude, config.get("tags") or (), own)

    def of_cluster(self, topics: Iterable[str], own: Container[str]) -> list[str]:
        """Of the topics of a cluster those that are read; those that are named are, whatever they are.

        Args:
            topics: All that it has.
            own: Those that its brokers made for themselves, see topics_of_brokers.
        """
        named = set(self.names)
        return sorted(topic for topic in topics if topic in named or (topic not in own and self._matches(topic)))

    def tags_of(self, topic: str) -> Sequence[str]:
        """The tags that are read of a topic; empty: all messages are."""
        return self.own.get(topic, self.tags)

    def _matches(self, topic: str) -> bool:
        if self.pattern is None or not self.pattern.fullmatch(topic) or is_reserved(topic):
            return False
        return self.exclude is None or not self.exclude.fullmatch(topic)


def topics_of_brokers(brokers: Iterable[BrokerData]) -> frozenset[str]:
    """The topics that brokers make for themselves, under names of their own."""
    return frozenset(name for each in brokers for name in (each.name, each.cluster, f"{each.cluster}_REPLY_TOPIC"))
