"""A topic of Kafka into one of RocketMQ, and from there into another cluster of Kafka: exactly once, in order, with headers."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.queue_pipelines.comparing import in_order
from tests.queue_pipelines.events import event, key
from tests.queue_pipelines.pipeline import BROKER, EXECUTOR, TASK, TOPIC, Feed, Pipeline
from tests.servers.kafka.broker import Kafka

_FROM, _TO = "orders", "copies"
_PARTITIONS = 3
_WHOLE = {"key.converter": "bytes", "value.converter": "bytes"}
_TOMBSTONES_EACH = 25
_OF_ROCKETMQ = frozenset({"KEYS", "MQ-SYS-MSG_ID"})
"""Headers of every record that a sink gets, as RocketMQ Connect has them."""
_SECONDS = 300.0
"""For hangs alone."""

Message = tuple[bytes | None, tuple[tuple[str, bytes], ...], tuple[int, int]]
"""Its value, its headers, its time."""


class KafkaToKafka(Pipeline):
    """See the module."""

    kills = (TASK, TASK, TASK, EXECUTOR, BROKER, "source", "target")
    # A node alone that is killed in the middle of a commit may leave the transaction open for ever: see docs/kafka.md.
    at_rest = frozenset({"target"})

    def start(self, stack: ExitStack) -> None:
        """See Pipeline."""
        self._source, self._target = stack.enter_context(Kafka().running()), stack.enter_context(Kafka().running())
        self.servers = {"source": self._source, "target": self._target}
        self._source.make(_FROM, _PARTITIONS)
        self._target.make(_TO, _PARTITIONS)

    def connectors(self) -> Mapping[str, Mapping[str, str]]:
        """See Pipeline."""
        source = {
            "connector.class": "kafka_source",
            "bootstrap.servers": self._source.servers,
            "kafka.topics": _FROM,
            "topic": TOPIC,
            "max.tasks": "2",
        }
        sink = {
            "connector.class": "kafka_sink",
            "bootstrap.servers": self._target.servers,
            "topics": TOPIC,
            "target.topic": _TO,
            # So what is `at_rest` is between two transactions.
            "flush.interval": "1s",
        }
        return {"kafka-in": {**source, **_WHOLE}, "kafka-out": {**sink, **_WHOLE}}

    @contextmanager
    def feeder(self) -> Iterator[Feed]:
        """See Pipeline. The producer itself tries again, and writes each record once."""
        producer = self._source.producer(enable_idempotence="true", partitioner="murmur2_random")

        def feed(number: int) -> bool:
            value = None if number % _TOMBSTONES_EACH == 0 else json.dumps(event(number)).encode()
            headers = [("number", b"%d" % number), ("word", "größe".encode())]
            producer.produce(_FROM, value, key=key(number).encode(), headers=headers)
            assert producer.flush(_SECONDS) == 0, "Kafka does not take it"
            return True

        yield feed

    def arrived(self) -> Set[int]:
        """See Pipeline."""
        return {int(dict(message.headers())["number"]) for message in self._target.read(_TO)}

    def compare(self, given: int) -> str:
        """See Pipeline."""
        sent, arrived = _by_key(self._source.read(_FROM)), _by_key(self._target.read(_TO))
        in_order(_numbers(given), {name: [int(dict(each[1])["number"]) for each in those] for name, those in sent.items()})
        in_order(sent, arrived)
        return f"{sum(map(len, arrived.values()))} messages of {len(arrived)} keys are there once, in order, with headers and times"


def _by_key(messages: Iterable[Any]) -> Mapping[bytes, list[Message]]:
    found: defaultdict[bytes, list[Message]] = defaultdict(list)
    for message in messages:
        headers = tuple(sorted(header for header in message.headers() if header[0] not in _OF_ROCKETMQ))
        found[message.key()].append((message.value(), headers, message.timestamp()))
    return found


def _numbers(given: int) -> Mapping[bytes, list[int]]:
    made: defaultdict[bytes, list[int]] = defaultdict(list)
    for number in range(given):
        made[key(number).encode()].append(number)
    return made
