"""jdbc_sink in the runtime: what it refuses goes by the error policy, and it goes on where its database says."""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from rocketconnect_sdk.letters.dead_letters import REPLAY_ORIGIN, REPLAY_TOPIC, replay_topic
from rocketmq_remoting.model import Message
from services.executor.contract.task import Kind
from services.executor.runtime.rocketmq.properties import EXTENSION, TOMBSTONE
from tests.services.executor.runtime.conftest import Tasks

pytestmark = pytest.mark.rocketmq


def config_of(path: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Of a sink into this SQLite."""
    return {
        "connector.class": "jdbc_sink",
        "connection.url": f"sqlite:///{path}",
        "auto.create": "true",
        "value.converter": "json",
        "value.converter.schemas.enable": "true",
        **more,
    }


def message(number: int | None, name: str) -> str:
    fields = [{"field": "id", "type": "int64", "optional": True}, {"field": "name", "type": "string", "optional": True}]
    schema = {"type": "struct", "fields": fields, "optional": False}
    return json.dumps({"schema": schema, "payload": {"id": number, "name": name}})


def tombstone(key: int) -> Message:
    return Message(b"", keys=str(key), properties={TOMBSTONE: "1"})


def put(tasks: Tasks, bodies: "list[str] | list[Message]") -> None:
    if not tasks.client.topic_exists(tasks.topic):
        tasks.client.create_topic(tasks.topic, queues=1)
    (queue,) = tasks.client.queues(tasks.topic)
    tasks.client.send_batch(queue, [Message(body.encode()) if isinstance(body, str) else body for body in bodies], 20)


def test_bad_rows_are_skipped_and_the_others_are_there_once(tasks: Tasks) -> None:
    path = tasks.path / "db"
    config = config_of(
        path, {"table.name.format": "${topic}", "insert.mode": "upsert", "pk.fields": "id", "errors.tolerance": "all"}
    )
    put(tasks, [message(1, "a"), message(None, "no key"), message(2, "b"), message(1, "c")])
    running = tasks.start(Kind.SINK, config)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 3, 180)
    assert running.stop().clean
    assert running.reporter.metrics.records_skipped == 1
    put(tasks, [message(3, "d")])
    running = tasks.start(Kind.SINK, config, epoch=2)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 1, 180)
    assert running.stop().clean
    with closing(sqlite3.connect(path)) as database:
        found = database.execute(f'SELECT id, name FROM "{tasks.topic}" ORDER BY id').fetchall()
    assert found == [(1, "c"), (2, "b"), (3, "d")]


def test_a_row_that_comes_back_from_the_dead_letters_is_in_the_table_of_its_topic(tasks: Tasks) -> None:
    path = tasks.path / "db"
    config = config_of(path, {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": f"dead-{tasks.unique}"})
    put(tasks, [message(1, "a"), "bad"])
    running = tasks.start(Kind.SINK, config)
    running.reporter.wait_for(lambda: running.reporter.metrics.dead_letters == 1, 180)
    (queue,) = tasks.client.queues(replay_topic(f"sink-{tasks.unique}"))
    origin = {REPLAY_ORIGIN: f"{tasks.topic}/{queue.broker}/0:1"}
    tasks.client.send_batch(queue, [Message(message(2, "mended").encode(), properties=origin)], 20)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 2, 180)
    assert running.stop().clean
    with closing(sqlite3.connect(path)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        found = database.execute(f'SELECT id, name FROM "{tasks.topic}" ORDER BY id').fetchall()
    assert found == [(1, "a"), (2, "mended")]
    assert not [name for name in tables if name.startswith(REPLAY_TOPIC)]


def test_tombstones_delete_rows_and_columns_that_are_not_told_stay(tasks: Tasks) -> None:
    path = tasks.path / "db"
    keyed = {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id", "delete.enabled": "true"}
    config = config_of(path, {**keyed, "key.converter": "string"})
    rows = [Message(message(number, "a").encode(), keys=str(number)) for number in (1, 2, 3)]
    put(tasks, [tombstone(1), *rows, tombstone(2)])
    running = tasks.start(Kind.SINK, config)
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 5, 180)
    unchanged = Message(message(1, "not told").encode(), keys="1", properties={f"{EXTENSION}unchanged": "name"})
    put(tasks, [tombstone(3), tombstone(7), unchanged])
    running.reporter.wait_for(lambda: running.reporter.metrics.records_out == 8, 180)
    assert running.stop().clean
    with closing(sqlite3.connect(path)) as database:
        assert database.execute(f'SELECT id, name FROM "{tasks.topic}"').fetchall() == [(1, "a")]
