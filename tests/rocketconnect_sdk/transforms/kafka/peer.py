"""Kafka's own transforms, predicates and regular expressions, in their own Java."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.peers.kafka_jars import KAFKA
from rocketconnect_kit.java.jars import jars_of
from tests.rocketconnect_sdk.converters.interoperability.connect_peer import Peer, Reader


@dataclass(frozen=True)
class Kafka:
    """The program at work."""

    reader: Reader

    def ask(self, **question: object) -> Mapping[str, Any]:
        """What it answers; see KafkaTransformsPeer.java."""
        self.reader.questions.write(json.dumps(question).encode() + b"\n")
        self.reader.questions.flush()
        answer: Mapping[str, Any] = json.loads(self.reader.answers.readline())
        return answer


@contextmanager
def kafka_at_work(folder: Path) -> Iterator[Kafka]:
    """Compile it into a folder, and run it."""
    with Peer.compiled("KafkaTransformsPeer", f"{jars_of(KAFKA)}/*", folder).running() as reader:
        yield Kafka(reader)
