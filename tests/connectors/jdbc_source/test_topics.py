"""Tables with a topic each have one of their own."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from connectors.jdbc_source import JdbcSource
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config, parse


def config(path: Path, more: Mapping[str, str]) -> Config:
    given = {"connection.url": f"jdbc:sqlite:{path}", "mode": "bulk", "topic.prefix": "shop-", **more}
    return parse(JdbcSource.options, given)


def test_tables_whose_names_would_be_one_topic_are_refused_with_both_names_at_validation_and_in_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute('CREATE TABLE "a$b" (id INTEGER PRIMARY KEY)')
        database.execute('CREATE TABLE "a@b" (id INTEGER PRIMARY KEY)')
    source = JdbcSource()
    (problem,) = source.check(config(path, {}))
    assert (problem.key, problem.value) == ("topic.prefix", "shop-a_b")
    assert "is the topic of a$b and of a@b" in problem.reason
    with pytest.raises(PermanentError, match=r"shop-a_b is the topic of a\$b and of a@b"):
        source.plan(config(path, {}), 2, {})
    for more in ({"topic.prefix": ""}, {"table.blacklist": "a@b"}):
        assert not list(source.check(config(path, more)))
        assert source.plan(config(path, more), 2, {}).tasks
