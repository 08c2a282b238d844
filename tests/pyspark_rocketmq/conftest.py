"""A Spark session, and a topic of its own for each test."""

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pyspark_rocketmq.settings import GROUP
from rocketconnect_sdk.conformance.sink_case import spark_session
from rocketmq_remoting.client import Client
from rocketmq_remoting.model import Message
from tests.shared_rocketmq import RocketMQ

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Topic:
    """A topic of two queues, and how a job of Spark reads and writes it."""

    def __init__(self, spark: "SparkSession", client: Client, name_server: str) -> None:
        self.spark = spark
        self.client = client
        self.name = f"t{uuid.uuid4().hex[:12]}"
        self.options = {"name.servers": name_server, "timeout": "10s"}
        client.create_topic(self.name, queues=2)

    def write(self, frame: "DataFrame", **options: str) -> None:
        """Adds a DataFrame. Options have a double underscore where a dot is."""
        frame.write.format("rocketmq").mode("append").options(**self.options, **_dotted(options)).save(self.name)

    def read(self, **options: str) -> "DataFrame":
        """What is in it."""
        return self.spark.read.format("rocketmq").options(**self.options, **_dotted(options)).load(self.name)

    def stream(self, **options: str) -> "DataFrame":
        """What is in it and what comes, from its beginning."""
        reader = self.spark.readStream.format("rocketmq").options(**self.options, start="first", **_dotted(options))
        return reader.load(self.name)

    def send(self, *bodies: bytes, queue: int = 0) -> None:
        """Adds messages as any other producer would."""
        where = self.client.queues(self.name)[queue]
        self.client.send_batch(where, [Message(body) for body in bodies])
        self.client.barrier(where.broker)

    def stored(self) -> int:
        """How many messages the broker has of it."""
        queues = self.client.queues(self.name)
        for broker in {queue.broker for queue in queues}:
            self.client.barrier(broker)
        return sum(map(self.client.max_offset, queues))


def _dotted(options: dict[str, str]) -> dict[str, str]:
    return {key.replace("__", "."): text for key, text in options.items()}


@pytest.fixture
def topic(rocketmq: RocketMQ) -> Iterator[Topic]:
    """An empty one."""
    with Client(rocketmq.name_server, group=GROUP) as client:
        yield Topic(spark_session(), client, rocketmq.name_server)
