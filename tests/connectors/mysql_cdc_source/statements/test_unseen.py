"""Statements that change rows of which the log has none."""

from pathlib import Path

import pytest

from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import options, running, told

pytestmark = pytest.mark.mariadb


def test_what_the_log_has_no_rows_of_is_carried_out_or_told(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    database.run(
        "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (10))",
        "CREATE TABLE u (id INT PRIMARY KEY)",
        "CREATE TABLE `v.w` (id INT PRIMARY KEY)",
    )
    with running(options(database, snapshot_mode="never")) as run:
        run.until(lambda run: "log" in run.positions)
        database.run("INSERT INTO t VALUES (1)", "SET sql_mode = 'ANSI_QUOTES'", 'TRUNCATE TABLE "t"', "SET sql_mode = ''")
        database.run("CREATE TEMPORARY TABLE u (id INT)", "TRUNCATE u", "DROP TEMPORARY TABLE u", "TRUNCATE `v.w`")
        database.run("ALTER TABLE t TRUNCATE PARTITION p", "CREATE OR REPLACE TABLE u (id INT PRIMARY KEY, a INT)")
        database.run("SET binlog_format = STATEMENT", "INSERT INTO u VALUES (7, 8)", "SET STATEMENT sql_mode='' FOR TRUNCATE u")
        run.until_records(5)
        database.run("SET binlog_format = ROW", "RENAME TABLE `v.w` TO w", "INSERT INTO w VALUES (9)")
        run.until_records(6)
    assert [(op, after) for op, _, after in told(run.values)] == [
        ("c", {"id": 1}),
        ("t", None),
        ("t", None),
        ("t", None),
        ("t", None),
        ("c", {"id": 9}),
    ]
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [text.partition(", at")[0] for text in warned if "does not tell which rows" in text] == [
        f"{database.name}.t: ALTER TABLE ... TRUNCATE PARTITION",
        f"{database.name}.u: INSERT",
        f"{database.name}.v.w: RENAME TABLE",
        f"{database.name}.w: RENAME TABLE",
    ]
    assert all("--repair" in text and "execute-snapshot" in text for text in warned if "does not tell which rows" in text)


def test_a_file_that_is_loaded_as_a_statement_is_told(database: Database, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    database.run("CREATE TABLE t (id INT PRIMARY KEY)")
    with running(options(database, snapshot_mode="never")) as run:
        run.until(lambda run: "log" in run.positions)
        database.run("SET binlog_format = STATEMENT")
        database.run(
            f"SELECT 7 INTO OUTFILE '{tmp_path}/rows'",
            f"LOAD DATA INFILE '{tmp_path}/rows' INTO TABLE t",
            "SET binlog_format = ROW",
            "INSERT INTO t VALUES (9)",
        )
        run.until_records(1)
    assert f"{database.name}.t: LOAD DATA, at " in caplog.text
