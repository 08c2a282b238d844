from collections.abc import Sequence

import pytest

from connectors.clickhouse.endpoint import quoted
from connectors.clickhouse.sink import ClickHouseSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.conformance.runs import ROW, row
from rocketconnect_sdk.conformance.table import TableCase, TableSuite
from tests.servers.clickhouse import ClickHouse
from tests.suites import FewerKills, slow_but

CALLS = ("connectors.clickhouse.client:send",)


def case_of(server: ClickHouse) -> SinkCase:
    def read() -> list[object]:
        if not server.run(f"SELECT 1 FROM system.tables WHERE database = '{server.database}' AND name = 'rows'"):
            return []
        names = [each.name for each in ROW.fields]
        found = server.run(f"SELECT {', '.join(names)} FROM rows ORDER BY _rc_queue, _rc_offset")
        return [dict(zip(names, values, strict=True)) for values in found]

    options = server.options() | {"table": "rows", "table.create": "true"}
    return SinkCase(ClickHouseSink(), options, read, row, ROW, calls=CALLS)


class TestOldServer(FewerKills):
    @pytest.fixture
    def case(self, old_clickhouse: ClickHouse, database: str) -> SinkCase:
        return case_of(old_clickhouse.with_database(database))


@slow_but("test_every_record_is_there_and_in_order")
class TestNewEngine(SinkSuite):
    @pytest.fixture
    def case(self, new_clickhouse: ClickHouse, database: str) -> SinkCase:
        return case_of(new_clickhouse.with_database(database))


def tables_of(server: ClickHouse) -> TableCase:
    def read(table: str, names: Sequence[str]) -> list[list[object]]:
        found = server.run(f"SELECT engine FROM system.tables WHERE database = '{server.database}' AND name = '{table}'")
        if not found:
            return []
        newest = " FINAL" if found[0][0] == "ReplacingMergeTree" else ""
        return server.run(f"SELECT {', '.join(map(quoted, names))} FROM {quoted(table)}{newest}")

    upserts = {"delivery": "at_least_once", "table.engine": "ReplacingMergeTree", "table.order.by": "id"}
    return TableCase(ClickHouseSink(), server.options(), read, upserts)


class TestTablesOfAnOldServer(TableSuite):
    @pytest.fixture
    def case(self, old_clickhouse: ClickHouse, database: str) -> TableCase:
        return tables_of(old_clickhouse.with_database(database))


@slow_but("test_what_was_written_is_equal_when_it_is_read_back")
class TestTablesOfANewEngine(TableSuite):
    @pytest.fixture
    def case(self, new_clickhouse: ClickHouse, database: str) -> TableCase:
        return tables_of(new_clickhouse.with_database(database))
