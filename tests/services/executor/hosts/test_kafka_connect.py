"""Connectors of Kafka Connect, in Java, in hosts of a real executor that are killed."""

import json
import os
import signal
import time
from pathlib import Path

import psycopg
import pytest

from tests.connectors.kafka_connect.installed import POSTGRES, SINK, SOURCE, debezium_plugin, file_plugin
from tests.servers.postgres import Postgres
from tests.services.executor.system import System, lines

pytestmark = [pytest.mark.rocketmq, pytest.mark.e2e, pytest.mark.slow]


def topic_of(name: str) -> str:
    return f"{name}-{os.getpid()}-{time.time_ns()}"


def test_lines_go_from_file_to_file_by_the_connectors_of_kafka_though_their_processes_are_killed(
    system: System, tmp_path: Path
) -> None:
    there, here, topic = tmp_path / "in.txt", tmp_path / "out.txt", topic_of("kc-lines")
    system.start("worker-1", kafka_plugins=str(file_plugin(tmp_path / "plugins")))
    there.write_text("".join(f"line {number}\n" for number in range(1000)))
    system.create("reads", connector_class=SOURCE, file=str(there), topic=topic)
    system.create("writes", connector_class=SINK, file=str(here), topics=topic, offset_flush_interval_ms="200")
    system.until(lambda: len(set(lines(here))) == 1000, 300)
    for number, task in enumerate(("reads/0", "writes/0", "reads/0")):
        os.kill(system.host_of("worker-1", task), signal.SIGKILL)
        with there.open("a") as file:
            file.writelines(f"more {number} {each}\n" for each in range(500))
        wanted = set(lines(there))
        # At least once: what was not confirmed comes again.
        system.until(lambda wanted=wanted: set(lines(here)) == wanted, 300)  # type: ignore[misc]


def test_changes_of_postgresql_come_by_debezium_which_goes_on_where_it_was(system: System, tmp_path: Path) -> None:
    plugins, here = debezium_plugin(file_plugin(tmp_path / "plugins")), tmp_path / "out.txt"
    prefix = f"shop{time.time_ns()}"
    with (
        Postgres(wal_level="logical").running("shop") as url,
        psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as shop,
    ):
        shop.execute("create table orders (id int primary key, name text)")
        shop.execute("insert into orders select n, 'first ' || n from generate_series(1, 100) n")
        system.start("worker-1", kafka_plugins=str(plugins), secret_variables="SHOP_*")
        address = {"database_hostname": "127.0.0.1", "database_port": str(shop.info.port), "database_user": "postgres"}
        system.create(
            "reads",
            connector_class=POSTGRES,
            topic=topic_of("kc-shop"),
            topic_prefix=prefix,
            database_dbname="shop",
            plugin_name="pgoutput",
            table_include_list="public.orders",
            poll_interval_ms="50",
            transforms="unwrap",
            transforms_unwrap_type="io.debezium.transforms.ExtractNewRecordState",
            **address,
        )
        text = {"value_converter": "org.apache.kafka.connect.storage.StringConverter", "offset_flush_interval_ms": "200"}
        system.create("writes", connector_class=SINK, file=str(here), topics=f"{prefix}_public_orders", **text)

        def there() -> set[tuple[int, str]]:
            return set(shop.execute("select id, name from orders"))

        def seen() -> set[tuple[int, str]]:
            rows = (json.loads(line) for line in lines(here) if line != "null")
            return {(row["id"], row["name"]) for row in rows}

        system.until(lambda: seen() >= there(), 300)
        shop.execute("update orders set name = 'changed' where id = 7")
        system.until(lambda: (7, "changed") in seen(), 120)
        before = len(lines(here))
        os.kill(system.host_of("worker-1", "reads/0"), signal.SIGKILL)
        shop.execute("insert into orders values (1000, 'while it was gone')")
        system.until(lambda: (1000, "while it was gone") in seen(), 300)
        # From where it was: another snapshot would bring a hundred rows.
        assert len(lines(here)) - before < 50
        slots = shop.execute("select count(*) from pg_replication_slots where active").fetchone()
        assert slots == (1,)
