"""Tables that Spark SQL writes."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Position
from tests.connectors.hive_sink.spark_reader import spark
from tests.connectors.hive_sink.table import Table
from tests.connectors.hive_source.tables import ids, opened, options
from tests.connectors.object_store_source.objects import read
from tests.servers.hive_metastore import HiveMetastore

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_partitions_and_types_of_spark_are_read_as_spark_reads_them(table: Table, metastore: HiveMetastore, tmp_path: Path) -> None:
    table.folder.parent.mkdir()
    name, own = table.name, f"{table.name}_own"
    columns = "id BIGINT, name VARCHAR(20), at TIMESTAMP, total DECIMAL(12,2), raw BINARY, parts STRUCT<Aa: INT, b: ARRAY<STRING>>"
    by = "PARTITIONED BY (country STRING, day DATE, rate DECIMAL(5,2))"
    values = "TIMESTAMP'2026-07-01 12:30:00.123456', 12.5, X'00FF', named_struct('Aa', 7, 'b', array('x', 'y'))"
    *_, shown, own_shown = spark(
        metastore.uri,
        tmp_path,
        f"CREATE EXTERNAL TABLE {name} ({columns}) {by} STORED AS PARQUET LOCATION 'file:{table.folder}'",
        f"INSERT INTO {name} PARTITION (country = 'a/b:c=50%', day = '2026-07-01', rate = 1.5) SELECT 1, 'x', {values}",
        "SET hive.exec.dynamic.partition.mode=nonstrict",
        f"INSERT INTO {name} PARTITION (country, day, rate) SELECT 2, 'y', {values}, NULL, DATE'2026-07-02', 2.25",
        f"ALTER TABLE {name} ADD COLUMNS (more DOUBLE)",
        f"INSERT INTO {name} PARTITION (country = 'ch', day = '2026-07-01', rate = 1.5) SELECT 3, 'z', {values}, 0.5",
        f"CREATE TABLE {own} (Id INT, Text STRING, Land STRING) USING parquet PARTITIONED BY (Land) LOCATION 'file:{tmp_path}/own'",
        f"INSERT INTO {own} VALUES (1, 'a', 'ch'), (2, 'b', NULL)",
        f"SELECT id, country, CAST(day AS STRING), CAST(rate AS STRING), more FROM {name} ORDER BY id",
        f"SELECT Id, Text, Land FROM {own} ORDER BY Id",
    )
    task = opened(options(table))
    task.start({})
    rows = sorted(read(task, {}), key=lambda row: row["id"])  # type: ignore[index]
    found = [[row["id"], row["country"], str(row["day"]), str(row["rate"]), row["more"]] for row in rows]  # type: ignore[index]
    assert found == shown
    assert [row["country"] for row in rows] == ["a/b:c=50%", None, "ch"]  # type: ignore[index]
    first = dict(rows[0])  # type: ignore[call-overload]
    assert first.pop("at").isoformat() == "2026-07-01T12:30:00.123456+00:00"
    assert first == {
        "id": 1,
        "name": "x",
        "total": Decimal("12.50"),
        "raw": b"\x00\xff",
        "parts": {"aa": 7, "b": ["x", "y"]},
        "more": None,
        "country": "a/b:c=50%",
        "day": date(2026, 7, 1),
        "rate": Decimal("1.50"),
    }
    of_own = opened(options(table) | {"table": own})
    of_own.start({})
    assert sorted(list(row.values()) for row in read(of_own, {})) == own_shown  # type: ignore[attr-defined]


@pytest.mark.slow
def test_insert_overwrite_is_told_read_or_passed_and_what_spark_adds_elsewhere_is_read(
    table: Table, metastore: HiveMetastore, tmp_path: Path
) -> None:
    table.folder.parent.mkdir()
    name = table.name
    positions: dict[str, Position] = {}
    spark(
        metastore.uri,
        tmp_path,
        f"CREATE EXTERNAL TABLE {name} (id INT) PARTITIONED BY (day STRING) STORED AS PARQUET LOCATION 'file:{table.folder}'",
        f"INSERT INTO {name} PARTITION (day = 'a') VALUES (1), (2)",
        f"INSERT INTO {name} PARTITION (day = 'b') VALUES (3)",
    )
    task = opened(options(table))
    task.start({})
    assert sorted(ids(read(task, positions))) == [1, 2, 3]
    spark(
        metastore.uri,
        tmp_path,
        f"INSERT OVERWRITE TABLE {name} PARTITION (day = 'a') VALUES (1), (20)",
        f"INSERT INTO {name} PARTITION (day = 'b') VALUES (4)",
    )
    with pytest.raises(PermanentError, match="the partition day=a was rewritten"):
        for _ in range(2):
            read(task, dict(positions))
    for policy, wanted in {"read": [1, 4, 20], "skip": [4]}.items():
        again = opened(options(table, on_rewrite=policy))
        again.start(dict(positions))
        assert sorted(ids(read(again, dict(positions)))) == wanted
