"""What a topic has: its queues, where they begin and end, and the form of its newest messages."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing

from pyspark_rocketmq.settings import FIRST, Place
from rocketconnect_sdk.columns.rows import is_packed
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.schema import Schema
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import TopicNotFound
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.pulls.stream import PullStream
from services.executor.runtime.rocketmq.queue_names import text

_NEWEST = 16
"""So many messages of each queue are looked at."""


def queues(client: Client, topic: str) -> Mapping[str, MessageQueue]:
    """By name the queues that can be read.

    Raises:
        PermanentError: there is no such topic, or none of its queues can be read.
    """
    try:
        found = {text(queue): queue for queue in client.queues(topic, fresh=True)}
    except TopicNotFound:
        found = {}
    if not found:
        msg = f"the topic {topic} is not there, or none of its queues can be read"
        raise PermanentError(msg)
    return found


def ends(client: Client, found: Mapping[str, MessageQueue]) -> Mapping[str, tuple[int, int]]:
    """By queue the offset of its first message, and the one behind its last."""
    return {name: (client.min_offset(queue), client.max_offset(queue)) for name, queue in found.items()}


def offsets(client: Client, found: Mapping[str, MessageQueue], place: Place) -> dict[str, int]:
    """By queue the offset of a place in a topic; a queue that JSON does not name is left out.

    Raises:
        PermanentError: it names a queue that the topic has not.
    """
    if place.offsets is not None:
        unknown = sorted(place.offsets.keys() - found.keys())
        if unknown:
            msg = f"the topic has no queue {', '.join(unknown)}; there are {', '.join(found)}"
            raise PermanentError(msg)
        return dict(place.offsets)
    if place.time_ms is not None:
        return {name: client.offset_by_time(queue, place.time_ms) for name, queue in found.items()}
    ask = client.min_offset if place.end == FIRST else client.max_offset
    return {name: ask(queue) for name, queue in found.items()}


def newest(client: Client, found: Mapping[str, MessageQueue], seconds: float) -> Iterator[DecodedBatch]:
    """The last messages of each queue that has some."""
    for name, (first, end) in ends(client, found).items():
        if first < end:
            start = max(first, end - _NEWEST)
            with closing(PullStream(client, found[name], start, suspend=0.0, holes_allowed=True)) as stream:
                batch = stream.next(seconds)
            if batch is not None:
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
