"""Debezium's connector for MariaDB, in Java, with its schema history in a file."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.connectors.kafka_connect.installed import MARIADB, debezium_mariadb_plugin
from tests.servers.mariadb import PASSWORD, Mariadb

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not Mariadb.is_installed(), reason="needs MariaDB's server programs")]


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return debezium_mariadb_plugin(tmp_path_factory.mktemp("kafka") / "plugins")


def configured(server: Mariadb, folder: Path) -> dict[str, str]:
    return {
        "connector.class": MARIADB,
        "topic": "shop",
        "topic.prefix": f"shop{time.time_ns()}",
        "database.hostname": "127.0.0.1",
        "database.port": str(server.port),
        "database.user": "root",
        "database.password": "${env:SHOP_PASSWORD}",
        "database.server.id": "5400",
        "database.include.list": "shop",
        "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
        "schema.history.internal.file.filename": str(folder / "history.dat"),
        "include.schema.changes": "false",
        "poll.interval.ms": "50",
        "transforms": "unwrap",
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    }


def rows(batches: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
    return [value and json.loads(value) for batch in batches for value in batch["values"]]


def test_a_snapshot_and_then_changes_come_and_reading_goes_on_where_it_was(
    do: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    with Mariadb().running() as server, server.connect() as connection, connection.cursor() as shop:
        shop.execute("create database shop")
        shop.execute("create table shop.orders (id int primary key, name text, price decimal(8, 2))")
        shop.execute("insert into shop.orders values (1, 'ä', 1.50), (2, null, 2)")
        config = configured(server, tmp_path)
        first = do(do="source", config=config, records=2)
        assert [(row["id"], row["name"]) for row in rows(first) if row] == [(1, "ä"), (2, None)]
        assert {topic for batch in first for topic in batch["topics"]} == {f"{config['topic.prefix']}_shop_orders"}
        shop.execute("update shop.orders set name = 'changed' where id = 2")
        shop.execute("alter table shop.orders add column town text")
        shop.execute("insert into shop.orders values (3, 'new', 3, 'Kyiv')")
        shop.execute("delete from shop.orders where id = 1")
        positions = {batch["partition"]: (batch["end"], batch["resume"]) for batch in first}
        second = rows(do(do="source", config=config, records=3, positions=positions))
        # From where it was, and with the columns that the table had then.
        assert [row and row["id"] for row in second] == [2, 3, None]
        assert [row.get("town", "no such column") for row in second if row] == ["no such column", "Kyiv"]
