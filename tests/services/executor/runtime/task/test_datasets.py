"""What tasks read and write has the names that OpenLineage gives it."""

from pathlib import Path
from typing import Any

import pytest

from rocketconnect_sdk.configuration.connector_options import parse_sink, parse_source
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.plugins.loader import find
from rocketconnect_sdk.sink import Sink
from rocketconnect_sdk.source import Source
from services.executor.contract.datasets import Dataset
from services.executor.runtime import datasets


@pytest.mark.parametrize(
    ("place", "name", "namespace", "called"),
    [
        ("postgresql://db:5432/shop/", "public.orders", "postgres://db:5432", "shop.public.orders"),
        ("mysql://db:3306/", "shop.*", "mysql://db:3306", "shop.*"),
        ("mariadb://db:3306/shop/", "orders", "mysql://db:3306", "shop.orders"),
        ("mysql://db:3306/", "~\nshop[.](a|b)\nshop[.]c", "mysql://db:3306", "shop[.](a|b)"),
        ("file:", "/data/a.csv", "file", "/data/a.csv"),
        ("file:///data/out", "", "file", "/data/out"),
        ("s3://bucket/in/*.csv", "", "s3://bucket", "in/*.csv"),
        ("s3a://bucket", "", "s3://bucket", "/"),
        ("http://click:8123 ", "shop.orders", "http://click:8123", "shop.orders"),
        ("http://click:8123 shop.orders", "", "http://click:8123", "shop.orders"),
        ("hive://meta:9083/", "shop.orders/*", "hive://meta:9083", "shop.orders/*"),
        ("sqlite:///data/a.db ", "orders", "file", "/data/a.db#orders"),
        ("https://me:secret@host/a", "", "https://host", "a"),
        ("s3a://key:secret@bucket/in", "", "s3://bucket", "in"),
        ("abfss://container@account/in", "", "abfss://container@account", "in"),
        ("kafka://a:1,[::1:9092/", "orders", "kafka://a:1,[::1:9092", "orders"),
    ],
)
def test_places_are_named_as_openlineage_names_them(place: str, name: str, namespace: str, called: str) -> None:
    assert datasets.named(place, name) == Dataset(namespace, called)


def _of_source(**config: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    plugin = find(config["connector_class"])
    assert isinstance(plugin, Source)
    raw = {key.replace("_", "."): value for key, value in config.items()}
    made = datasets.of_source(plugin, parse_source(plugin, raw), "ns:9876;other:9876")
    return {(each.namespace, each.name) for each in made.inputs}, {(each.namespace, each.name) for each in made.outputs}


def _of_sink(**config: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    plugin = find(config["connector_class"])
    assert isinstance(plugin, Sink)
    raw = {key.replace("_", "."): value for key, value in config.items()}
    made = datasets.of_sink(plugin, parse_sink(plugin, raw), "ns:9876")
    return {(each.namespace, each.name) for each in made.inputs}, {(each.namespace, each.name) for each in made.outputs}


def test_files_and_tables_and_topics_of_connectors_are_told(tmp_path: Path) -> None:
    topic = {("rocketmq://ns:9876", "orders")}
    file = tmp_path / "a.txt"
    assert _of_source(connector_class="file_source", topic="orders", filename=str(file)) == ({("file", str(file))}, topic)
    assert _of_sink(connector_class="file_lines", topics="orders", filename=str(file)) == (topic, {("file", str(file))})
    read, into = _of_source(
        connector_class="postgres_cdc_source",
        topic="shop",
        table_topic="${topic}-${table}",
        hostname="DB",
        username="u",
        password="${env:PASSWORD}",
        database="shop",
        table_include="public.orders",
    )
    # Which topics it makes is known when there are records.
    assert (read, into) == ({("postgres://db:5432", "shop.public.orders")}, set())
    both = {("postgres://db:5432", "shop.sales.orders"), ("postgres://db:5432", "shop.sales.items")}
    _, written = _of_sink(
        connector_class="jdbc_sink",
        topics="orders,items",
        connection_url="jdbc:postgresql://db:5432/shop",
        table_name_format="sales.${topic}",
        user="u",
    )
    assert written == both


def test_a_task_that_starts_tells_the_address_of_its_system_and_no_login() -> None:
    found = [datasets.named("s3a://key:secret@bucket/in"), datasets.named("kafka://a:1,[::1:9092/", "x"), Dataset("file", "/a")]
    assert datasets._systems(found) == "s3://bucket, kafka://a:1,[::1:9092"


def test_a_plugin_that_cannot_say_where_its_system_is_starts_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*_: object) -> None:
        msg = "the file with its servers is not there"
        raise PermanentError(msg)

    source, sink = find("file_source"), find("file_sink")
    assert isinstance(source, Source)
    assert isinstance(sink, Sink)
    monkeypatch.setattr(type(source), "origins", raises)
    monkeypatch.setattr(type(sink), "targets", raises)
    config: Any = {}
    assert datasets.systems_of_source(source, config) == ""
    assert datasets.systems_of_sink(sink, config) == ""
