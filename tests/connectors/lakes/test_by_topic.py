"""Each topic into a table of its own by one connector, through the real services, broker and Spark, and read by others."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest

from bench.measuring.lakes import Delta, Hudi, Iceberg, Lake
from rocketconnect_cli.api import Api
from rocketconnect_cli.instance.running import running
from rocketconnect_cli.states import get_state
from rocketconnect_sdk.letters.dead_letters import REPLAY_ORIGIN, replay_topic
from rocketmq_remoting.client import Client
from rocketmq_remoting.model import Message
from services.executor.runtime.rocketmq.properties import TOMBSTONE

pytestmark = [pytest.mark.e2e, pytest.mark.spark, pytest.mark.slow]
LAKES = pytest.mark.parametrize("lake", [Delta, Iceberg, Hudi], ids=lambda lake: lake.form)
LIMIT_SECONDS = 900.0
FIELDS = {"order": {"id": "int64", "price": "double"}, "who": {"code": "string", "name": "string"}}


@dataclass(frozen=True)
class Instance:
    """What `rocketconnect up` said, and a client for it."""

    ready: Mapping[str, Any]
    api: Api


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    with running(tmp_path_factory.mktemp("instance"), drain=False) as ready, Api(str(ready["rest"])) as api:
        yield Instance(ready, api)


class Tables:
    """A sink into a table for each of two topics, whose rows have other columns and other keys."""

    def __init__(self, instance: Instance, client: Client, lake: Lake, name: str) -> None:
        self.instance, self.client, self.lake, self.name = instance, client, lake, name
        self.topics = {kind: f"{name}-{kind}" for kind in FIELDS}
        for topic in self.topics.values():
            client.create_topic(topic, queues=1)
        self.uid = ""

    def create(self, **more: str) -> None:
        config = {
            **self.lake.sink("${topic}"),
            "topics": ",".join(self.topics.values()),
            "insert.mode": "upsert",
            "pk.mode": "record_key",
            "delete.enabled": "true",
            "key.converter": "string",
            "value.converter": "json",
            "value.converter.schemas.enable": "true",
            "flush.interval": "300ms",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": f"{self.name}-dead",
        }
        answer = self.instance.api.request("POST", "/v1/connectors", body={"name": self.name, "config": config | more})
        self.uid = answer["connector"]["uid"]

    def send(self, kind: str, *messages: Message) -> None:
        (queue,) = self.client.queues(self.topics[kind])
        self.client.send_batch(queue, messages, 20)

    def bring_back(self, kind: str, offset: int, message: Message) -> None:
        """As a replay of a dead letter does."""
        (queue,) = self.client.queues(replay_topic(self.uid))
        origin = {REPLAY_ORIGIN: f"{self.topics[kind]}/{queue.broker}/0:{offset}"}
        self.client.send_batch(queue, [Message(message.body, keys=message.keys, properties=origin)], 20)

    def rows(self, kind: str) -> list[tuple[Any, ...]]:
        table = self.lake.read(self.topics[kind]) if self.lake.count(self.topics[kind]) else pa.table({})
        names = list(FIELDS[kind])
        return sorted(zip(*(table.column(name).to_pylist() for name in names), strict=True)) if table.num_rows else []

    def until(self, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not true():
            if time.monotonic() > deadline:
                pytest.fail(str([get_state(self.instance.api, self.name), *(self.rows(kind) for kind in FIELDS)]))
            time.sleep(0.1)

    def metric(self, name: str) -> int:
        tasks = get_state(self.instance.api, self.name).get("tasks", [])
        return sum(int(task.get("metrics", {}).get(name, 0)) for task in tasks)

    def drivers(self) -> list[psutil.Process]:
        """All of Spark below the executors."""
        executors = [psutil.Process(pid) for name, pid in self.instance.ready["pids"].items() if name.startswith("executor")]
        return [each for one in executors for each in one.children(recursive=True) if each.name() == "java"]

    def kill_drivers(self) -> None:
        """Also one that has just begun, in the place of one that was killed."""
        self.until(lambda: bool(self.drivers()))
        for driver in self.drivers():
            driver.kill()


def row(kind: str, *values: object) -> Message:
    names = FIELDS[kind]
    fields = [{"field": name, "type": form, "optional": True} for name, form in names.items()]
    payload = dict(zip(names, values, strict=True))
    key: Mapping[str, object] = {next(iter(names)): values[0]}
    body = {"schema": {"type": "struct", "fields": fields, "optional": False}, "payload": payload}
    return Message(json.dumps(body).encode(), keys=json.dumps(key))


def deletion(kind: str, key: object) -> Message:
    return Message(b"", keys=json.dumps({next(iter(FIELDS[kind])): key}), properties={TOMBSTONE: "1"})


@LAKES
def test_changes_of_two_topics_are_in_their_tables_once_though_the_driver_is_killed(
    instance: Instance, tmp_path: Path, lake: type[Lake]
) -> None:
    with Client(instance.ready["nameServer"]) as client:
        tables = Tables(instance, client, lake(tmp_path), f"by-topic-{lake.form}")
        tables.send("order", *(row("order", number, number / 2) for number in range(50)), deletion("order", 7))
        tables.send("who", row("who", "a", "Ada"), Message(b"no row", keys='{"code": "b"}'), row("who", "c", "Cid"))
        tables.create()
        orders = [(number, number / 2) for number in range(50) if number != 7]
        tables.until(lambda: tables.rows("order") == orders and tables.rows("who") == [("a", "Ada"), ("c", "Cid")])
        tables.until(lambda: tables.metric("deadLetters") == 1)
        tables.bring_back("who", 1, row("who", "b", "Bob"))
        tables.send("order", deletion("order", 0))
        tables.kill_drivers()
        tables.send("order", row("order", 1, 9.0), *(row("order", number, 0.0) for number in range(50, 60)))
        tables.send("who", row("who", "a", "Ann"))
        orders = [(1, 9.0), *orders[2:], *((number, 0.0) for number in range(50, 60))]
        tables.until(lambda: tables.rows("order") == orders)
        tables.until(lambda: tables.rows("who") == [("a", "Ann"), ("b", "Bob"), ("c", "Cid")])
        instance.api.request("DELETE", f"/v1/connectors/{tables.name}")


@LAKES
def test_rows_of_two_topics_are_appended_to_their_tables_once_though_the_driver_is_killed(
    instance: Instance, tmp_path: Path, lake: type[Lake]
) -> None:
    with Client(instance.ready["nameServer"]) as client:
        tables = Tables(instance, client, lake(tmp_path), f"rows-by-topic-{lake.form}")
        tables.create(**{"insert.mode": "insert", "pk.mode": "record_value", "delete.enabled": "false"})
        sent = 0
        for turn in range(4):
            for _ in range(20):
                tables.send("order", *(row("order", sent + number, 0.5) for number in range(100)))
                tables.send("who", *(row("who", f"{sent + number:05}", "x") for number in range(100)))
                sent += 100
            tables.until(lambda: tables.metric("recordsOut") > 0)
            if turn < 3:
                tables.kill_drivers()
        tables.until(lambda: min(len(tables.rows(kind)) for kind in FIELDS) >= sent)
        assert tables.rows("order") == [(number, 0.5) for number in range(sent)]
        assert tables.rows("who") == [(f"{number:05}", "x") for number in range(sent)]
        instance.api.request("DELETE", f"/v1/connectors/{tables.name}")
