"""Whether a server's log can be read is known before, with all that is to change."""

from dataclasses import replace

import pytest

from connectors.mysql_cdc_source.binlog.errors import NotAllowed, NotReady
from connectors.mysql_cdc_source.binlog.server import Position, check, connected, end_of_log, log_files
from tests.connectors.mysql_cdc_source.binlog.reading import Database, login_of
from tests.servers.mariadb import Mariadb

pytestmark = pytest.mark.mariadb


def test_a_server_that_writes_rows_and_lets_root_read_them_is_ready(database: Database) -> None:
    check(database.login)


@pytest.mark.parametrize(
    ("granted", "missing"),
    [
        ("USAGE", ["BINLOG MONITOR", "REPLICATION SLAVE"]),
        ("BINLOG MONITOR", ["REPLICATION SLAVE"]),
        ("REPLICATION SLAVE", ["BINLOG MONITOR"]),
        ("REPLICATION SLAVE, BINLOG MONITOR", []),
    ],
)
def test_all_missing_privileges_are_named_with_their_grants_which_help(
    database: Database, granted: str, missing: list[str]
) -> None:
    database.run("CREATE OR REPLACE USER reader IDENTIFIED BY 'secret'", f"GRANT {granted} ON *.* TO reader")
    login = replace(database.login, user="reader", password="secret")
    if missing:
        with pytest.raises(NotAllowed) as raised:
            check(login)
        grants = [f"GRANT {privilege} ON *.* TO 'reader'@'%'" for privilege in missing]
        assert str(raised.value).endswith(": " + "; ".join(grants))
        database.run(*grants)
    check(login)


def test_a_log_of_statements_is_named_with_the_setting(database: Database) -> None:
    database.run("SET GLOBAL binlog_format = 'MIXED'")
    try:
        with pytest.raises(NotReady, match="binlog_format is MIXED"):
            check(database.login)
    finally:
        database.run("SET GLOBAL binlog_format = 'ROW'")


def test_a_server_without_a_log_says_how_to_start_it() -> None:
    with Mariadb(log_bin=None).running() as server:
        with pytest.raises(NotReady, match="--log-bin"):
            check(login_of(server))
        with connected(login_of(server)) as connection, pytest.raises(NotReady, match="--log-bin"):
            end_of_log(connection)


def test_the_end_of_the_log_is_in_the_last_of_its_files(database: Database) -> None:
    with connected(database.login) as connection:
        last, end = log_files(connection)[-1], end_of_log(connection)
    assert (last.name, last.size) == (end.file, end.offset)
    assert isinstance(end, Position)
