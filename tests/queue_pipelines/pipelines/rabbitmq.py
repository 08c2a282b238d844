"""A queue of RabbitMQ into a topic, at least once, and from there into a table of PostgreSQL, a row for each key."""

import json
from collections.abc import Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from typing import Any

import pika
import psycopg

from tests.queue_pipelines.comparing import each_once
from tests.queue_pipelines.events import event
from tests.queue_pipelines.pipeline import BROKER, EXECUTOR, JSON, TASK, TOPIC, Feed, Pipeline
from tests.servers.postgres import Postgres
from tests.servers.rabbitmq import Rabbitmq

_QUEUE, _TABLE, _DATABASE = "orders", "orders", "shop"


class RabbitmqToPostgres(Pipeline):
    """See the module."""

    kills = (TASK, TASK, "source", BROKER, "target", EXECUTOR)

    def start(self, stack: ExitStack) -> None:
        """See Pipeline."""
        self._rabbitmq, self._postgres = stack.enter_context(Rabbitmq().running()), Postgres()
        stack.enter_context(self._postgres.running(_DATABASE))
        self.servers = {"source": self._rabbitmq, "target": self._postgres}
        # Before anybody publishes: what no queue takes is dropped.
        self._rabbitmq.make(_QUEUE, arguments={"x-queue-type": "quorum"})

    def connectors(self) -> Mapping[str, Mapping[str, str]]:
        """See Pipeline."""
        source = {
            "connector.class": "rabbitmq_source",
            "url": self._rabbitmq.url,
            "queues": _QUEUE,
            "value.format": "json",
            "key": "header.shop",
            "topic": TOPIC,
            "max.tasks": "2",
        }
        sink = {
            "connector.class": "jdbc_sink",
            "topics": TOPIC,
            "connection.url": f"postgresql://127.0.0.1:{self._postgres.port}/{_DATABASE}",
            "user": "postgres",
            "table.name.format": _TABLE,
            "insert.mode": "upsert",
            "pk.fields": "number",
            "auto.create": "true",
            "columns": "number:int64,shop,name,amount:int64,share:double,paid:boolean",
        }
        return {"rabbitmq-in": {**source, **JSON}, "postgres-out": {**sink, **JSON}}

    @contextmanager
    def feeder(self) -> Iterator[Feed]:
        """See Pipeline."""
        publisher = _Publisher(self._rabbitmq.port)
        try:
            yield publisher.publish
        finally:
            publisher.hang_up()

    def arrived(self) -> Set[int]:
        """See Pipeline."""
        return {number for (number,) in self._rows("SELECT number FROM orders")}

    def compare(self, given: int) -> str:
        """See Pipeline."""
        rows = self._rows("SELECT number, shop, name, amount, share, paid FROM orders")
        each_once((tuple(event(number).values()) for number in range(given)), rows)
        return f"{len(rows)} rows are there with what was sent"

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        """None, where the table is not there yet."""
        with psycopg.connect(host="127.0.0.1", port=self._postgres.port, user="postgres", dbname=_DATABASE) as connection:
            if connection.execute("SELECT to_regclass(%s)", [_TABLE]).fetchone() == (None,):
                return []
            return connection.execute(query.encode()).fetchall()


class _Publisher:
    """Publishes until the server has confirmed. For one thread."""

    def __init__(self, port: int) -> None:
        self._server = pika.ConnectionParameters("localhost", port)
        self._connection: Any = None
        self._channel: Any = None

    def publish(self, number: int) -> bool:
        """See Feed."""
        made = event(number)
        of = pika.BasicProperties(delivery_mode=2, headers={"shop": made["shop"]})
        try:
            if self._connection is None:
                self._connection = pika.BlockingConnection(self._server)
                self._channel = self._connection.channel()
                self._channel.confirm_delivery()
            self._channel.basic_publish("", _QUEUE, json.dumps(made), of, mandatory=True)
        except (pika.exceptions.AMQPError, OSError):
            # The server is away; whether it has taken the message nobody knows.
            self.hang_up()
            return False
        return True

    def hang_up(self) -> None:
        """Ends the connection."""
        if self._connection is not None and self._connection.is_open:
            self._connection.close()
        self._connection = None
