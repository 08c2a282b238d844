from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from connectors.clickhouse.source import ClickHouseSource
from connectors.clickhouse.source.task import ClickHouseSourceTask
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketconnect_sdk.testing import at
from tests import free_ports
from tests.servers.clickhouse import PASSWORD, ClickHouse


class Reading:
    """A task that reads, with its own options."""

    def __init__(self, server: ClickHouse, positions: Mapping[str, Offset] | None = None, **options: str) -> None:
        given = {name.replace("_", "."): value for name, value in options.items()}
        config = parse(ClickHouseSource.options, {**server.options(), "tables": "t", "poll.interval": "1ms", **given})
        source = ClickHouseSource()
        (task,) = source.plan(config, 1, {}).tasks
        self.task: ClickHouseSourceTask = source.open(config, task, TaskContext(columns=True))
        self.task.start(at(positions or {}))

    def batch(self) -> SourceBatch:
        found = self.task.poll()
        assert found is not None
        return found

    def all(self) -> list[Any]:
        found: list[Any] = []
        while (batch := self.task.poll()) is not None:
            found += batch.values
        return found


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


def test_every_type_comes_as_what_it_is(clickhouse: ClickHouse) -> None:
    clickhouse.run(
        "CREATE TABLE t (id UInt64, i Int8, u UInt32, f Float64, d Decimal(18, 3), s String, n Nullable(Int32), e Enum8('a' = 1), "
        "x FixedString(2), day Date, at DateTime, u2 UUID, a Array(Int32)) ENGINE = MergeTree ORDER BY id",
        "INSERT INTO t VALUES (18446744073709551, -128, 4294967295, 0.1, 1.250, 'ü\\n\\0', NULL, 'a', 'xy', '2024-02-29', "
        "toDateTime(1704164645), '01234567-89ab-cdef-0123-456789abcdef', [1, 2])",
    )
    batch = Reading(clickhouse, incrementing_column_name="id", key_columns="id").batch()
    assert list(batch.values) == [
        {
            "id": 18446744073709551,
            "i": -128,
            "u": 4294967295,
            "f": 0.1,
            "d": Decimal("1.250"),
            "s": "ü\n\0",
            "n": None,
            "e": "a",
            "x": "xy",
            "day": date(2024, 2, 29),
            "at": datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
            "u2": UUID("01234567-89ab-cdef-0123-456789abcdef"),
            "a": "[1,2]",
        }
    ]
    assert batch.keys is not None
    assert list(batch.keys) == [{"id": 18446744073709551}]
    assert list(batch.offsets) == [(18446744073709551,)]


def test_moments_keep_their_digits(new_clickhouse: ClickHouse, database: str) -> None:
    server = new_clickhouse.with_database(database)
    server.run("CREATE TABLE t (id Int32, at DateTime64(6, 'Asia/Tokyo'), b Bool) ENGINE = MergeTree ORDER BY id")
    server.run("INSERT INTO t VALUES (1, toDateTime64('2024-01-02 03:04:05.000001', 6, 'UTC'), true)")
    reading = Reading(server, timestamp_column_name="at", incrementing_column_name="id")
    batch = reading.batch()
    moment = datetime(2024, 1, 2, 3, 4, 5, 1, UTC)
    assert list(batch.values) == [{"id": 1, "at": moment, "b": True}]
    assert list(batch.offsets) == [(int(moment.timestamp()) * 1_000_000 + 1, 1)]
    assert reading.task.poll() is None


def test_rows_that_come_are_read_once_and_in_order(clickhouse: ClickHouse) -> None:
    clickhouse.run("CREATE TABLE t (id Int64, s String) ENGINE = MergeTree ORDER BY id")
    reading = Reading(clickhouse, incrementing_column_name="id", batch_max_rows="7")
    assert reading.task.poll() is None
    for begin in (0, 20):
        clickhouse.run(f"INSERT INTO t SELECT toInt64(number + {begin}), 'x' FROM system.numbers LIMIT 20")
    assert ids(reading.all()) == list(range(40))
    clickhouse.run("INSERT INTO t VALUES (40, 'late')")
    assert ids(reading.all()) == [40]
    assert ids(Reading(clickhouse, {"t by id": (35,)}, incrementing_column_name="id").all()) == [36, 37, 38, 39, 40]


