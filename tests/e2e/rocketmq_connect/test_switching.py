"""What users of RocketMQ Connect have is posted as it is, to the paths that they know, and moves rows."""

import base64
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from rocketconnect_cli.instance import topology
from rocketconnect_cli.instance.running import running
from rocketmq_remoting import Client, Message
from tests import stores
from tests.servers.postgres import Postgres
from tests.servers.redis import Redis
from tests.spoken import rc

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

JSON = "org.apache.rocketmq.connect.runtime.converter.record.json.JsonConverter"
CONVERTERS = {"key.converter": JSON, "value.converter": JSON}
UNWRAP = {
    "kafka.transforms": "Unwrap",
    "kafka.transforms.Unwrap.delete.handling.mode": "none",
    "kafka.transforms.Unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "kafka.transforms.Unwrap.add.headers": "op,source.db,source.table",
}


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What an instance with a keystore says."""
    folder = tmp_path_factory.mktemp("instance")
    keys = folder / "keys"
    assert rc("", "secret", "new-key", str(keys))[0] == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROCKETCONNECT_KEYSTORE_KEYS", str(keys))
        patch.setenv(topology.SPARK_WARM, "false")
        stores.prepare(folder / "data")
        with running(folder / "data", drain=False) as said:
            yield said


@pytest.fixture
def url(ready: dict[str, Any]) -> str:
    return str(ready["rest"])


def until(condition: Callable[[], object], seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s"
        time.sleep(0.5)


def post(url: str, name: str, config: dict[str, Any]) -> dict[str, str]:
    answer = httpx.post(f"{url}/connectors/{name}", json=config, timeout=90)
    assert answer.status_code == 200, answer.text
    stored: dict[str, str] = answer.json()["body"]
    again = httpx.post(f"{url}/connectors/{name}", json=config, timeout=90)
    assert again.json()["message"] == "Connector with same config already exist.", again.text
    return stored


def test_changes_of_a_table_reach_another_one_by_the_published_configurations_of_debezium_and_jdbc(url: str) -> None:
    with Postgres(wal_level="logical").running("bank") as server:
        place = urlsplit(server)
        here: dict[str, Any] = {"host": place.hostname, "port": place.port, "user": "postgres", "autocommit": True}
        with psycopg.connect(**here, dbname="bank") as source, psycopg.connect(**here, dbname="postgres") as admin:
            admin.execute("CREATE DATABASE bank1")
            columns = "(holding_id int PRIMARY KEY, user_id int, holding_stock varchar(8), holding_quantity int)"
            source.execute(f"CREATE SCHEMA bank; CREATE TABLE bank.holding {columns}".encode())
            source.execute("INSERT INTO bank.holding VALUES (1000, 1, 'VFIAX', 10), (1001, 2, 'SP500', 1), (1002, 2, 'SP500', 3)")
            debezium = {
                "connector.class": "org.apache.rocketmq.connect.debezium.postgres.DebeziumPostgresConnector",
                "max.tasks": "1",
                "connect.topicname": "debezium-postgres-source-01",
                **UNWRAP,
                "database.history.skip.unparseable.ddl": True,
                "database.server.name": "bankserver1",
                "database.port": place.port,
                "database.hostname": place.hostname,
                "database.connectionTimeZone": "UTC",
                "database.user": "postgres",
                "database.dbname": "bank",
                "database.password": "hunter2",
                "table.whitelist": "bank.holding",
                **CONVERTERS,
            }
            stored = post(url, "postgres-connector", debezium)
            assert (stored["connector.class"], stored["password"][:11]) == ("postgres_cdc_source", "${keystore:")
            sink = {
                "connector.class": "org.apache.rocketmq.connect.jdbc.sink.JdbcSinkConnector",
                "max.tasks": "2",
                "connect.topicnames": "debezium-postgres-source-01",
                "connection.url": f"jdbc:postgresql://{place.hostname}:{place.port}/bank1?user=postgres",
                "connection.password": "hunter2",
                "pk.fields": "holding_id",
                "table.name.from.header": "true",
                "pk.mode": "record_key",
                "insert.mode": "UPSERT",
                "db.timezone": "UTC",
                "table.types": "TABLE",
                "errors.deadletterqueue.topic.name": "dlq-topic",
                "errors.log.enable": "true",
                "errors.tolerance": "ALL",
                "delete.enabled": "true",
                **CONVERTERS,
            }
            with psycopg.connect(**here, dbname="bank1") as target:
                target.execute(f"CREATE TABLE holding {columns}".encode())
                stored = post(url, "jdbc-sink", sink)
                assert stored["table.name.format"] == "${header.__source_table}"
                assert "hunter2" not in httpx.get(f"{url}/connectors/list").text

                def rows() -> list[tuple[Any, ...]]:
                    return target.execute("SELECT holding_id, holding_quantity FROM holding ORDER BY 1").fetchall()

                until(lambda: rows() == [(1000, 10), (1001, 1), (1002, 3)])
                source.execute("UPDATE bank.holding SET holding_quantity = 300 WHERE holding_id = 1000")
                source.execute("DELETE FROM bank.holding WHERE holding_id = 1001")
                until(lambda: rows() == [(1000, 300), (1002, 3)])
            for name in ("jdbc-sink", "postgres-connector"):
                assert httpx.get(f"{url}/connectors/{name}/stop", timeout=90).status_code == 200


def test_rows_of_a_table_reach_the_table_of_their_name_by_the_configurations_of_jdbc(url: str, tmp_path: Path) -> None:
    shop, copy = tmp_path / "shop.db", tmp_path / "copy.db"
    for path in (shop, copy):
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE employee (id INTEGER PRIMARY KEY, name TEXT)")
            if path == shop:
                database.execute("INSERT INTO employee VALUES (1, 'a'), (2, 'b')")
            database.commit()
    package = "org.apache.rocketmq.connect.jdbc"
    source = {
        "connector.class": f"{package}.mysql.source.JdbcSourceConnector",
        "max-task": "1",
        "connect.topicname": "employee-test-topic-json-00002",
        "connection.url": f"jdbc:sqlite:{shop}",
        "table.whitelist": "employee",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        **CONVERTERS,
    }
    sink = {
        "connector.class": f"{package}.mysql.sink.JdbcSinkConnector",
        "connect.topicnames": "employee-test-topic-json-00002",
        "connection.url": f"jdbc:sqlite:{copy}",
        "pk.fields": "id",
        "pk.mode": "record_value",
        "insert.mode": "UPSERT",
        "errors.tolerance": "ALL",
        **CONVERTERS,
    }
    post(url, "rows", source)
    post(url, "rows-sink", sink)

    def rows() -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(copy)) as database:
            return database.execute("SELECT id, name FROM employee ORDER BY 1").fetchall()

    until(lambda: rows() == [(1, "a"), (2, "b")])


def test_a_source_and_a_sink_of_a_worker_go_on_where_they_were(url: str, ready: dict[str, Any], tmp_path: Path) -> None:
    shop, copy = tmp_path / "shop.db", tmp_path / "copy.db"
    for path in (shop, copy):
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE moved (id INTEGER PRIMARY KEY, name TEXT)")
            if path == shop:
                database.executemany("INSERT INTO moved VALUES (?, ?)", [(number, f"n{number}") for number in range(1, 6)])
            database.commit()
    package = "org.apache.rocketmq.connect.jdbc"
    configs = {
        "moved": {
            "connector.class": f"{package}.source.JdbcSourceConnector",
            "connect.topicname": "moved",
            "connection.url": f"jdbc:sqlite:{shop}",
            "table.whitelist": "moved",
            "mode": "incrementing",
            "incrementing.column.name": "id",
            **CONVERTERS,
        },
        "moved-sink": {
            "connector.class": f"{package}.sink.JdbcSinkConnector",
            "connect.topicnames": "moved",
            "connection.url": f"jdbc:sqlite:{copy}",
            **CONVERTERS,
        },
    }
    code, out, err = rc(url, "topic", "create", "moved", "--queues", "1")
    assert code == 0, (out, err)
    name_server = str(ready["nameServer"])
    with Client(name_server) as client:
        # The worker has sent this row, and written it; what became of it in the copy later is no matter of ours.
        (queue,) = client.queues("moved", fresh=True)
        fields = [{"type": "int64", "field": "id"}, {"type": "string", "field": "name"}]
        row = {"schema": {"type": "struct", "name": "moved", "fields": fields}, "payload": {"id": 1, "name": "n1"}}
        client.send(queue, Message(json.dumps(row).encode()))
        client.commit_offset("connect-moved-sink", queue, 1)
    folder = tmp_path / "store" / "config"
    folder.mkdir(parents=True)

    def write(name: str, entries: Mapping[str, object]) -> None:
        def encoded(text: str) -> str:
            return base64.b64encode(text.encode()).decode()

        (folder / name).write_text(json.dumps({encoded(key): encoded(json.dumps(value)) for key, value in entries.items()}))

    started = {name: {"epoch": 1, "properties": config, "targetState": "STARTED"} for name, config in configs.items()}
    write("connectorConfig.json", started)
    place = json.dumps({"namespace": "moved", "partition": {"table": "moved", "topic": "moved"}})
    write("position.json", {place: {"offset": {"incrementing": 3}}})
    words = ("import", "rocketmq-connect", str(folder.parent), "--namesrv", name_server)
    code, out, err = rc(url, *words)
    assert (code, "incrementing moved at [3]" in out, f"moved/{queue.broker}/0 at [1]" in out) == (0, True, True), (out, err)
    code, out, err = rc(url, *words, "--yes", "--start")
    assert code == 0, (out, err)

    def rows() -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(copy)) as database:
            return database.execute("SELECT id, name FROM moved ORDER BY 1").fetchall()

    until(lambda: len(rows()) >= 2)
    assert rows() == [(4, "n4"), (5, "n5")]


def test_keys_of_redis_reach_a_topic_by_the_published_configuration(url: str) -> None:
    with Redis("redis").running() as server:
        server.client.set("greeting", "hello")
        config = {
            "connector.class": "org.apache.rocketmq.connect.redis.connector.RedisSourceConnector",
            "max.tasks": "3",
            "redisAddr": "127.0.0.1",
            "redisPort": str(server.port),
            "connect.topicname": "targetTopic",
            **CONVERTERS,
        }
        assert post(url, "redisSourceConnector", config)["url"] == f"redis://127.0.0.1:{server.port}"

        def peeked() -> str:
            code, out, err = rc(url, "topic", "peek", "targetTopic", "-n", "10", "-o", "json")
            return out if code == 0 else err

        until(lambda: "greeting" in peeked())
        assert "hello" in json.dumps(json.loads(peeked().splitlines()[-1]))
