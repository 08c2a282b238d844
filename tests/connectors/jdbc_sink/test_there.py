"""A sink held against the tables that are there, and against the server, before it runs."""

from collections.abc import Mapping

from connectors.jdbc_sink import JdbcSink
from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.configuration.connector_options import parse_sink
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.schema import Schema
from tests.connectors.jdbc_sink.conftest import Target


def of_rows(target: Target, rows: Mapping[str, Schema], **options: str) -> list[Problem]:
    given = {name.replace("_", "."): value for name, value in options.items()}
    config = parse_sink(JdbcSink(), {"connector.class": "jdbc_sink", "topics": "a,b", **target.options, **given})
    return list(JdbcSink().check_rows(config, rows))


def test_rows_that_the_table_does_not_take_are_told_with_all_their_columns(target: Target) -> None:
    target.run("CREATE TABLE a (id INTEGER, name VARCHAR(20))")
    rows = {"a": parse_columns("id,name:int64,more:double"), "b": parse_columns("id")}
    (problem,) = of_rows(target, rows)
    assert (problem.key, problem.value, problem.is_warning) == ("table.name.format", "a", False)
    assert problem.reason.startswith("does not take the rows of `a` as they are: id is string, and the column is int")
    assert "name is int64, and the column is string; more (double) is no column" in problem.reason
    assert "the task would fail before them" in problem.reason
    assert "transforms.types.spec=id:int" in problem.fix
    assert of_rows(target, {"a": parse_columns("id:int32,name")}) == []
    (wider,) = of_rows(target, {"a": parse_columns("id:int32,name,more")}, schema_evolution="evolve")
    assert wider.is_warning
    assert wider.reason == "is widened for the rows of `a`: it gets the column more (string), null in the rows that are there"


def test_rows_that_share_nothing_or_only_the_key_with_the_table_are_told_before_they_come(target: Target) -> None:
    target.run("CREATE TABLE a (id INTEGER PRIMARY KEY, name VARCHAR(20))")
    (other,) = of_rows(target, {"a": parse_columns("code,price")}, schema_evolution="ignore")
    assert not other.is_warning
    assert (
        "the record is of another table: it has code, price, and none of the columns of this one, which are id, name"
        in other.reason
    )
    (left_out,) = of_rows(target, {"a": parse_columns("id:int32,price")}, schema_evolution="ignore", insert_mode="upsert")
    assert left_out.is_warning
    assert left_out.reason == (
        "has nothing of the rows of `a` but its key: price would be left out; these rows have no name, null in them"
    )
    assert of_rows(target, {"a": parse_columns("id:int32,price")}, schema_evolution="ignore") == []


def test_columns_that_the_table_does_not_have_are_told_with_those_that_fit(target: Target) -> None:
    target.run("CREATE TABLE a (id INTEGER, name VARCHAR(20))")
    options = {"table.name.format": "a", **target.options, "columns": "id:date,name,more"}
    (problem,) = JdbcSink().check(parse(JdbcSink().options, options))
    assert (problem.key, problem.is_warning) == ("columns", False)
    assert "id is date, and the column is int" in problem.reason
    assert "more (string) is no column" in problem.reason
    assert problem.fix.startswith("Set columns=id:int")
    assert problem.fix.endswith(",name, or name another table.")


def test_a_server_that_does_not_answer_is_a_warning_without_the_password() -> None:
    for kind in ("postgresql", "mysql"):
        given = {"connection.url": f"{kind}://127.0.0.1:1/db", "user": "u"}
        config = parse(JdbcSink().options, given)
        (problem,) = JdbcSink().check(Config({**config, "password": "the-secret"}, config.raw))
        assert (problem.key, problem.is_warning) == ("connection.url", True)
        assert problem.reason.startswith("does not answer now: ")
        assert "the-secret" not in str(problem)
        assert list(JdbcSink().check_rows(config, {})) == []