def test_rows_of_the_same_time_are_told_apart_by_their_keys_and_new_ones_are_left_for_later(clickhouse: ClickHouse) -> None:
    clickhouse.run("CREATE TABLE t (id Int32, name String, at DateTime) ENGINE = MergeTree ORDER BY at")
    clickhouse.run(
        "INSERT INTO t SELECT toInt32(number), concat('n', toString(number % 5)), now() - 100 FROM system.numbers LIMIT 10"
    )
    clickhouse.run("INSERT INTO t VALUES (10, 'new', now() + 50)")
    options = {"timestamp_column_name": "at", "key_columns": "name,id", "batch_max_rows": "3"}
    found = Reading(clickhouse, None, **options).all()
    assert [(row["name"], row["id"]) for row in found] == [(f"n{name}", name + more) for name in range(5) for more in (0, 5)]
    later = (datetime.now(UTC) - timedelta(seconds=50)).isoformat()
    assert Reading(clickhouse, None, **options, timestamp_initial=later).all() == []


def test_rows_that_cannot_be_told_apart_stop_the_task_wherever_a_page_ends(clickhouse: ClickHouse) -> None:
    clickhouse.run("CREATE TABLE t (id Int32, s String) ENGINE = MergeTree ORDER BY id")
    clickhouse.run("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (3, 'd')")
    for rows in ("10", "3"):
        with pytest.raises(PermanentError, match=r"t: id: \[3\] is there twice. Name columns that are unique together"):
            Reading(clickhouse, incrementing_column_name="id", batch_max_rows=rows).all()
    assert len(Reading(clickhouse, incrementing_column_name="id", key_columns="s", batch_max_rows="3").all()) == 4


def test_a_position_of_other_columns_and_a_server_that_is_away_are_told(clickhouse: ClickHouse) -> None:
    clickhouse.run("CREATE TABLE t (id Int32, s String) ENGINE = MergeTree ORDER BY id")
    reading = Reading(clickhouse, {"t by id,s": (1,)}, incrementing_column_name="id", key_columns="s")
    with pytest.raises(PermanentError, match="is of other columns"):
        reading.task.poll()
    away = {"url": f"http://127.0.0.1:{free_ports.choose()}"}
    with pytest.raises(SystemAway):
        Reading(clickhouse, None, incrementing_column_name="id", **away)


def problems(server: ClickHouse, **options: str) -> dict[str, str]:
    given = {name.replace("_", "."): value for name, value in options.items()}
    config = {"connector.class": "clickhouse_source", "topic": "orders", **server.options(), "tables": "t", **given}
    return {each.key: each.reason for each in check_connector(config).problems if not each.is_warning}


def test_what_is_wrong_is_told_before_it_runs(clickhouse: ClickHouse) -> None:
    clickhouse.run("CREATE TABLE t (id Int32, n Nullable(Int32), s String, at DateTime, day Date) ENGINE = MergeTree ORDER BY id")
    assert problems(clickhouse, incrementing_column_name="id") == {}
    assert problems(clickhouse, timestamp_column_name="at", key_columns="s,id") == {}
    assert "by one of them new rows are known" in problems(clickhouse)["incrementing.column.name"]
    assert "alone cannot tell rows" in problems(clickhouse, timestamp_column_name="at")["timestamp.column.name"]
    assert "is no table of" in problems(clickhouse, tables="other", incrementing_column_name="id")["tables"]
    wrong = problems(clickhouse, incrementing_column_name="s", timestamp_column_name="day", key_columns="at")
    wanted = {"incrementing.column.name": "is String,", "timestamp.column.name": "is Date,", "key.columns": "is DateTime,"}
    assert [key for key, part in wanted.items() if part not in wrong[key]] == []
    assert "may be null" in problems(clickhouse, incrementing_column_name="n")["incrementing.column.name"]
    assert "is no column of t: there are id, n" in problems(clickhouse, incrementing_column_name="x")["incrementing.column.name"]


def test_two_sources_of_one_table_are_the_same_origin() -> None:
    def origins(**options: str) -> list[Any]:
        config = parse(ClickHouseSource.options, {"url": "http://host:8123", "incrementing.column.name": "id", **options})
        return list(ClickHouseSource().origins(config))

    (one,), (other,) = origins(tables="a"), origins(tables="default.a", url="http://host:8123/")
    assert one.overlaps(other)
    assert not one.overlaps(origins(tables="a", database="b")[0])
    assert PASSWORD not in repr(one)
