from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from connectors.mysql_cdc_source import MysqlCdcSource
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.options import Config
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import options, parsed
from tests.suites import slow_but

pytestmark = pytest.mark.mariadb

ROWS: list[dict[str, Any]] = [{"id": number - 3, "name": None if number % 3 else f"é{number}"} for number in range(18)]


@dataclass(frozen=True, slots=True)
class Case(SourceCase):
    """With the secret in its place."""

    @property
    def parsed(self) -> Config:
        """The configuration, parsed."""
        return parsed(self.config)


def _case(database: Database, given: Mapping[str, str], expected: list[Any]) -> SourceCase:
    return Case(MysqlCdcSource(), given, expected)


def _filled(database: Database) -> None:
    database.run("CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR(20))")
    with database.connection.cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (%s, %s)", [tuple(row.values()) for row in ROWS])


@slow_but("test_it_reads_everything", "test_from_every_offset_exactly_the_rest_is_read")
class TestRowsThatAreThere(SourceSuite):
    @pytest.fixture
    def case(self, database: Database) -> SourceCase:
        _filled(database)
        return _case(database, options(database, change_form="row"), ROWS)


@slow_but("test_it_reads_everything")
class TestTwoTables(SourceSuite):
    @pytest.fixture
    def case(self, database: Database) -> SourceCase:
        _filled(database)
        database.run("CREATE TABLE u (a INT UNSIGNED, b BIGINT UNSIGNED, PRIMARY KEY (b, a))")
        database.run("INSERT INTO u VALUES (4294967295, 18446744073709551615), (0, 18446744073709551615), (7, 0)")
        more = [{"a": 7, "b": 0}, {"a": 0, "b": 2**64 - 1}, {"a": 2**32 - 1, "b": 2**64 - 1}]
        return _case(database, options(database, change_form="row"), [*ROWS, *more])


class TestLog(SourceSuite):
    @pytest.fixture
    def case(self, database: Database) -> SourceCase:
        # The log begins here.
        database.run("FLUSH BINARY LOGS")
        database.run(f"PURGE BINARY LOGS TO '{database.end().file}'")
        _filled(database)
        database.run("UPDATE t SET id = id + 1000 WHERE id > 11", "DELETE FROM t WHERE id < 0")
        moved = [part for row in ROWS if row["id"] > 11 for part in (None, {**row, "id": row["id"] + 1000})]
        gone = [None for row in ROWS if row["id"] < 0]
        return _case(database, options(database, change_form="row", snapshot_mode="earliest"), [*ROWS, *moved, *gone])
