"""What is wrong is told before the connector runs: everything at once, with what to do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.mysql_cdc_source import MysqlCdcSource, checks
from rocketconnect_sdk.errors import ConfigError, Problem
from rocketconnect_sdk.options import parse
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import options, parsed
from tests.servers.mariadb import PASSWORD, Mariadb

pytestmark = pytest.mark.mariadb


@pytest.fixture
def table(database: Database) -> Database:
    """With a table t."""
    database.run("CREATE TABLE t (id INT PRIMARY KEY)")
    return database


def _problems(given: dict[str, str], password: str = PASSWORD) -> list[Problem]:
    return list(MysqlCdcSource().check(parsed(given, password)))


def test_a_wrong_password_is_told_and_never_shown(table: Database) -> None:
    (problem,) = _problems(options(table), "not-the-password")
    assert problem.key == "username"
    assert "refuses the user or the password" in problem.reason
    assert "not-the-password" not in str(problem)


def test_a_server_that_is_not_there_is_told(table: Database) -> None:
    (problem,) = _problems(options(table, port="1"))
    assert (problem.key, problem.value) == ("hostname", "127.0.0.1:1")


def test_a_table_without_a_key_is_a_warning_and_refuses_nothing(table: Database) -> None:
    table.run("CREATE TABLE keyless (a INT)")
    (warning,) = _problems(options(table))
    assert warning.is_warning
    assert (warning.key, warning.value) == ("table.include", f"{table.name}.keyless")
    assert "their records have no keys" in warning.reason
    assert _problems(options(table, message_key_columns=r".*\.keyless:a")) == []


def test_a_table_that_changes_with_another_one_without_being_in_the_log_is_a_warning(table: Database) -> None:
    table.run("CREATE TABLE parent (id INT PRIMARY KEY)")
    table.run("CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)")
    table.run("CREATE TABLE other (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id))")
    (warning,) = _problems(options(table))
    assert warning.is_warning
    assert warning.value == f"{table.name}.child"
    assert "not in the server's log" in warning.reason
    assert _problems(options(table, snapshot_mode="only")) == []
    table.run("DROP TABLE child, other, parent")


def test_missing_privileges_come_with_their_grants(table: Database) -> None:
    table.run("CREATE OR REPLACE USER poor@'%' IDENTIFIED BY 'secret'", f"GRANT INSERT ON {table.name}.* TO poor@'%'")
    problems = _problems(options(table, username="poor"), "secret")
    fixes = [problem.fix for problem in problems]
    assert "GRANT BINLOG MONITOR ON *.* TO 'poor'@'%'" in fixes
    assert "GRANT REPLICATION SLAVE ON *.* TO 'poor'@'%'" in fixes
    assert any("GRANT SELECT" in fix for fix in fixes)
    table.run("GRANT BINLOG MONITOR, REPLICATION SLAVE, SELECT ON *.* TO poor@'%'")
    assert _problems(options(table, username="poor"), "secret") == []


def test_filters_that_take_nothing_are_told_one_by_one(table: Database) -> None:
    given = options(table, table_include=r".*\.t, .*\.nothing", table_exclude=r".*\.absent")
    assert [(problem.key, problem.value) for problem in _problems(given)] == [
        ("table.include", r".*\.nothing"),
        ("table.exclude", r".*\.absent"),
    ]


def test_a_filter_that_is_no_expression_is_told_without_a_server() -> None:
    given = {"hostname": "h", "username": "u", "table.include": "a["}
    with pytest.raises(ConfigError, match=r"table\.include: 'a\[' is no regular expression"):
        parse(MysqlCdcSource.options, given)


def test_a_topic_that_is_too_long_is_told(table: Database) -> None:
    (problem,) = _problems(options(table, table_topic="x" * 120 + "${table}" * 8))
    assert problem.key == "table.topic"


def test_incremental_snapshots_of_a_mysql_without_gtids_are_told_with_the_settings(
    table: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "is_mariadb", lambda _: False)
    (problem,) = _problems(options(table, snapshot_mode="incremental"))
    assert (problem.key, problem.value) == ("snapshot.mode", "incremental")
    assert "gtid_mode" in problem.reason
    assert "SET GLOBAL gtid_mode" in problem.fix
    assert _problems(options(table)) == []


def test_what_is_said_of_tls_in_vain_is_told(table: Database, tmp_path: Path) -> None:
    found = _problems(options(table, tls_ca=str(tmp_path / "no.pem")))
    assert [(problem.key, problem.is_warning) for problem in found] == [("ssl.ca.location", True), ("ssl.ca.location", False)]
    assert [problem.key for problem in _problems(options(table, tls="false", ssl_mode="prefer"))] == ["tls"]


@pytest.fixture(scope="module")
def unfit() -> Iterator[Database]:
    """A server whose log is not what is needed, with a table t."""
    settings = {"binlog_format": "MIXED", "binlog_row_metadata": "NO_LOG", "binlog_row_image": "MINIMAL"}
    with Mariadb(**settings).running() as server:
        database = Database(server)
        with database:
            database.run("CREATE TABLE t (id INT PRIMARY KEY)")
            yield database


def test_a_log_that_is_not_what_is_needed_is_told_with_all_settings(unfit: Database) -> None:
    text = " ".join(str(problem) for problem in _problems(options(unfit)))
    for setting in ("binlog_format = 'ROW'", "binlog_row_image = 'FULL'", "binlog_row_metadata = 'FULL'"):
        assert f"SET GLOBAL {setting}" in text


def test_rows_alone_need_no_log(unfit: Database) -> None:
    assert _problems(options(unfit, snapshot_mode="only")) == []


def test_tables_whose_names_would_be_one_topic_are_told_with_both(table: Database) -> None:
    table.run("CREATE TABLE `a$b` (id INT PRIMARY KEY)", "CREATE TABLE `a@b` (id INT PRIMARY KEY)")
    (problem,) = _problems(options(table))
    assert problem.key == "table.topic"
    assert f"{table.name}.a$b and of {table.name}.a@b" in problem.reason
    assert _problems(options(table, table_exclude=r".*\.a@b")) == []
    assert _problems(options(table, table_topic="${topic}")) == []
