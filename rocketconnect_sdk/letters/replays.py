"""What connector sends dead letters of another one again. Pure."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.letters.dead_letters import REPLAY_TOPIC, Filter, replay_topic

PLUGIN = "dead_letter_source"
DEAD_LETTER_TOPIC = "errors.deadletterqueue.topic.name"

_LONGEST_NAME = 128
_COPIED = ("worker.labels", "errors.retry.timeout", "errors.retry.delay.max.ms", "rocketmq.access.key", "rocketmq.secret.key")
_TOPICS = ("topic", "connect.topicname")


@dataclass(frozen=True, slots=True)
class Failed:
    """The connector that failed at dead letters.

    Attributes:
        name: What it is called.
        uid: Its uid.
        type: "SOURCE", "SINK" or "DIRECT".
        config: Its configuration.
    """

    name: str
    uid: str
    type: str
    config: Mapping[str, str]

    @property
    def own_target(self) -> str:
        """The topic through which its letters come back; empty: there is none."""
        if self.type == "SINK":
            return replay_topic(self.uid)
        if self.type == "SOURCE":
            return next((self.config[key] for key in _TOPICS if self.config.get(key)), "")
        return ""

    def sends_by_letter(self, to: str) -> bool:
        """Whether each letter says itself where it goes, where it was another topic; `to`: where its caller wants them."""
        return self.type == "SOURCE" and not to


@dataclass(frozen=True, slots=True)
class Order:
    """What somebody wants to be sent again.

    Attributes:
        wanted: Which letters.
        to: Where they go; empty: where they came from.
        if_newer: Leave out those of whose key there is a newer record.
        create_topic: Make the topic when there is none.
    """

    wanted: Filter
    to: str
    if_newer: bool
    create_topic: bool


def replay_config(failed: Failed, order: Order, letters: Sequence[str], ends: Sequence[str]) -> dict[str, str]:
    """Return the configuration of the connector that does it.

    Args:
        failed: Whose letters they are.
        order: What is wanted.
        letters: Where the letters are, as format_spans() has them.
        ends: Up to where editions of them count, like them.
    """
    topic = order.to or failed.own_target
    is_own = topic.startswith(REPLAY_TOPIC)
    config = {
        CLASS.key: PLUGIN,
        "topic": topic,
        "topic.auto.create": str(order.create_topic or is_own).lower(),
        "key.converter": "bytes",
        "value.converter": "bytes",
        "replay.connector": order.wanted.connector,
        "replay.topic": failed.config.get(DEAD_LETTER_TOPIC, ""),
        "replay.letters": ",".join(letters),
        "replay.ends": ",".join(ends),
        "replay.to": topic,
        "replay.stage": order.wanted.stage,
        "replay.error": order.wanted.error,
        "replay.own.topics": str(failed.sends_by_letter(order.to)).lower(),
        "replay.if.newer": str(order.if_newer).lower(),
    }
    if is_own:
        # Whoever makes it.
        config["topic.queues"] = "1"
    if order.wanted.task is not None:
        config["replay.task"] = str(order.wanted.task)
    # Where it can reach the same brokers.
    return {**config, **{key: failed.config[key] for key in _COPIED if key in failed.config}}


def replay_name(connector: str, request_id: str) -> str:
    """Return the name of the connector that does the replay of this request."""
    number = uuid.uuid5(uuid.NAMESPACE_OID, request_id).hex[:8]
    return f"{connector[: _LONGEST_NAME - len(number) - 8]}-replay-{number}"
