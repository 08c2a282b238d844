from collections.abc import Sequence

import pytest

from connectors.doris.endpoint import quoted
from connectors.doris.sink import DorisSink
from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.conformance.runs import ROW, row
from rocketconnect_sdk.conformance.table import TableCase, TableSuite
from tests.servers.doris import Doris
from tests.suites import FewerKills, slow_but

CALLS = ("connectors.doris.client:send", "connectors.doris.session:ask")


def case_of(server: Doris, options: dict[str, str]) -> SinkCase:
    def read() -> list[object]:
        if ("shop", "rows") not in server.tables:
            return []
        names = [each.name for each in ROW.fields]
        found = server.run(f"SELECT {', '.join(names)} FROM shop.rows ORDER BY queue, offset")
        return [dict(zip(names, values, strict=True)) for values in found]

    return SinkCase(DorisSink(), options, read, row, ROW, calls=CALLS)


class TestInsert(FewerKills):
    @pytest.fixture
    def case(self, doris: Doris, options: dict[str, str]) -> SinkCase:
        return case_of(doris, options)


@slow_but("test_every_record_is_there_and_in_order")
class TestUpsert(SinkSuite):
    @pytest.fixture
    def case(self, doris: Doris, options: dict[str, str]) -> SinkCase:
        return case_of(doris, options | {"insert.mode": "upsert", "pk.fields": "queue,offset"})


class TestTables(TableSuite):
    @pytest.fixture
    def case(self, doris: Doris) -> TableCase:
        def read(table: str, names: Sequence[str]) -> list[tuple[object, ...]]:
            if ("shop", table) not in doris.tables:
                return []
            return doris.run(f"SELECT {', '.join(map(quoted, names))} FROM `shop`.{quoted(table)}")

        upserts = {"insert.mode": "upsert", "pk.fields": "id", "delete.enabled": "true"}
        return TableCase(DorisSink(), doris.options("shop"), read, upserts, deletes=True)
