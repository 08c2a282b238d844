"""Topics that nobody has created: those of RocketMQ itself, of consumer groups, and of RocketConnect. Pure."""

from rocketconnect_sdk.letters.dead_letters import REPLAY_TOPIC

_NAMES = frozenset(
    {
        "BenchmarkTest",
        "CHECKPOINT_TOPIC",
        "DefaultHeartBeatSyncerTopic",
        "OFFSET_MOVED_EVENT",
        "SCHEDULE_TOPIC_XXXX",
        "SELF_TEST_TOPIC",
        "TBW102",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "rocketmq_remoting_barrier",
        "wheel_timer",
    }
)
"""Of RocketMQ (TopicValidator, https://rocketmq.apache.org/docs), and of our own client."""
_BEGINNINGS = ("rmq_sys_", "cid_rmq_sys_", "%retry%", "%dlq%", "%sys%", "%lmq%", REPLAY_TOPIC.casefold())


def is_reserved(topic: str) -> bool:
    """Whether a topic is one of those. The topics of brokers and clusters have the names of these, which are not known here."""
    return topic in _NAMES or topic.casefold().startswith(_BEGINNINGS)
