"""What a topic has: its queues, where they begin and end, and the form of its newest messages."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress

from pyspark_rocketmq.settings import FIRST, OffsetLimit, Settings
from rocketconnect_sdk.columns.rows import is_packed
from rocketconnect_sdk.configuration.nearest import did_you_mean, nearest
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.schema import Schema
from rocketmq_remoting import Client
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.errors import RocketMQError
from services.executor.runtime.rocketmq.internal_topics import is_internal
from services.executor.runtime.rocketmq.topic_reader import RocketMQTopics

_NEWEST = 16
"""So many messages of each queue are looked at."""


@contextmanager
def opened(settings: Settings) -> Iterator[tuple[RocketMQTopics, Sequence[str]]]:
    """What reads topics, and the names of the queues of the one that is to be read.

    Raises:
        PermanentError: there is no such topic, or none of its queues can be read.
        SystemAway: RocketMQ gives no answer.
    """
    topic = settings.config["topic"]
    with settings.connect() as client, closing(RocketMQTopics(client)) as topics:
        found = topics.queues(topic)
        if not found:
            msg = missing(client, topic)
            raise PermanentError(msg)
        yield topics, found


def missing(client: Client, topic: str) -> str:
    """For people: that there is no such topic, with the nearest names of those that are there, where they may be asked for."""
    near: list[str] = []
    with suppress(RocketMQError):
        near = nearest(topic, [name for name in client.topics() if not is_internal(name)])
    return f"the topic {topic or '(no name)'} is not there{'; ' * bool(near)}{did_you_mean(near)}"


def ends(topics: RocketMQTopics, queues: Sequence[str]) -> Mapping[str, tuple[int, int]]:
    """By queue the offset of its first message, and the one behind its last."""
    return {queue: topics.ends(queue) for queue in queues}


def offsets(topics: RocketMQTopics, there: Mapping[str, tuple[int, int]], place: OffsetLimit) -> dict[str, int]:
    """By queue the offset of a place in a topic; a queue that JSON does not name is left out.

    Args:
        topics: Reads it.
        there: See ends().
        place: The place.

    Raises:
        PermanentError: it names a queue that the topic has not.
    """
    if place.offsets is not None:
        unknown = sorted(place.offsets.keys() - there.keys())
        if unknown:
            msg = f"the topic has no queue {', '.join(unknown)}; there are {', '.join(there)}"
            raise PermanentError(msg)
        return dict(place.offsets)
    if place.time_ms is not None:
        return {queue: topics.since(queue, place.time_ms) for queue in there}
    return {queue: first if place.end == FIRST else end for queue, (first, end) in there.items()}


def newest(topics: RocketMQTopics, queues: Sequence[str]) -> Iterator[DecodedBatch]:
    """The last messages of each queue that has some."""
    for queue, (first, end) in ends(topics, queues).items():
        if first < end and (batch := topics.pull(queue, max(first, end - _NEWEST), end)[0]) is not None:
            yield batch


def has_packed_rows(batches: list[DecodedBatch]) -> bool:
    """Whether the newest of these messages has many rows."""
    if not batches:
        return False
    last = max(batches, key=lambda batch: batch.store_timestamps_ms[-1])
    return is_packed(bytes(last.bodies[-1]))


def schema_of(batches: list[DecodedBatch], decode: Callable[[bytes], Schema | None]) -> Schema | None:
    """The schema of the newest message that has one, as `decode` reads the bodies; None: none has."""
    newest_first = sorted(batches, key=lambda batch: batch.store_timestamps_ms[-1], reverse=True)
    for batch in newest_first:
        for body in reversed(batch.bodies):
            try:
                schema = decode(bytes(body))
            except RecordError:
                continue
            if schema is not None:
                return schema
    return None
