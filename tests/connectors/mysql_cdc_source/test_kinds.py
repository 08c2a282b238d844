"""Tables of all kinds: what the snapshot calls a table the log calls one, too, with the same columns and the same key."""

from typing import Any

import pytest

from connectors.mysql_cdc_source.settings import Settings
from connectors.mysql_cdc_source.verification import MysqlTables
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import options, parsed, running, told

pytestmark = pytest.mark.mariadb
_PERIOD = (
    "began TIMESTAMP(6) GENERATED ALWAYS AS ROW START, ended TIMESTAMP(6) GENERATED ALWAYS AS ROW END, "
    "PERIOD FOR SYSTEM_TIME (began, ended)"
)


@pytest.mark.parametrize(
    ("columns", "versions"),
    [
        ("id INT PRIMARY KEY, a INT", "WITH SYSTEM VERSIONING"),
        (f"id INT PRIMARY KEY, a INT, {_PERIOD}", "WITH SYSTEM VERSIONING"),
        pytest.param("id INT, a INT", "WITH SYSTEM VERSIONING", marks=pytest.mark.slow),
        pytest.param("id INT PRIMARY KEY, a INT WITHOUT SYSTEM VERSIONING", "WITH SYSTEM VERSIONING", marks=pytest.mark.slow),
        pytest.param(
            "id INT PRIMARY KEY, a INT",
            "WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME PARTITIONS 3",
            marks=pytest.mark.slow,
        ),
        pytest.param("id INT PRIMARY KEY, a INT, s TIMESTAMP(6), e TIMESTAMP(6), PERIOD FOR x (s, e)", "", marks=pytest.mark.slow),
    ],
    ids=["hidden period", "named period", "no key", "column without versions", "by partitions", "period of the application"],
)
def test_of_a_table_with_versions_its_rows_are_captured_and_not_those_of_before(
    database: Database, columns: str, versions: str
) -> None:
    values = ("s, e" in columns and ", NOW(6), NOW(6) + INTERVAL 1 DAY") or ""
    names = "id, a, s, e" if values else "id, a"
    database.run(f"CREATE TABLE t ({columns}) {versions}", f"INSERT INTO t ({names}) VALUES (1, 1{values}), (2, 2{values})")
    database.run("UPDATE t SET a = 3 WHERE id = 1", "DELETE FROM t WHERE id = 2")
    with running(options(database)) as run:
        run.until(lambda run: run.positions.get("log", (0,) * 4)[3:4] == (1,))
        database.run(f"INSERT INTO t ({names}) VALUES (5, 5{values}), (6, 6{values})", "UPDATE t SET a = 9 WHERE id > 1")
        database.run("UPDATE t SET id = 7 WHERE id = 5", "DELETE FROM t WHERE id = 6")
        if versions:
            database.run("DELETE HISTORY FROM t")
        database.run(f"INSERT INTO t ({names}) VALUES (8, 8{values})")
        run.until(lambda run: any(row is not None and row["id"] == 8 for _, _, row in told(run.values)))
    ids = [
        (op, (before or {}).get("id"), (after or {}).get("id"), (after or {}).get("a")) for op, before, after in told(run.values)
    ]
    moved = [("u", 5, 7, 9)] if "PRIMARY" not in columns else [("d", 5, None, None), ("c", None, 7, 9)]
    assert ids == [
        ("r", None, 1, 3),
        ("c", None, 5, 5),
        ("c", None, 6, 6),
        ("u", 5, 5, 9),
        ("u", 6, 6, 9),
        *moved,
        ("d", 6, None, None),
        ("c", None, 8, 8),
    ]
    assert len({batch.schema for batch in run.batches}) == len({batch.key_schema for batch in run.batches}) == 1
    (table,) = MysqlTables(Settings.of(parsed(options(database)))).tables()
    assert table.name == f"{database.name}.t"


def test_views_sequences_and_temporary_tables_are_no_tables(database: Database) -> None:
    database.run("CREATE TABLE t (id INT PRIMARY KEY)", "CREATE VIEW v AS SELECT * FROM t", "CREATE SEQUENCE s")
    database.run("CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "INSERT INTO tmp VALUES (1)")
    with running(options(database)) as run:
        run.until(lambda run: run.positions.get("log", (0,) * 4)[3:4] == (1,))
        database.run("INSERT INTO tmp VALUES (2)", "INSERT INTO v VALUES (2)")
        database.select("SELECT NEXTVAL(s)")
        database.run("DO SETVAL(s, 5000)", "INSERT INTO t VALUES (3)")
        run.until_records(3)
        # All that was read with it comes before what is read later.
        database.run("INSERT INTO t VALUES (4)")
        run.until_records(4)
    found: list[Any] = told(run.values)
    assert found == [("r", None, {"id": 1}), *(("c", None, {"id": number}) for number in (2, 3, 4))]
    assert {partition for partition, _ in run.offsets} == {f"{kind} {database.name}.t" for kind in ("snapshot", "table")}
