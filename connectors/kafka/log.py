"""The topics of a cluster as a log."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import OffsetSpec

from connectors.kafka.client import Client, admin_of, check_brokers, consumer_of, made_of, results
from rocketconnect_sdk.configuration.patterns import compiled
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.partitions import Bounds, Entries, Log, LogPartition, OutOfRange
from rocketconnect_sdk.partitions.topics import topics_of
from rocketconnect_sdk.record import Offset

_FIRST_SECONDS = 0.1
_AT_ONCE = 500
"""So many records are taken out of the client together: what is in it is bounded in bytes, see CONSUMING."""
_UNKNOWN = -1001
_NO_ID = "A" * 22
_GONE = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION, KafkaError.UNKNOWN_TOPIC_ID)  # noqa: SLF001
CONSUMING = {
    # It asks for a group, which is never joined: positions are ours.
    "group.id": "rocketconnect",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    # A place that is not there is told, and never moved in silence.
    "auto.offset.reset": "error",
    "allow.auto.create.topics": False,
    "fetch.wait.max.ms": 100,
    # What is in the client is bounded in bytes; a full one is looked at again soon, and not after a second.
    "queued.min.messages": 100_000,
    "fetch.queue.backoff.ms": 10,
    "queued.max.messages.kbytes": 16_384,
    "topic.metadata.refresh.interval.ms": 30_000,
}
"""Settings of a consumer without a group."""


@dataclass(frozen=True, slots=True)
class Described:
    """A topic.

    Attributes:
        id: Another one for one that was made anew; empty: the cluster is older than 2.8.
        partitions: Their numbers.
        may_read: The user may read it.
    """

    id: str
    partitions: Sequence[int]
    may_read: bool


class KafkaLog(Log):
    """Reads topics without a group.

    Args:
        config: That of a source.
        seconds: How long an answer may take; 0: as the configuration says.

    Raises:
        PermanentError: the client refuses its settings.
    """

    def __init__(self, config: Config, seconds: float = 0.0) -> None:
        self._names: Sequence[str] = config["kafka.topics"]
        self._pattern = compiled(config["kafka.topics.pattern"]) if config["kafka.topics.pattern"] else None
        self._template: str = config["topic.template"]
        committed = config["isolation.level"] == "read_committed"
        self._isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        self._topics: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._out: list[str] = []
        with made_of(config):
            self._admin = Client(config, admin_of, seconds=seconds)
            self._consumer = Client(config, consumer_of, {**CONSUMING, "isolation.level": config["isolation.level"]}, seconds)

    def described(self) -> tuple[dict[str, Described], dict[str, KafkaError]]:
        """The topics that are meant, and by name what is wrong with those that can't be described."""
        names = list(self._names)
        metadata = self._consumer.asked(lambda seconds: self._consumer.own.list_topics(timeout=seconds))
        check_brokers(metadata.brokers)
        if self._pattern is not None:
            names += sorted(
                name
                for name in metadata.topics
                if self._pattern.fullmatch(name) and name not in names and not name.startswith("__")
            )
        found: dict[str, Described] = {}
        wrong: dict[str, KafkaError] = {}
        asked = self._admin.asked(lambda seconds: self._describe(names, seconds)) if names else {}
        for name, answer in asked.items():
            if isinstance(answer, KafkaError):
                wrong[name] = answer
            else:
                found[name] = answer
        return found, wrong

    def partitions(self) -> Sequence[LogPartition]:
        """See Log."""
        found, wrong = self.described()
        for name, error in wrong.items():
            if error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise self._admin.trouble(error)
            if name in self._names:
                msg = f"{self._admin.place}: the topic {name} is not there. Create it, or correct kafka.topics"
                raise SystemAway(msg)
        self._topics = topics_of(self._template, "topic", found)
        self._ids = {name: each.id for name, each in found.items()}
        return [LogPartition(f"{name}/{number}", each.id) for name, each in found.items() for number in each.partitions]

    def bounds(self, names: Iterable[str]) -> Mapping[str, Bounds]:
        """See Log."""
        wanted = list(names)
        first = self._offsets(wanted, OffsetSpec.earliest())
        end = self._offsets(wanted, OffsetSpec.latest())
        return {name: Bounds((first[name],), (max(first[name], end[name]),)) for name in wanted}

    def find(self, names: Iterable[str], seconds: float) -> Mapping[str, Offset]:
        """See Log."""
        wanted = list(names)
        found = self._offsets(wanted, OffsetSpec.for_timestamp(round(seconds * 1000)))
        late = self._offsets([name for name in wanted if found[name] < 0], OffsetSpec.latest())
        return {name: (late.get(name, found[name]),) for name in wanted}

    def seek(self, places: Mapping[str, Offset]) -> None:
        """See Log."""
        self._out.clear()
        self._consumer.own.assign([_part(name, place[0]) for name, place in places.items()])

    def read(self, records: int, size: int) -> Sequence[Entries]:
        """See Log."""
        if self._out:
            raise OutOfRange(self._out.pop())
        found: dict[str, Entries] = {}
        count = taken = 0
        message = self._consumer.own.poll(_FIRST_SECONDS)
        some = [] if message is None else [message]
        while some:
            for each in some:
                if each.error() is None:
                    taken += self._add(found, each)
                    count += 1
                else:
                    self._told(found, each)
            left = min(_AT_ONCE, records - count)
            some = self._consumer.own.consume(left, 0) if left > 0 and taken < size and not self._out else []
        if not found and (error := self._consumer.away()) is not None:
            raise self._consumer.trouble(error)
        if self._out and not found:
            return self.read(records, size)
        self._confirm({name.rpartition("/")[0] for name in found})
        return list(found.values())

    def _confirm(self, topics: Iterable[str]) -> None:
        """What was read is of the topics that were looked for: the client reads on in one that is made anew, at the old offset.

        Asked behind the records: the id of a topic never comes back, so they are of the one that is still there.

        Raises:
            SystemAway: one was made anew, or is gone. What is then found tells what is lost.
        """
        asked = [name for name in topics if self._ids.get(name)]
        found = self._admin.asked(lambda seconds: self._describe(asked, seconds)) if asked else {}
        for name, answer in found.items():
            if isinstance(answer, KafkaError) or answer.id != self._ids[name]:
                msg = f"{self._admin.place}: the topic {name} is another one than was read"
                raise SystemAway(msg)

    def left(self, name: str, place: Offset) -> int | None:
        """See Log. Markers of transactions and compacted records are counted, too."""
        _, end = self._consumer.own.get_watermark_offsets(_part(name), cached=True)
        return None if end == _UNKNOWN else max(0, int(end) - place[0])

    def close(self) -> None:
        """See Log."""
        self._consumer.own.close()

    def _add(self, found: dict[str, Entries], message: Any) -> int:
        name = f"{message.topic()}/{message.partition()}"
        entries = found.get(name) or found.setdefault(name, Entries(name, topic=self._topics.get(message.topic(), "")))
        value = message.value()
        kind, time_ms = message.timestamp()
        entries.values.append(value)
        entries.offsets.append((message.offset() + 1,))
        entries.keys.append(message.key())
        entries.timestamps_ms.append(time_ms if kind and time_ms >= 0 else None)
        entries.headers.append(message.headers() or ())
        entries.end = ()
        return len(value or b"")

    def _told(self, found: dict[str, Entries], message: Any) -> None:
        """What comes in the place of a record. Raises what ends reading."""
        error: KafkaError = message.error()
        name = f"{message.topic()}/{message.partition()}"
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
            entries = found.setdefault(name, Entries(name, topic=self._topics.get(message.topic(), "")))
            entries.end = (message.offset(),)
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):  # noqa: SLF001
            self._out.append(name)
        elif error.code() in _GONE:
            msg = f"{self._consumer.place}: {name} is not there any more: {error.str()}"
            raise SystemAway(msg)
        elif error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
            # Of the group nothing is wanted but its name.
            raise self._consumer.trouble(error)

    def _offsets(self, names: Sequence[str], spec: OffsetSpec) -> dict[str, int]:
        def ask(seconds: float) -> dict[Any, Any]:
            wanted = {_part(name): spec for name in names}
            futures = self._admin.own.list_offsets(wanted, isolation_level=self._isolation, request_timeout=seconds)
            return results(futures, seconds + 1)

        found = self._admin.asked(ask) if names else {}
        return {f"{part.topic}/{part.partition}": int(each.offset) for part, each in found.items()}

    def _describe(self, names: Sequence[str], seconds: float) -> dict[str, Described | KafkaError]:
        futures = self._admin.own.describe_topics(
            TopicCollection(list(names)), include_authorized_operations=True, request_timeout=seconds
        )
        found: dict[str, Described | KafkaError] = {}
        for name, future in futures.items():
            try:
                found[name] = _described(future.result(seconds + 1))
            except KafkaException as error:
                told: KafkaError = error.args[0]
                if told.code() < 0:
                    raise
                found[name] = told
        return found


def _described(topic: Any) -> Described:
    may = {operation.name for operation in topic.authorized_operations or ()}
    # Servers that don't say what is allowed don't forbid it.
    # As Kafka's own tools write it.
    identity = str(topic.topic_id).replace("+", "-").replace("/", "_").replace(_NO_ID, "")
    return Described(identity, [each.id for each in topic.partitions], not may or "READ" in may or "ALL" in may)


def _part(name: str, offset: int = _UNKNOWN) -> TopicPartition:
    topic, _, number = name.rpartition("/")
    return TopicPartition(topic, int(number), offset)
