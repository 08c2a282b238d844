"""Tables of all kinds: what the snapshot calls a table the log calls one, too, with the same columns and the same key."""

import pytest

from rocketconnect_sdk.database_logs.task import LogTask
from tests.connectors.postgres_cdc_source.capturing import Shop, capturing, is_streaming


def test_tables_are_those_whose_changes_are_in_the_log(
    shop: Shop, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LogTask, "look_seconds", 0.05)
    name = shop.name
    shop.run(
        f"CREATE TABLE {name}.plain (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED)",
        f"CREATE TABLE {name}.child (id int PRIMARY KEY) INHERITS ({name}.plain)",
        f"CREATE TABLE {name}.root (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        f"CREATE TABLE {name}.leaf PARTITION OF {name}.root FOR VALUES FROM (0) TO (50)",
        f"CREATE UNLOGGED TABLE {name}.loose PARTITION OF {name}.root FOR VALUES FROM (50) TO (100)",
        f"CREATE VIEW {name}.view AS SELECT * FROM {name}.plain",
        f"CREATE MATERIALIZED VIEW {name}.kept AS SELECT 1 AS id",
        f"CREATE UNLOGGED TABLE {name}.unlogged (id int PRIMARY KEY)",
        f"CREATE SEQUENCE {name}.numbers",
        f"CREATE TEMPORARY TABLE temporary_{name} (id int PRIMARY KEY)",
        f"CREATE FOREIGN DATA WRAPPER w_{name}",
        f"CREATE SERVER s_{name} FOREIGN DATA WRAPPER w_{name}",
        f"CREATE FOREIGN TABLE {name}.elsewhere (id int) SERVER s_{name}",
        *(f"INSERT INTO {name}.{table} (id) VALUES (1)" for table in ("plain", "child", "root", "unlogged")),
    )
    try:
        with capturing(shop.config(table_exclude=rf"{name}\.t")) as captured:
            captured.until(is_streaming)
            shop.run(
                f"REFRESH MATERIALIZED VIEW {name}.kept",
                f"SELECT nextval('{name}.numbers')",
                *(f"INSERT INTO {name}.{table} (id) VALUES (2)" for table in ("unlogged", "child", "leaf", "view")),
            )
            captured.until(lambda so_far: sum(op == "c" for op, _ in so_far.ops()) >= 3)
            captured.until(lambda _: f"{name}.root: the partition {name}.loose is unlogged or foreign" in caplog.text)
            by_table: dict[str, list[tuple[str, object]]] = {}
            for (partition, *_), change in zip(captured.records, captured.ops(), strict=True):
                by_table.setdefault(partition.rpartition(".")[2], []).append(change)
    finally:
        shop.run(f"DROP FOREIGN DATA WRAPPER w_{name} CASCADE")
    assert by_table == {table: [("r", {"id": 1}), ("c", {"id": 2})] for table in ("plain", "child", "root")}
