"""What kafka_source and kafka_sink ask of confluent-kafka's consumer and admin client, answered from memory."""

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from types import SimpleNamespace
from typing import Any

from confluent_kafka import TIMESTAMP_CREATE_TIME, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AclOperation, OffsetSpec

_IDS = count(1)
MARKER = object()
"""Takes an offset, and is no record: a transaction ended here."""


@dataclass(slots=True)
class Told:
    """A record, or what comes in the place of one: has the methods of a Message."""

    place: tuple[str, int, int]
    data: tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]] | None, int] = (None, None, None, 0)
    wrong: KafkaError | None = None

    def error(self) -> KafkaError | None:
        return self.wrong

    def topic(self) -> str:
        return self.place[0]

    def partition(self) -> int:
        return self.place[1]

    def offset(self) -> int:
        return self.place[2]

    def value(self) -> bytes | None:
        return self.data[0]

    def key(self) -> bytes | None:
        return self.data[1]

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.data[2]

    def timestamp(self) -> tuple[int, int]:
        return TIMESTAMP_CREATE_TIME, self.data[3]


@dataclass(slots=True)
class Partition:
    first: int = 0
    slots: list[Any] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.first + len(self.slots)


class Cluster:
    """Topics in memory, with the methods that tests want of the server, too."""

    def __init__(self) -> None:
        self.topics: dict[str, tuple[str, list[Partition]]] = {}
        self.forbidden: set[str] = set()
        self.wrong: list[KafkaError] = []
        self.servers = "memory:9092"
        self.owners: dict[str | None, object] = {}
        self.limits: dict[str, int] = {}
        self.policies: dict[str, str] = {}
        self.without_transactions = False

    def ask(self) -> None:
        """Raises what is wrong with the cluster."""
        if self.wrong:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT, "nobody answers"))

    def make(self, topic: str, partitions: int = 1) -> None:
        self.topics[topic] = (f"id{next(_IDS)}", [Partition() for _ in range(partitions)])

    def drop(self, topic: str) -> None:
        del self.topics[topic]

    def grow(self, topic: str, partitions: int) -> None:
        there = self.topics[topic][1]
        there += [Partition() for _ in range(partitions - len(there))]

    def put(
        self,
        topic: str,
        values: Iterable[bytes | None],
        partition: int = 0,
        key: bytes | None = None,
        headers: list[tuple[str, bytes | None]] | None = None,
        time_ms: int = 1,
    ) -> None:
        self.topics[topic][1][partition].slots += [(value, key, headers, time_ms) for value in values]

    def commit(self, topic: str, values: Iterable[bytes | None], partition: int = 0) -> None:
        """A transaction: its records, and its marker."""
        self.put(topic, values, partition)
        self.topics[topic][1][partition].slots.append(MARKER)

    def trim(self, topic: str, first: int, partition: int = 0) -> None:
        there = self.topics[topic][1][partition]
        del there.slots[: first - there.first]
        there.first = first

    def __call__(self, settings: Mapping[str, Any]) -> "ClientInMemory":
        return ClientInMemory(self, settings["error_cb"])


class ClientInMemory:
    """A consumer and an admin client."""

    def __init__(self, cluster: Cluster, error_cb: Any) -> None:
        self._cluster = cluster
        self._error_cb = error_cb
        self._places: dict[tuple[str, int], int] = {}
        self._at_end: set[tuple[str, int]] = set()

    def list_topics(self, timeout: float) -> Any:
        self._cluster.ask()
        return SimpleNamespace(brokers={}, topics=dict.fromkeys(self._cluster.topics))

    def create_topics(self, topics: Any, *, request_timeout: float) -> Any:
        self._cluster.ask()
        made: dict[str, Future[Any]] = {}
        for topic in topics:
            self._cluster.make(topic.topic, max(1, topic.num_partitions))
            self._cluster.policies[topic.topic] = topic.config.get("cleanup.policy", "delete")
            made[topic.topic] = Future()
            made[topic.topic].set_result(None)
        return made

    def describe_configs(self, resources: Any, *, request_timeout: float) -> Any:
        self._cluster.ask()
        made: Future[Any] = Future()
        made.set_result({"cleanup.policy": SimpleNamespace(value=self._cluster.policies[resources[0].name])})
        return {resources[0]: made}

    def describe_topics(self, topics: Any, *, request_timeout: float, include_authorized_operations: bool = False) -> Any:
        self._cluster.ask()
        return {name: self._described(name) for name in topics.topic_names}

    def _described(self, name: str) -> "Future[Any]":
        made: Future[Any] = Future()
        if name not in self._cluster.topics:
            made.set_exception(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
            return made
        identity, partitions = self._cluster.topics[name]
        may = [AclOperation.DESCRIBE] if name in self._cluster.forbidden else [AclOperation.DESCRIBE, AclOperation.READ]
        numbers = [SimpleNamespace(id=number) for number in range(len(partitions))]
        made.set_result(SimpleNamespace(topic_id=identity, partitions=numbers, authorized_operations=may))
        return made

    def list_offsets(self, wanted: Mapping[TopicPartition, OffsetSpec], *, isolation_level: Any, request_timeout: float) -> Any:
        self._cluster.ask()
        found: dict[TopicPartition, Future[Any]] = {}
        for part, spec in wanted.items():
            there = self._cluster.topics[part.topic][1][part.partition]
            found[part] = Future()
            found[part].set_result(SimpleNamespace(offset=_offset(there, spec)))
        return found

    def assign(self, parts: Iterable[TopicPartition]) -> None:
        self._places = {(part.topic, part.partition): part.offset for part in parts}
        self._at_end = set()

    def poll(self, timeout: float) -> Told | None:
        for error in self._cluster.wrong:
            self._error_cb(error)
        return next(iter(self.consume(1, timeout)), None)

    def consume(self, most: int, timeout: float) -> list[Told]:
        if self._cluster.wrong:
            return []
        for (topic, number), place in self._places.items():
            if topic not in self._cluster.topics:
                return [Told((topic, number, place), wrong=KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))]
            there = self._cluster.topics[topic][1][number]
            if not there.first <= place <= there.end:
                return [Told((topic, number, place), wrong=KafkaError(KafkaError._AUTO_OFFSET_RESET))]
            slots = there.slots[place - there.first :][:most]
            if slots:
                self._at_end.discard((topic, number))
                self._places[topic, number] += len(slots)
                told = [Told((topic, number, place + at), slot) for at, slot in enumerate(slots) if slot is not MARKER]
                return told or self.consume(most, timeout)
            if (topic, number) not in self._at_end:
                self._at_end.add((topic, number))
                return [Told((topic, number, place), wrong=KafkaError(KafkaError._PARTITION_EOF))]
        return []

    def get_watermark_offsets(self, part: TopicPartition, *, cached: bool) -> tuple[int, int]:
        there = self._cluster.topics[part.topic][1][part.partition]
        return there.first, there.end

    def unassign(self) -> None:
        self._places = {}

    def close(self) -> None:
        self._places = {}


def _offset(there: Partition, spec: OffsetSpec) -> int:
    if spec is OffsetSpec.earliest():
        return there.first
    if spec is OffsetSpec.latest():
        return there.end
    since = spec._value
    found = (at for at, slot in enumerate(there.slots) if slot is not MARKER and slot[3] >= since)
    return next((there.first + at for at in found), -1)
