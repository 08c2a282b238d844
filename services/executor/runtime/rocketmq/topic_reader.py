"""Reads topics for sources that ask for it, and for those who look at dead letters."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import rocketmq_remoting.errors as rocketmq
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.topics import Message
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.client import Client
from rocketmq_remoting.model import TagFilter
from rocketmq_remoting.protocol.properties import decode_properties
from rocketmq_remoting.pulls.stream import PullStream
from services.executor.runtime.rocketmq.filters import MessageFilter
from services.executor.runtime.rocketmq.queue_names import parse, text

_READ_SECONDS = 5.0
_LOOK_SECONDS = 0.05
"""How often it is looked whether a stream has passed the range: behind it, or where no tag fits, no message comes."""
_READ_BYTES = 256 << 10
_AHEAD_BYTES = 1 << 20
"""Invariant 7: what a stream holds ahead."""
_STREAMS = 64


class RocketMQTopics:
    """See rocketconnect_sdk.topics.TopicReader. Close it.

    Args:
        client: RocketMQ.
        only: What is read where no tag is named; None: all is.
    """

    def __init__(self, client: Client, only: MessageFilter | None = None) -> None:
        self._client = client
        self._only = only
        self._streams: dict[tuple[str, str], PullStream] = {}

    def close(self) -> None:
        """Ends what is read ahead."""
        while self._streams:
            self._streams.popitem()[1].close()

    def queues(self, topic: str) -> Sequence[str]:
        """See TopicReader."""
        with _understood():
            if not self._client.topic_exists(topic):
                return []
            found = self._client.queues(topic)
        if not found:
            msg = (
                f"topic {topic} can't be read: RocketMQ makes some %DLQ% topics write-only; allow reading, for instance with "
                f"mqadmin updateTopicPerm -n NAMESERVER -c CLUSTER -t '{topic}' -p 6"
            )
            raise PermanentError(msg)
        return [text(queue) for queue in found]

    def ends(self, queue: str) -> tuple[int, int]:
        """See TopicReader."""
        with _understood():
            return self._client.min_offset(parse(queue)), self._client.max_offset(parse(queue))

    def since(self, queue: str, time_ms: int) -> int:
        """See TopicReader."""
        with _understood():
            return self._client.offset_by_time(parse(queue), time_ms)

    def keyed(self, topic: str, key: str, since_ms: int, most: int) -> Sequence[tuple[str, int]]:
        """Queues and offsets of messages that may have this key, by RocketMQ's index; of each broker the newest."""
        with _understood():
            return [(text(queue), offset) for queue, offset in self._client.lookup.find(topic, key, since_ms=since_ms, most=most)]

    def read(self, queue: str, start: int, until: int, *, tag: str = "") -> tuple[Sequence[Message], int]:
        """See TopicReader."""
        batch, position = self.pull(queue, start, until, tag=tag)
        return ([] if batch is None else _messages(queue, batch)), position

    def pull(self, queue: str, start: int, until: int, *, tag: str = "") -> tuple[DecodedBatch | None, int]:
        """As `read`, but the messages as they were pulled; None: there are no more."""
        give_up_at = time.monotonic() + _READ_SECONDS
        with _understood():
            stream = self._stream(queue, start, tag)
            while stream.position < until:
                try:
                    batch = stream.next(_LOOK_SECONDS, max_bytes=_READ_BYTES)
                except rocketmq.QueueGap as gap:
                    stream.seek(max(gap.resume_at, stream.position + 1))
                    continue
                if batch is not None:
                    return batch.between(start, until), min(stream.position, until)
                if time.monotonic() > give_up_at:
                    msg = f"queue {queue} gives no answer at offset {stream.position}"
                    raise SystemAway(msg)
        return None, until

    def _stream(self, queue: str, start: int, tag: str) -> PullStream:
        stream = self._streams.pop((queue, tag), None)
        if stream is None:
            only = TagFilter.of(tag) if tag else self._only
            stream = PullStream(
                self._client, parse(queue), start, max_bytes_buffered=_AHEAD_BYTES, suspend=0.0, message_filter=only
            )
        elif stream.position != start:
            stream.seek(start)
        self._streams[queue, tag] = stream
        if len(self._streams) > _STREAMS:
            self._streams.pop(next(iter(self._streams))).close()
        return stream


def _messages(queue: str, batch: DecodedBatch) -> list[Message]:
    columns = zip(batch.offsets, batch.bodies, batch.raw_properties, batch.store_timestamps_ms, strict=True)
    return [Message(queue, offset, body, decode_properties(raw), stored) for offset, body, raw, stored in columns]


@contextmanager
def _understood() -> Iterator[None]:
    """Turns the errors of RocketMQ into those that a source raises."""
    try:
        yield
    except (rocketmq.RetriableError, rocketmq.TopicNotFound) as error:
        raise SystemAway(str(error)) from error
    except rocketmq.RocketMQError as error:
        raise PermanentError(str(error)) from error
