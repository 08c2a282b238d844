"""Kafka's own transforms, once for all tests here."""

from collections.abc import Iterator

import pytest

from tests.rocketconnect_sdk.transforms.kafka.peer import Kafka, kafka_at_work


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    with kafka_at_work(tmp_path_factory.mktemp("java")) as found:
        yield found
