"""A log in memory, with ids of one number as Kafka has them, or of two as streams of Redis have."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rocketconnect_sdk import Config, Offset, SystemAway, TaskContext
from rocketconnect_sdk.partitions import Bounds, Entries, Headers, Log, LogPartition, OutOfRange, PartitionSource


@dataclass(frozen=True, slots=True)
class Kept:
    at: Offset
    value: bytes | None
    key: bytes | None = None
    time_ms: int | None = None
    headers: Headers = ()

    @property
    def behind(self) -> Offset:
        return (*self.at[:-1], self.at[-1] + 1)


@dataclass(slots=True)
class Topic:
    identity: str = "a"
    first: Offset = (0,)
    end: Offset = (0,)
    kept: list[Kept] = field(default_factory=list)

    def add(self, *kept: Kept) -> None:
        self.kept += kept
        self.end = kept[-1].behind

    def trim(self, first: Offset) -> None:
        self.kept = [each for each in self.kept if each.at >= first]
        self.first = first


class MemoryLog(Log):
    def __init__(self, topics: dict[str, Topic]) -> None:
        self._topics = topics
        self._places: dict[str, Offset] = {}
        self.closed = False

    def partitions(self) -> Sequence[LogPartition]:
        return [LogPartition(name, topic.identity) for name, topic in self._topics.items()]

    def bounds(self, names: Iterable[str]) -> Mapping[str, Bounds]:
        return {name: Bounds(self._topics[name].first, self._topics[name].end) for name in names}

    def find(self, names: Iterable[str], seconds: float) -> Mapping[str, Offset]:
        def first_since(topic: Topic) -> Offset:
            return next((each.at for each in topic.kept if (each.time_ms or 0) >= seconds * 1000), topic.end)

        return {name: first_since(self._topics[name]) for name in names}

    def seek(self, places: Mapping[str, Offset]) -> None:
        self._places = dict(places)

    def read(self, records: int, size: int) -> Sequence[Entries]:
        if self.closed:
            raise SystemAway("closed")
        found: list[Entries] = []
        for name, place in self._places.items():
            topic = self._topics.get(name)
            if topic is None:
                continue
            if place < topic.first or place > topic.end:
                if found:
                    break
                raise OutOfRange(name)
            some: list[Kept] = []
            taken = 0
            for each in topic.kept:
                if each.at >= place and len(some) < records and taken < size:
                    some.append(each)
                    taken += len(each.value or b"")
            behind = some[-1].behind if some else place
            is_end = not any(each.at >= behind for each in topic.kept)
            if some or (is_end and topic.end > place):
                entries = Entries(name, end=topic.end if is_end else ())
                for each in some:
                    entries.values.append(each.value)
                    entries.offsets.append(each.behind)
                    entries.keys.append(each.key)
                    entries.timestamps_ms.append(each.time_ms)
                    entries.headers.append(each.headers)
                found.append(entries)
                self._places[name] = topic.end if is_end else behind
                if len(found) * records >= records:
                    break
        return found

    def left(self, name: str, place: Offset) -> int | None:
        return sum(each.at >= place for each in self._topics[name].kept)

    def close(self) -> None:
        self.closed = True


class MemorySource(PartitionSource):
    """Reads logs in memory."""

    name = "memory_source"

    def __init__(self, topics: dict[str, Topic]) -> None:
        self.topics = topics

    def connect(self, config: Config, context: TaskContext) -> Log:
        del config, context
        return MemoryLog(self.topics)


def numbered(count: int, width: int = 1) -> Topic:
    """A log of so many records; of ids of two numbers only some there are."""
    topic = Topic(first=(0,) * width, end=(0,) * width)
    topic.add(
        *(
            Kept((n,) if width == 1 else (1000 + n // 3, n % 3 * 2), b"%d" % n, b"k%d" % (n % 5), 1_000 * n, [("h", b"x")])
            for n in range(count)
        )
    )
    return topic
