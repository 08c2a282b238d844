import pytest

from connectors.clickhouse.sink import ClickHouseSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from tests.connectors.runs import ROW, row
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
