"""What connector a replay is. Pure."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from rocketconnect.connector.v1 import connector_pb2 as connectors

from rocketconnect_kit.errors import FailedPrecondition
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.letters.dead_letters import REPLAY_TOPIC, Filter, Spans, format_spans, replay_topic
from rocketconnect_sdk.permissions.dead_letter_topics import may_hold_dead_letters, setting_said

PLUGIN = "dead_letter_source"
_LONGEST_NAME = 128
_COPIED = ("worker.labels", "errors.retry.timeout", "errors.retry.delay.max.ms", "rocketmq.access.key", "rocketmq.secret.key")
_TOPICS = ("topic", "connect.topicname")


@dataclass(frozen=True, slots=True)
class Replay:
    """What is to be sent again.

    Attributes:
        dead_letter_topic: Where they are.
        letters: Which of them.
        ends: What the topic holds; editions count up to there.
        wanted: Which of those.
        if_newer: Leave out those of whose key there is a newer record.
        topic: Where they go.
        own_topics: Those of a source say themselves where they go, where it was another topic.
        create_topic: The topic is made, if there is none.
    """

    dead_letter_topic: str
    letters: Spans
    ends: Spans
    wanted: Filter
    if_newer: bool
    topic: str
    own_topics: bool
    create_topic: bool

    def config(self, failed: Mapping[str, str]) -> dict[str, str]:
        """Return the configuration of the connector that does it; `failed`: that of the one that failed."""
        is_own = self.topic.startswith(REPLAY_TOPIC)
        config = {
            CLASS.key: PLUGIN,
            "topic": self.topic,
            "topic.auto.create": str(self.create_topic or is_own).lower(),
            "key.converter": "bytes",
            "value.converter": "bytes",
            "replay.connector": self.wanted.connector,
            "replay.topic": self.dead_letter_topic,
            "replay.letters": ",".join(format_spans(self.letters)),
            "replay.ends": ",".join(format_spans({queue: [(0, spans[-1][1])] for queue, spans in self.ends.items()})),
            "replay.to": self.topic,
            "replay.stage": self.wanted.stage,
            "replay.error": self.wanted.error,
            "replay.own.topics": str(self.own_topics).lower(),
            "replay.if.newer": str(self.if_newer).lower(),
        }
        if is_own:
            # Whoever makes it.
            config["topic.queues"] = "1"
        if self.wanted.task is not None:
            config["replay.task"] = str(self.wanted.task)
        # Where it can reach the same brokers.
        return {**config, **{key: failed[key] for key in _COPIED if key in failed}}


def name_of(connector: str, request_id: str) -> str:
    """Return the name of the connector that does the replay of this request."""
    number = uuid.uuid5(uuid.NAMESPACE_OID, request_id).hex[:8]
    return f"{connector[: _LONGEST_NAME - len(number) - 8]}-replay-{number}"


def target(failed: connectors.Connector, to: str, allowed: str) -> str:
    """Return the topic to which dead letters of a connector go.

    Args:
        failed: The connector.
        to: Where its caller wants them; empty: where they came from.
        allowed: Patterns of other topics than that which they may go to.

    Raises:
        FailedPrecondition: NO_REPLAY_TARGET, REPLAY_TARGET_NOT_ALLOWED.
    """
    own = _own_target(failed)
    if to and to != own and not may_hold_dead_letters(to, allowed):
        message = (
            f"dead letters may not be sent to topic {to!r}: the executors' {setting_said(allowed)}; their operator can add it there"
        )
        raise FailedPrecondition("REPLAY_TARGET_NOT_ALLOWED", message, topic=to)
    if to or own:
        return to or own
    message = f"connector {failed.name!r} has no topic through which dead letters could come back; name one with --to TOPIC"
    raise FailedPrecondition("NO_REPLAY_TARGET", message, connector=failed.name)


def _own_target(failed: connectors.Connector) -> str:
    if failed.type == connectors.CONNECTOR_TYPE_SINK:
        return replay_topic(failed.uid)
    if failed.type == connectors.CONNECTOR_TYPE_SOURCE:
        return next((failed.config[key] for key in _TOPICS if failed.config.get(key)), "")
    return ""
