"""Messages that have several records, through a real broker into a database: what Canal sends becomes the table that it was."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rocketconnect_sdk.letters.dead_letters import DeadLetter
from services.executor.contract.task import Kind
from tests.services.executor.runtime.conftest import Tasks, produce
from tests.services.executor.runtime.test_packed_tasks import messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.spark,
    # py4j leaves the socket of each ended thread to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

TYPES = {"id": "bigint(20)", "name": "varchar(20)", "price": "decimal(10,2)"}


def canal(kind: str, *rows: dict[str, str | None], old: list[dict[str, str]] | None = None, **more: object) -> str:
    said = {"type": kind, "database": "shop", "table": "goods", "isDdl": False, "es": 5, "ts": 6, "pkNames": ["id"]}
    return json.dumps({**said, "mysqlType": TYPES, "data": rows, "old": old, **more})


def goods(number: int, name: str, price: str = "1.50") -> dict[str, str | None]:
    return {"id": str(number), "name": name, "price": price}


def table(file: Path) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(file, timeout=20)) as db:
        return db.execute("SELECT id, name, price FROM goods ORDER BY id").fetchall()


def test_what_canal_sends_becomes_the_table_and_a_row_that_does_not_fit_becomes_a_letter_with_it_alone(
    tasks: Tasks, spark: "SparkSession"
) -> None:
    tasks.create_topic(1)
    produce(
        tasks,
        [
            canal("CREATE", isDdl=True, sql="CREATE TABLE ..."),
            canal("INSERT", goods(1, "a"), goods(2, "b", "a lot"), goods(3, "c")),
            canal("UPDATE", goods(1, "A"), goods(4, "c"), old=[{"name": "a"}, {"id": "3"}]),
            canal("DELETE", goods(1, "A")),
            canal("INSERT", goods(5, "e", "2.25")),
        ],
    )
    file, dead = tasks.path / "shop.db", f"dead-{tasks.unique}"
    config = {
        "connector.class": "jdbc_sink",
        "connection.url": f"sqlite:///{file}",
        "table.name.format": "goods",
        "auto.create": "true",
        "insert.mode": "upsert",
        "pk.mode": "record_key",
        "pk.fields": "id",
        "delete.enabled": "true",
        "engine": "spark",
        "value.converter": "canal",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead,
    }
    sink = tasks.start(Kind.SINK, config, spark=lambda: spark)
    sink.reporter.wait_for_out(6, 180)
    assert sink.stop().clean
    assert table(file) == [(4, "c", "1.50"), (5, "e", "2.25")]
    (letter,) = [DeadLetter.of(message) for message in messages(tasks, dead)]
    assert json.loads(letter.message.body)["data"] == [goods(2, "b", "a lot")]
    assert letter.notes["row"] == "1"
