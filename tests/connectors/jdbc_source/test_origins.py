"""What the sources of databases say that they read."""

from pathlib import Path

import pytest

from connectors.jdbc_source import JdbcSource
from connectors.mysql_cdc_source import MysqlCdcSource
from connectors.postgres_cdc_source import PostgresCdcSource
from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.source import Source

BASE = {
    JdbcSource: {"connection.url": "mysql://db/shop"},
    MysqlCdcSource: {"hostname": "db", "username": "u", "password": "${env:P}"},
    PostgresCdcSource: {"hostname": "db", "database": "shop", "username": "u", "password": "${env:P}"},
}


def origins(kind: type[Source], **options: str) -> list[Origin]:
    source = kind()
    given = {key.replace("_", "."): value for key, value in options.items()}
    config = {"connector.class": source.name, "topic": "t", **BASE[kind], **given}
    return list(source.origins(parse_source(source, config)) or ())


def overlap(first: list[Origin], second: list[Origin]) -> bool:
    return any(each.overlaps(other) for each in first for other in second)


@pytest.mark.parametrize("kind", BASE)
def test_two_sources_of_a_table_of_one_database_read_the_same(kind: type[Source]) -> None:
    key = "table_whitelist" if kind is JdbcSource else "table_include"
    place = "connection_url" if kind is JdbcSource else "hostname"
    other = "mysql://other/shop" if kind is JdbcSource else "other"
    assert overlap(origins(kind), origins(kind, **{key: "shop.orders"}))
    assert overlap(origins(kind, **{key: r"shop\.orders"}), origins(kind, **{key: "shop.orders,shop.people"}))
    assert not overlap(origins(kind, **{key: "shop.orders"}), origins(kind, **{key: "shop.people"}))
    assert not overlap(origins(kind), origins(kind, **{place: other}))


@pytest.mark.parametrize("kind", [MysqlCdcSource, PostgresCdcSource])
def test_other_topics_of_tables_are_other_topics(kind: type[Source]) -> None:
    assert overlap(origins(kind), origins(kind, topic="t"))
    assert not overlap(origins(kind), origins(kind, topic="u"))
    assert not overlap(origins(kind), origins(kind, table_topic="${topic}"))


def test_a_query_is_the_same_however_it_is_broken_into_lines() -> None:
    first = origins(JdbcSource, query="SELECT  *\nFROM orders;")
    assert overlap(first, origins(JdbcSource, query="SELECT * FROM orders"))
    assert not overlap(first, origins(JdbcSource, query="SELECT id FROM orders"))
    assert not overlap(first, origins(JdbcSource))


def test_a_file_of_sqlite_is_the_same_by_any_link_and_a_prefix_makes_other_topics(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "shop.db")
    first = origins(JdbcSource, connection_url=f"sqlite:///{tmp_path}/shop.db", table_whitelist="orders")
    linked = origins(JdbcSource, connection_url=f"jdbc:sqlite:{tmp_path}/link.db", table_whitelist="orders")
    assert overlap(first, linked)
    prefixed = origins(JdbcSource, connection_url=f"sqlite:///{tmp_path}/shop.db", table_whitelist="orders", topic_prefix="p-")
    assert not overlap(first, prefixed)
