"""Topics of Kafka."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.systems import moved
from bench.systems.driving import sinking, sourcing
from bench.systems.system import Compared, Move
from connectors.kafka.sink import KafkaSink
from connectors.kafka.source import KafkaSource
from tests.servers.kafka.broker import Kafka

_AT_ONCE = 10_000
_FULL = "full"
_PATIENCE = 60.0


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink in both deliveries, and the source, until the end of the block."""
    with Kafka().running() as server:
        server.make(_FULL)
        server.put(_FULL, (moved.text(number).encode() for number in range(records)))
        reading = {"bootstrap.servers": server.servers, "kafka.topics": _FULL, "value.format": "string"}
        targets = (f"target-{number}" for number in count())
        current = [next(targets)]

        def renew() -> None:
            current[0] = next(targets)
            server.make(current[0])

        def writing(delivery: str) -> dict[str, str]:
            config = {"bootstrap.servers": server.servers, "target.topic": current[0], "delivery": delivery}
            if delivery == "exactly_once":
                # Each turn begins anew, and positions of another one would have it skip its records.
                config["positions.topic"] = f"{current[0]}-positions"
            return config

        def sink(name: str, delivery: str) -> Compared:
            return Compared(
                name,
                "confluent-kafka",
                lambda: sinking(KafkaSink(), writing(delivery), records),
                lambda: _produce(server.servers, current[0], records),
                lambda: (message.value() for message in server.read(current[0])),
                renew,
            )

        yield [
            sink("kafka_sink", "exactly_once"),
            sink("kafka_sink, at least once", "at_least_once"),
            Compared(
                "kafka_source",
                "confluent-kafka",
                lambda: sourcing(KafkaSource(), reading, records),
                lambda: _consume(server.servers, records),
            ),
        ]


@contextmanager
def _produce(servers: str, topic: str, records: int) -> Iterator[Move]:
    pairs = [(moved.key(number).encode(), moved.text(number).encode()) for number in range(records)]
    producer: Any = Producer({"bootstrap.servers": servers, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000})
    producer.list_topics(topic, timeout=_PATIENCE)

    def move() -> tuple[str, ...]:
        for key, text in pairs:
            producer.produce(topic, text, key)
        assert producer.flush(_PATIENCE) == 0
        return ()

    yield move


@contextmanager
def _consume(servers: str, records: int) -> Iterator[Move]:
    reader: Any = Consumer({"bootstrap.servers": servers, "group.id": "bench", "enable.auto.commit": False})
    reader.list_topics(_FULL, timeout=_PATIENCE)

    def move() -> list[bytes]:
        reader.assign([TopicPartition(_FULL, 0, 0)])
        found: list[bytes] = []
        while len(found) < records:
            found += [message.value() for message in reader.consume(_AT_ONCE, 0.1)]
        return found

    yield move
    reader.close()
