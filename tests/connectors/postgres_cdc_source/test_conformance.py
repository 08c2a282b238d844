"""What every source must do."""

from typing import Any

import pytest

from connectors.postgres_cdc_source import PostgresCdcSource
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from tests.connectors.postgres_cdc_source.capturing import Shop
from tests.suites import slow_but

ROWS: list[dict[str, Any]] = [{"id": number - 3, "name": None if number % 3 else f"é{number}"} for number in range(18)]


@slow_but("test_it_reads_everything", "test_from_every_offset_exactly_the_rest_is_read")
class TestRowsThatAreThere(SourceSuite):
    @pytest.fixture
    def case(self, shop: Shop) -> SourceCase:
        shop.run(f"CREATE TABLE {shop.name}.t (id bigint PRIMARY KEY, name text)")
        for row in ROWS:
            shop.connection.execute(f"INSERT INTO {shop.name}.t VALUES (%s, %s)".encode(), list(row.values()))
        return SourceCase(PostgresCdcSource(), shop.config(change_form="row", snapshot_mode="only"), ROWS)


@slow_but("test_it_reads_everything")
class TestTwoTables(SourceSuite):
    @pytest.fixture
    def case(self, shop: Shop) -> SourceCase:
        shop.run(
            f"CREATE TABLE {shop.name}.a (b date, a int, PRIMARY KEY (b, a))",
            f"INSERT INTO {shop.name}.a SELECT date '2024-01-01' + n / 3, -n FROM generate_series(0, 9) n",
            f"CREATE TABLE {shop.name}.b (id uuid PRIMARY KEY)",
            f"INSERT INTO {shop.name}.b SELECT md5(n::text)::uuid FROM generate_series(0, 9) n",
        )
        return SourceCase(PostgresCdcSource(), shop.config(change_form="row", snapshot_mode="only"))


class TestLog(SourceSuite):
    @pytest.fixture
    def case(self, shop: Shop) -> SourceCase:
        shop.run(
            f"CREATE TABLE {shop.name}.t (id bigint PRIMARY KEY, name text)",
            f"CREATE PUBLICATION {shop.name} FOR TABLE {shop.name}.t",
            # The log begins here.
            f"SELECT pg_create_logical_replication_slot('{shop.name}', 'pgoutput')",
        )
        for row in ROWS:
            shop.connection.execute(f"INSERT INTO {shop.name}.t VALUES (%s, %s)".encode(), list(row.values()))
        shop.run(
            f"UPDATE {shop.name}.t SET id = id + 1000 WHERE id > 11",
            f"DELETE FROM {shop.name}.t WHERE id < 0",
        )
        moved = [part for row in ROWS if row["id"] > 11 for part in (None, {**row, "id": row["id"] + 1000})]
        gone = [None for row in ROWS if row["id"] < 0]
        # A suite begins anew without positions: the server must not have been told that it may forget the beginning.
        config = shop.config(change_form="row", snapshot_mode="never", heartbeat_interval="1000d")
        return SourceCase(PostgresCdcSource(), config, [*ROWS, *moved, *gone])
