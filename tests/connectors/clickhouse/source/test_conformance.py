from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from connectors.clickhouse.source import ClickHouseSource
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from tests.servers.clickhouse import ClickHouse
from tests.suites import slow_but

BEGIN = datetime(2026, 1, 31, 12, tzinfo=ZoneInfo("UTC"))
ROWS: list[dict[str, Any]] = [
    {"id": number, "name": None if number % 7 == 0 else f"it's\\\t{number},\nü", "at": BEGIN + timedelta(hours=number // 4)}
    for number in range(1, 31)
]


def fill(server: ClickHouse) -> None:
    server.run("CREATE TABLE things (id Int64, name Nullable(String), at DateTime) ENGINE = MergeTree ORDER BY id")
    made = ", ".join(
        f"({row['id']}, {'NULL' if row['name'] is None else text(str(row['name']))}, toDateTime({int(row['at'].timestamp())}))"
        for row in ROWS[::-1]
    )
    server.run(f"INSERT INTO things VALUES {made}")


def text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


class TestIncrementing(SourceSuite):
    @pytest.fixture
    def case(self, clickhouse: ClickHouse) -> SourceCase:
        fill(clickhouse)
        options = {"tables": "things", "incrementing.column.name": "id", "poll.interval": "10ms"}
        return SourceCase(ClickHouseSource(), clickhouse.options() | options, ROWS)


@slow_but("test_it_reads_everything", "test_from_every_offset_exactly_the_rest_is_read")
class TestTimestamp(SourceSuite):
    @pytest.fixture
    def case(self, old_clickhouse: ClickHouse, database: str) -> SourceCase:
        server = old_clickhouse.with_database(database)
        fill(server)
        options = {"tables": "things", "timestamp.column.name": "at", "key.columns": "id", "poll.interval": "10ms"}
        return SourceCase(ClickHouseSource(), server.options() | options, ROWS)
