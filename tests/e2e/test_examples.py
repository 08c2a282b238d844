"""The examples work as they are written: each command of their README, with what it says."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rocketconnect_cli.embedded.rocketmq_jars import rocketmq_jars
from tests import free_ports
from tests.e2e.console import Shown, commands, differing, said
from tests.e2e.pages.copies import EXAMPLES, copied, renamed, said_with_mariadb, written_in
from tests.servers.amqp.brokers import Artemis
from tests.servers.clickhouse import ClickHouse
from tests.servers.files.openssh import USER, OpenSsh
from tests.servers.hive_metastore import HiveMetastore
from tests.servers.kafka.broker import Kafka
from tests.servers.mariadb import Mariadb
from tests.servers.mongodb.ferretdb import FerretDb
from tests.servers.postgres import Postgres
from tests.servers.rabbitmq import Rabbitmq
from tests.servers.redis import Redis
from tests.servers.rocketmq_grpc.proxy import Proxy
from tests.servers.search.real import OpenSearch

pytestmark = pytest.mark.e2e
SERVERS = {
    "csv-to-clickhouse",
    "csv-to-elasticsearch",
    "csv-to-hive",
    "elasticsearch-to-jsonlines",
    "events-to-webhooks",
    "hive-to-jsonlines",
    "http-to-jsonlines",
    "kafka-to-jsonlines",
    "kafka-to-kafka",
    "logs-to-elasticsearch",
    "mariadb-to-delta",
    "mariadb-to-search-and-cache",
    "mongodb-to-jsonlines",
    "postgres-to-mariadb",
    "jms-to-jsonlines",
    "rabbitmq-to-jsonlines",
    "rabbitmq-to-postgres",
    "redis-to-jsonlines",
    "rocketmq-grpc-to-rocketmq",
    "rocketmq-to-rocketmq",
    "sftp-to-sftp",
    "webhooks-to-jsonlines",
}
ALONE = sorted({path.name for path in EXAMPLES.iterdir() if path.is_dir()} - SERVERS - {"clients"})
IN_A_GROUP = {
    "connector.class: redis_source": "connector.class: redis_group_source\n  group: readers",
    'streams.pattern: "orders:*"': "streams: orders:north,orders:south",
    "  discover.interval: 1s\n  key.field": "  key.field",
    "topic: redis-orders": "topic: redis-group-orders",
    "topics: redis-orders": "topics: redis-group-orders",
}
"""The same streams by redis_group_source."""
FAST = ("csv-to-objects", "csv-to-parquet")
"""One that needs no Spark, and one that does."""


def written(name: str) -> list[Shown]:
    return written_in(f"examples/{name}/README.md")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in FAST else pytest.mark.slow) for name in ALONE])
def test_an_example_works_as_it_is_written(instance: Any, tmp_path: Path, name: str) -> None:
    shown = written(name)
    assert any(each.output for each in shown)
    found = said(shown, instance.url, copied(tmp_path))
    assert differing(shown, found) == []


@pytest.fixture
def postgres_port() -> Iterator[int]:
    server = Postgres(fsync="off", wal_level="logical")
    with server.running("test"):
        yield server.port


@pytest.mark.slow
@pytest.mark.parametrize("page", ["examples/postgres-to-mariadb/README.md", "docs/capture-changes.md"])
def test_the_example_with_two_databases_works_as_it_is_written_and_leaves_no_slot(
    instance: Any, tmp_path: Path, postgres_port: int, mariadb: Mariadb, page: str
) -> None:
    ports = {"5432": str(postgres_port), "3306": str(mariadb.port)}
    shown = written_in(page)
    own = renamed("shop", "shop-of-a-page" if page.startswith("docs/") else "shop")
    found = said_with_mariadb(shown, instance, copied(tmp_path, {**ports, **own}), ports, mariadb)
    assert differing(shown, found) == []
    verified = next(each for each in found if each.command.startswith("rc verify"))
    assert "public.customers  shop-out  customers  3     0        0      0" in verified.output
    slots = "SELECT count(*) FROM pg_replication_slots"
    with psycopg.connect(f"postgresql://postgres@127.0.0.1:{postgres_port}/shop", autocommit=True) as database:
        deadline = time.monotonic() + 60
        while database.execute(slots).fetchone() != (0,):
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.mark.slow
def test_the_example_with_a_database_and_a_lake_works_as_it_is_written(instance: Any, tmp_path: Path, mariadb: Mariadb) -> None:
    ports = {"3306": str(mariadb.port)}
    shown = written("mariadb-to-delta")
    assert differing(shown, said_with_mariadb(shown, instance, copied(tmp_path, ports), ports, mariadb)) == []


@pytest.mark.slow
def test_the_example_with_a_database_a_search_engine_and_a_cache_works_as_it_is_written(
    instance: Any, tmp_path: Path, mariadb: Mariadb
) -> None:
    with OpenSearch().running() as search, Redis().running() as cache:
        ports = {"3306": str(mariadb.port), "9200": str(search.port), "6379": str(cache.port)}
        shown = written("mariadb-to-search-and-cache")
        assert differing(shown, said_with_mariadb(shown, instance, copied(tmp_path, ports), ports, mariadb)) == []


@pytest.mark.slow
def test_the_example_with_clickhouse_works_as_it_is_written(instance: Any, tmp_path: Path) -> None:
    with ClickHouse().running() as server:
        ports = {"8123": str(server.port)}
        shown = written("csv-to-clickhouse")
        assert differing(shown, said(shown, instance.url, copied(tmp_path, ports), ports)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["csv-to-elasticsearch", "elasticsearch-to-jsonlines", "logs-to-elasticsearch"])
def test_the_example_with_a_search_engine_works_as_it_is_written(instance: Any, tmp_path: Path, name: str) -> None:
    with OpenSearch().running() as server:
        ports = {"9200": str(server.port)}
        shown = written(name)
        assert differing(shown, said(shown, instance.url, copied(tmp_path, ports), ports)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["csv-to-hive", "hive-to-jsonlines"])
def test_the_example_with_hive_works_as_it_is_written(instance: Any, tmp_path: Path, name: str) -> None:
    with HiveMetastore().running() as server:
        ports = {"9083": str(server.port)}
        shown = written(name)
        assert differing(shown, said(shown, instance.url, copied(tmp_path, ports), ports)) == []


@pytest.mark.slow
def test_the_example_with_a_service_of_the_web_works_as_it_is_written(instance: Any, tmp_path: Path) -> None:
    ports = {"8087": str(free_ports.choose())}
    shown = written("http-to-jsonlines")
    try:
        assert differing(shown, said(shown, instance.url, copied(tmp_path, ports), ports)) == []
    finally:
        with suppress(ProcessLookupError):
            os.kill(int((tmp_path / "shop.pid").read_text()), signal.SIGTERM)


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.parametrize("name", ["kafka-to-jsonlines", "kafka-to-kafka"])
def test_the_example_with_kafka_works_as_it_is_written(instance: Any, tmp_path: Path, name: str) -> None:
    with Kafka().running() as server:
        ports = {"9092": str(server.port)}
        shown = written(name)
        assert differing(shown, said(shown, instance.url, copied(tmp_path, ports), ports)) == []


@pytest.mark.slow
def test_the_example_with_another_cluster_works_as_it_is_written(instance: Any, tmp_path: Path) -> None:
    server = {"127.0.0.1:9876": str(instance.ready["nameServer"])}
    shown = written("rocketmq-to-rocketmq")
    assert differing(shown, said(shown, instance.url, copied(tmp_path, server), server)) == []


@pytest.mark.slow
def test_the_example_with_a_proxy_works_as_it_is_written(instance: Any, tmp_path: Path) -> None:
    name_server = str(instance.ready["nameServer"])
    with Proxy(name_server, rocketmq_jars()).running() as proxy:
        servers = {"127.0.0.1:9876": name_server, "127.0.0.1:8081": proxy.endpoint}
        shown = written("rocketmq-grpc-to-rocketmq")
        assert differing(shown, said(shown, instance.url, copied(tmp_path, servers), servers)) == []


@pytest.mark.slow
def test_the_example_with_mongodb_works_as_it_is_written(instance: Any, tmp_path: Path) -> None:
    with FerretDb(oplog=True).running() as server:
        ports = {"27017": str(server.port)}
        shown = written("mongodb-to-jsonlines")
        assert differing(shown, said(shown, instance.url, copied(tmp_path, ports), ports)) == []


@pytest.mark.slow
def test_the_example_with_rabbitmq_works_as_it_is_written(instance: Any, tmp_path: Path) -> None:
    with Rabbitmq().running() as server:
        ports = {"5672": str(server.port)}
        shown = written("rabbitmq-to-jsonlines")
        assert differing(shown, said(shown, instance.url, copied(tmp_path, ports), ports)) == []


@pytest.mark.slow
def test_the_example_with_rabbitmq_and_a_database_works_as_it_is_written(instance: Any, tmp_path: Path, postgres_port: int) -> None:
    with Rabbitmq().running() as server:
        ports = {"5672": str(server.port), "5432": str(postgres_port)}
        shown = written("rabbitmq-to-postgres")
        assert differing(shown, said(shown, instance.url, copied(tmp_path, ports), ports)) == []


@pytest.mark.slow
def test_the_example_with_jms_works_as_it_is_written(instance: Any, tmp_path: Path) -> None:
    with Artemis().running() as server:
        ports = {"5672": str(server.port)}
        shown = written("jms-to-jsonlines")
        assert differing(shown, said(shown, instance.url, copied(tmp_path, ports), ports)) == []


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, IN_A_GROUP], ids=["by id", "in a group"])
def test_the_example_with_redis_works_as_it_is_written(instance: Any, tmp_path: Path, changes: dict[str, str]) -> None:
    with Redis().running() as server:
        ports = {"6379": str(server.port)}
        shown = written("redis-to-jsonlines")
        assert differing(shown, said(shown, instance.url, copied(tmp_path, {**ports, **changes}), ports)) == []


@pytest.mark.slow
def test_the_example_with_sftp_works_as_it_is_written(instance: Any, tmp_path: Path) -> None:
    with OpenSsh().running() as server:
        here = {"/tmp/sftp/": f"{server.folder}/", f"{tmp_path}/sftp/": f"{server.folder}/", "2222": str(server.port)}
        changes = {**here, "me@": f"{USER}@", "username: me": f"username: {USER}"}
        shown = written("sftp-to-sftp")
        assert differing(shown, said(shown, instance.url, copied(tmp_path, changes), changes)) == []


@pytest.mark.slow
def test_the_example_with_webhooks_works_as_it_is_written(instance: Any, tmp_path: Path) -> None:
    ports = {"8900": str(free_ports.choose())}
    shown = written("webhooks-to-jsonlines")
    assert differing(shown, said(shown, instance.url, copied(tmp_path, ports), ports)) == []


@pytest.mark.slow
def test_the_example_with_rules_works_as_it_is_written(instance: Any, tmp_path: Path) -> None:
    ports = {"8901": str(free_ports.choose())}
    shown = written("events-to-webhooks")
    assert differing(shown, said(shown, instance.url, copied(tmp_path, ports), ports)) == []


@pytest.mark.slow
def test_the_tables_of_the_readme_work_as_they_are_written(instance: Any, tmp_path: Path) -> None:
    section = (EXAMPLES.parent / "README.md").read_text().split("## Tables and databases\n")[1].split("\n## ")[0]
    found = said([Shown("alias rc=.venv/bin/rocketconnect", ""), *commands(section)], instance.url, copied(tmp_path))
    assert "stations-out is IDLE" in found[-2].output
    assert "id: int32" in found[-1].output
    for name in ("stations-in", "stations-out"):
        instance.api.request("DELETE", f"/v1/connectors/{name}")


def test_every_example_is_in_the_list() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    for path in EXAMPLES.iterdir():
        page = f"{path.name}/README.md" if path.is_dir() else path.name
        assert path.name == "README.md" or f"[{path.name}]({page})" in listed
