"""Of which topics messages are that come back from a dead-letter topic. Pure."""

from collections.abc import Iterator
from itertools import groupby

from rocketconnect_sdk.letters.dead_letters import REPLAY_ORIGIN, REPLAY_TOPIC
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.protocol.properties import decode_properties


def by_topic(batch: DecodedBatch) -> Iterator[tuple[str, DecodedBatch]]:
    """The messages in their order, and of which topic they are: with what goes by topics they go where they would have gone before.

    Args:
        batch: Those of one queue, at least one. What a replay topic has is of the topics in which it failed first, where it says
            so.
    """
    topic = batch.queue.topic
    if not topic.startswith(REPLAY_TOPIC):
        yield topic, batch
        return
    for of, places in groupby(range(len(batch)), lambda index: _origin(batch.raw_properties[index]) or topic):
        offsets = [batch.offsets[index] for index in places]
        yield of, batch.between(offsets[0], offsets[-1] + 1)


def _origin(raw: bytes) -> str:
    """The topic of "topic/broker/queue:offset"; empty: it does not say."""
    return decode_properties(raw).get(REPLAY_ORIGIN, "").rpartition(":")[0].split("/")[0]
