"""Which topics nobody has created: those of RocketMQ itself, of consumer groups, and of RocketConnect. Pure."""

from collections.abc import Collection

from rocketconnect_sdk.routes.reserved import is_reserved

_REPLY = "_REPLY_TOPIC"
OF_GROUPS = ("%DLQ%", "%RETRY%")
"""Begin the names of what RocketMQ keeps for a consumer group: messages that it has given up, and those that it gets once more."""


def is_internal(topic: str, machines: Collection[str] = ()) -> bool:
    """Whether a topic is one of those.

    Args:
        topic: Its name.
        machines: The names of its brokers and of their clusters: RocketMQ makes a topic for each of them.
    """
    replies = (f"{name}{_REPLY}" for name in machines)
    return topic in machines or topic in replies or is_reserved(topic)
