"""The topics of another cluster as a log.

An offset is the era of the queue, how often its topic was made anew, and RocketMQ's own offset.
"""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from connectors.rocketmq.client import client_of, place_of, prove, told
from connectors.rocketmq.identity import Found, Known
from connectors.rocketmq.reading import Reader
from connectors.rocketmq.selection import Selection, topics_of_brokers
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.partitions import GONE, Bounds, Entries, Log, LogPartition, OutOfRange
from rocketconnect_sdk.partitions.topics import topics_of
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.resume import JSON
from rocketmq_remoting import MessageQueue, PullStream, QueueGap, TagFilter, TopicNotFound

_WAIT_SECONDS = 0.1
_TELL_SECONDS = 1.0
_HELD_SECONDS = 15.0
_BUFFER = 16 << 20
_SMALLEST_BUFFER = 256 << 10
_ONE = 1 << 20
_COMPACTION = ("cleanup.policy", "COMPACTION")


class RocketmqLog(Log):
    """Reads queues without a group's offsets.

    Args:
        config: That of a source.
        seconds: How long an answer may take; 0: as the configuration says.

    Raises:
        PermanentError: the client can't be made.
    """

    def __init__(self, config: Config, seconds: float = 0.0) -> None:
        self._selection = Selection.of(config)
        self._template: str = config["topic.template"]
        self._place = place_of(config)
        self._client = client_of(config, config["group"], seconds)
        self._reader = Reader(config["source.cluster"], config["target.cluster"])
        self._topics: dict[str, str] = {}
        self._queues: dict[str, MessageQueue] = {}
        self._known: dict[str, Known] = {}
        self._found: dict[str, Found] = {}
        self._gone: set[str] = set()
        self._gaps: dict[str, QueueGap] = {}
        self._compacted: dict[str, bool] = {}
        self._out: list[str] = []
        self._streams: dict[str, PullStream] = {}
        self._told: dict[str, int] = {}
        """By partition up to where `read` has told."""
        self._next_tell = 0.0
        self._ready: set[str] = set()
        """Partitions whose stream may have something."""
        self._arrived = threading.Event()

    def partitions(self) -> Sequence[LogPartition]:
        """See Log."""
        topics = self.topics()
        if missing := [name for name in self._selection.names if name not in topics]:
            msg = f"{self._place}: the topic {missing[0]} is not there. Create it, start its broker, or correct `topics`"
            raise SystemAway(msg)
        self._topics = topics_of(self._template, "topic", topics)
        self._queues = {partition_of(queue): queue for queues in topics.values() for queue in queues}
        return [LogPartition(name) for name in self._queues]

    def topics(self) -> Mapping[str, Sequence[MessageQueue]]:
        """The topics that are meant and there, with their queues.

        Raises:
            SystemAway, RetriableError, PermanentError: see Log.
        """
        with told(self._place):
            found: dict[str, Sequence[MessageQueue]] = {}
            own = topics_of_brokers(self._client.admin.brokers())
            for name in self._selection.of_cluster({*self._client.topics(), *self._selection.names}, own):
                try:
                    found[name] = self._client.queues(name, fresh=True)
                except TopicNotFound:
                    # It is not there, or is deleted just now.
                    continue
            return found

    def ping(self) -> None:
        """Returns when the cluster answers and takes who we are."""
        with told(self._place):
            prove(self._client)

    def missed(self, partitions: Iterable[str]) -> None:
        """See Log. Name servers forget what a broker has when it is away."""
        with told(self._place):
            there = {each.name for each in self._client.admin.brokers()}
        for partition in partitions:
            broker = partition.split("/")[1]
            if broker not in there:
                why = f"{partition} was read, and the name servers don't know its broker {broker} now"
                msg = f"{self._place}: {why}. Start it; if it is gone for good, set on.gap=skip"
                raise SystemAway(msg)

    def bounds(self, names: Iterable[str]) -> Mapping[str, Bounds]:
        """See Log."""
        with told(self._place):
            return {name: self._bounds(name) for name in names}

    def find(self, names: Iterable[str], seconds: float) -> Mapping[str, Offset]:
        """See Log. Times are those at which brokers have stored messages."""
        with told(self._place):
            found = {}
            for name in names:
                queue = self._queues[name]
                low, end = self._client.min_offset(queue), self._client.max_offset(queue)
                at = self._client.offset_by_time(queue, round(seconds * 1000)) if low < end else end
                found[name] = (0, min(max(at, low), end))
            return found

    def seek(self, places: Mapping[str, Offset]) -> None:
        """See Log."""
        self._end_streams()
        with told(self._place):
            size = max(_SMALLEST_BUFFER, _BUFFER // max(1, len(places)))
            for name, (era, offset) in places.items():
                known = self._known_of(name)
                if self._found.pop(name, None) is Found.REPLACED:
                    self._known[name] = known.passed()
                begin = offset if era == known.era else self._client.min_offset(self._queues[name])
                self._gaps.pop(name, None)
                self._streams[name] = self._stream(name, begin, size)
                self._told[name] = begin
        self._ready = set(places)
        self._arrived.set()

    def read(self, records: int, size: int) -> Sequence[Entries]:
        """See Log."""
        if self._out:
            raise OutOfRange(self._out.pop(0))
        found = self._taken(records, size)
        if not found and not self._out:
            self._arrived.wait(_WAIT_SECONDS)
            found = self._taken(records, size)
        if self._out and not found:
            raise OutOfRange(self._out.pop(0))
        return found

    def lost(self, name: str, place: Offset, bounds: Bounds) -> str:
        """See Log."""
        found = self._found.get(name)
        if found is Found.ANEW and place < bounds.first:
            if name in self._gone:
                return ""
            return f"its topic was deleted and made anew: what it had behind offset {place[-1]} was removed"
        if found is Found.REPLACED:
            return f"its broker has lost its newest messages: some of those up to offset {place[-1]} are others by now,"
        if place < bounds.first:
            return f"the messages from offset {place[-1]} up to {bounds.first[-1]} were removed"
        return ""

    def note(self, name: str) -> Mapping[str, JSON] | None:
        """See Log."""
        return self._known_of(name).note()

    def recall(self, name: str, note: Mapping[str, JSON]) -> None:
        """See Log."""
        self._known[name] = Known.of_note(note)
        if note.get(GONE):
            self._gone.add(name)

    def left(self, name: str, place: Offset) -> int | None:
        """See Log. Messages that tags or loops leave out are counted, too."""
        stream = self._streams.get(name)
        return None if stream is None or not stream.connections else max(0, stream.known_end - place[-1])

    def close(self) -> None:
        """See Log."""
        self._end_streams()
        self._client.close()

    def _known_of(self, name: str) -> Known:
        return self._known.get(name) or self._known.setdefault(name, Known())

    def _bounds(self, name: str) -> Bounds:
        queue = self._queues[name]
        low, end = self._client.min_offset(queue), self._client.max_offset(queue)
        known = self._known_of(name)
        self._found[name] = found = known.looked_at(low, end, partial(self._identity, queue))
        if found is Found.ANEW:
            self._known[name] = known = known.next_era()
        elif (gap := self._gaps.get(name)) is not None and gap.reason == "hole":
            low = max(low, gap.resume_at)
        return Bounds((known.era, low), (known.era, max(low, end)))

    def _identity(self, queue: MessageQueue, offset: int) -> str:
        messages = self._client.pull(queue, offset, max_messages=1).messages
        return messages[0].message_id if messages and messages[0].queue_offset == offset else ""

    def _has_holes(self, topic: str) -> bool:
        """Whether it keeps but the newest message of each key."""
        if topic not in self._compacted:
            key, policy = _COMPACTION
            self._compacted[topic] = self._client.topic_config(topic).attributes.get(key) == policy
        return self._compacted[topic]

    def _stream(self, name: str, begin: int, size: int) -> PullStream:
        queue = self._queues[name]
        tags = self._selection.tags_of(queue.topic)
        return PullStream(
            self._client,
            queue,
            begin,
            max_bytes_buffered=size,
            suspend=_HELD_SECONDS,
            message_filter=TagFilter.of(*tags) if tags else None,
            holes_allowed=self._has_holes(queue.topic),
            on_arrival=partial(self._arrive, name),
        )

    def _arrive(self, name: str) -> None:
        """In a thread of the client: a stream has something."""
        self._ready.add(name)
        self._arrived.set()

    def _taken(self, records: int, size: int) -> list[Entries]:
        """What has come, and places that moved without anything to copy."""
        self._arrived.clear()
        found: list[Entries] = []
        for name in list(self._ready):
            if records <= 0 or size <= 0:
                # The others are looked at first next time.
                self._arrived.set()
                break
            self._ready.discard(name)
            entries = self._next(name, min(size, _ONE))
            if entries is not None:
                found.append(entries)
                records -= len(entries.values)
                size -= entries.size + sum(len(value) for value in entries.values if isinstance(value, bytes))
        return [*found, *self._moved({entries.name for entries in found})]

    def _next(self, name: str, size: int) -> Entries | None:
        """What has come of a queue; None: nothing to copy."""
        stream = self._streams[name]
        try:
            with told(self._place):
                try:
                    batch = stream.next(0.0, max_bytes=size)
                except QueueGap as gap:
                    self._gaps[name] = gap
                    self._out.append(name)
                    return None
        except SystemAway:
            # It is asked again by whoever catches this.
            self._ready.add(name)
            raise
        if batch is None:
            return None
        # There may be more.
        self._ready.add(name)
        self._arrived.set()
        known = self._known_of(name)
        entries, read = self._reader.entries(name, batch, known.era, self._topics.get(batch.queue.topic, ""))
        self._known[name] = known.read(*read)
        entries.end = (known.era, max(stream.position, batch.offsets[-1] + 1))
        if not entries.values:
            return None
        self._told[name] = entries.end[-1]
        return entries

    def _moved(self, found: set[str]) -> list[Entries]:
        """Places that moved without anything to copy, told once a second."""
        if time.monotonic() < self._next_tell:
            return []
        self._next_tell = time.monotonic() + _TELL_SECONDS
        moved = []
        for name, stream in self._streams.items():
            if name not in found and stream.position > self._told[name]:
                self._told[name] = stream.position
                moved.append(Entries(name, end=(self._known_of(name).era, stream.position)))
        return moved

    def _end_streams(self) -> None:
        for stream in self._streams.values():
            stream.close()
        self._streams = {}
        self._ready = set()


def partition_of(queue: MessageQueue) -> str:
    """The name of a queue as a partition."""
    return f"{queue.topic}/{queue.broker}/{queue.queue_id}"
