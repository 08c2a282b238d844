"""Which topics nobody has created: those of RocketMQ itself, of consumer groups, and of RocketConnect. Pure."""

from collections.abc import Collection

from rocketconnect_sdk.letters.dead_letters import REPLAY_TOPIC
from rocketmq_remoting.client import BARRIER_TOPIC

_NAMES = frozenset(
    {
        "TBW102",
        "SELF_TEST_TOPIC",
        "BenchmarkTest",
        "OFFSET_MOVED_EVENT",
        "SCHEDULE_TOPIC_XXXX",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "CHECKPOINT_TOPIC",
        BARRIER_TOPIC,
    }
)
_BEGINNINGS = ("rmq_sys_", "%retry%", "%dlq%", "%sys%", REPLAY_TOPIC.casefold())
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
    return topic in _NAMES or topic in machines or topic in replies or topic.casefold().startswith(_BEGINNINGS)
