"""Of which topics messages are, those among them that come back from a dead-letter topic. Pure."""

import re
from collections.abc import Iterator
from copy import copy
from itertools import groupby

from rocketconnect_sdk.letters.dead_letters import REPLAY_ORIGIN, REPLAY_TOPIC
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.protocol.properties import decode_properties
from services.executor.runtime.rocketmq.internal_topics import OF_GROUPS

_SENT_BACK = re.compile(rb"(?:\A|\x02)RETRY_TOPIC\x01")
_MARK = re.compile(rb"(?:(?<=\x02)|\A)RCPOS\x01[^\x02]*(?:\x02|\Z)")


def by_topic(batch: DecodedBatch) -> Iterator[DecodedBatch]:
    """The messages in their order, each batch of one topic (see topic_of).

    Args:
        batch: Those of one queue, at least one.
    """
    if not _is_replay(batch):
        yield own(batch)
        return
    for _, places in groupby(range(len(batch)), lambda index: _topic(batch, index)):
        offsets = [batch.offsets[index] for index in places]
        yield batch.between(offsets[0], offsets[-1] + 1)


def own(batch: DecodedBatch) -> DecodedBatch:
    """The messages, those that a consumer group has sent back without the mark of who had sent them.

    Invariant 5: in the topics of groups they stand in the order in which they failed, and each time that they did. By its mark one
    that failed behind a later one would be a double.

    Args:
        batch: Of one queue.
    """
    if not batch.queue.topic.startswith(OF_GROUPS):
        return batch
    made = copy(batch)
    made.raw_properties = [_MARK.sub(b"", raw) if _SENT_BACK.search(raw) else raw for raw in batch.raw_properties]
    return made


def topic_of(batch: DecodedBatch) -> str:
    """Of which topic the first message is: with what goes by topics it goes where it would have gone before.

    What a replay topic has is of the topic in which it failed first, where it says so.

    Args:
        batch: Of one queue, at least one message.
    """
    return _topic(batch, 0) if _is_replay(batch) else batch.queue.topic


def _is_replay(batch: DecodedBatch) -> bool:
    return batch.queue.topic.startswith(REPLAY_TOPIC)


def _topic(batch: DecodedBatch, index: int) -> str:
    """That of "topic/broker/queue:offset"."""
    origin = decode_properties(batch.raw_properties[index]).get(REPLAY_ORIGIN, "")
    return origin.rpartition(":")[0].split("/")[0] or batch.queue.topic
