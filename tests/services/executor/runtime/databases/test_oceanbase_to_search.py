"""A table of OceanBase's kernel becomes documents of OpenSearch, over a real RocketMQ, while tasks and database are killed."""

import json
import random
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from services.executor.contract.task import Kind
from tests.servers.oceanbase.seekdb import Seekdb
from tests.servers.search.real import OpenSearch
from tests.services.executor.runtime.conftest import Tasks

if TYPE_CHECKING:
    import subprocess

pytestmark = [pytest.mark.rocketmq, pytest.mark.slow]

ROWS, CHANGES, KILLS = 1_000, 400, 3
SECONDS = 180.0
_TABLE = "CREATE TABLE things (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(50), price DECIMAL(9,2), at DATETIME(6) NOT NULL)"


@pytest.fixture
def search() -> Iterator[str]:
    with OpenSearch().running() as server:
        yield server.url


def documents(url: str) -> dict[int, tuple[Any, ...]]:
    with httpx.Client(base_url=url, timeout=60) as client:
        client.post("/things/_refresh")
        answer = client.post("/things/_search", json={"size": 5_000})
        if answer.status_code == httpx.codes.NOT_FOUND:
            return {}
        found = [hit["_source"] for hit in answer.raise_for_status().json()["hits"]["hits"]]
        return {each["id"]: (each["name"], each["price"]) for each in found}


def change(cursor: Any, chance: random.Random, number: int) -> None:
    if chance.random() < 0.5:
        name = f"changed {number}"
        cursor.execute("UPDATE things SET name = %s, at = UTC_TIMESTAMP(6) WHERE id = %s", (name, chance.randrange(1, ROWS)))
    else:
        cursor.execute("INSERT INTO things (name, price, at) VALUES (%s, 1.5, UTC_TIMESTAMP(6))", (f"added {number}",))


def test_the_documents_become_the_rows_though_both_tasks_and_the_database_are_killed(
    tasks: Tasks, oceanbase: Seekdb, search: str
) -> None:
    chance = random.Random(7)
    oceanbase.make("things", "reader")
    tasks.create_topic(queues=2)
    with oceanbase.connect(database="things") as connection, connection.cursor() as cursor:
        cursor.execute(_TABLE)
        rows = [(f"ü{number}" if number % 5 else None, number / 4) for number in range(ROWS)]
        cursor.executemany("INSERT INTO things (name, price, at) VALUES (%s, %s, UTC_TIMESTAMP(6))", rows)
    source = {
        "connector.class": "jdbc_source",
        "connection.url": f"jdbc:oceanbase://127.0.0.1:{oceanbase.port}/things",
        "user": "reader",
        "mode": "timestamp+incrementing",
        "timestamp.column.name": "at",
        "incrementing.column.name": "id",
        "timestamp.delay.interval": "2s",
        "poll.interval": "100ms",
        "batch.max.rows": "100",
        "value.converter": "json",
        "value.converter.schemas.enable": "false",
    }
    sink = {
        "connector.class": "elasticsearch_sink",
        "url": search,
        "index": "things",
        "id": "${value.id}",
        "value.converter": "json",
        "value.converter.schemas.enable": "false",
    }

    def both(epoch: int) -> "list[subprocess.Popen[bytes]]":
        # A row that has changed goes into the queue of its key, in its order.
        reads = tasks.spawn(Kind.SOURCE, {**source, "key.converter": "json"}, epoch=epoch, task_config={"tables": "things"})
        return [reads, tasks.spawn(Kind.SINK, sink, epoch=epoch)]

    processes = both(1)
    for kill in range(KILLS):
        with oceanbase.connect(database="things") as connection, connection.cursor() as cursor:
            for number in range(kill * CHANGES // KILLS, (kill + 1) * CHANGES // KILLS):
                change(cursor, chance, number)
        time.sleep(chance.uniform(0.5, 4))
        for process in processes:
            process.kill()
            process.wait()
        if kill == 1:
            oceanbase.kill()
            oceanbase.start()
        processes = both(2 + kill)
    with oceanbase.connect(database="things") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id, name, price FROM things")
        wanted = {number: (name, json.loads(str(price))) for number, name, price in cursor.fetchall()}
    deadline = time.monotonic() + SECONDS
    while (found := documents(search)) != wanted:
        logs = [(tasks.path / f"{kind}.log").read_text()[-500:] for kind in ("SOURCE", "SINK")]
        different = [key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key)]
        shown = [(key, found.get(key), wanted.get(key)) for key in different[:3]]
        assert time.monotonic() < deadline, (len(found), len(wanted), len(different), shown, logs)
        time.sleep(0.5)
