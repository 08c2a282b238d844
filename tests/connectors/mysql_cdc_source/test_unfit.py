"""Values that the server has and types here do not: zero dates, partial ones, a TIME of more than a day."""

from datetime import date, datetime, time
from typing import Any

import pytest

from connectors.mysql_cdc_source.settings import Settings
from connectors.mysql_cdc_source.verification import MysqlTables
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.converters.json.converter import JsonConverter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import parse
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import options, parsed, running, told

pytestmark = pytest.mark.mariadb


@pytest.fixture
def table(database: Database) -> Database:
    """With a table of all that can be unfit, with a row in which it is, and one in which it is not."""
    database.run("SET SESSION sql_mode = ''")
    database.run(
        "CREATE TABLE t (id INT PRIMARY KEY, day DATE, must DATE NOT NULL, moment DATETIME(3), point TIMESTAMP NULL, clock TIME)",
        "INSERT INTO t VALUES (1, '0000-00-00', '2024-00-10', '0000-00-00', '0000-00-00', '25:00:00')",
        "INSERT INTO t VALUES (2, '2024-01-02', '2024-01-03', '2024-01-04 05:06:07.008', '2024-01-05 06:07:08', '-01:00:00')",
    )
    return database


def _encoded(batch: Any) -> list[str]:
    """For each value "fits", or why it is a dead letter."""
    json = JsonConverter(parse(JsonConverter.options, {}), is_key=False)
    found = []
    for value in batch.values:
        try:
            json.encode(value, batch.schema)
            found.append(value["op"])
        except RecordError:
            found.append(f"{value['op']} bad")
    return found


@pytest.mark.parametrize("columns", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_change_that_cures_a_row_and_its_deletion_are_good(table: Database, columns: bool) -> None:
    with running(options(table, snapshot_mode="never"), context=TaskContext(columns=columns)) as run:
        run.until(lambda run: "log" in run.positions)
        table.run("UPDATE t SET day = NULL, must = '2024-05-06', moment = NULL, point = NULL, clock = '01:00:00' WHERE id = 1")
        table.run("UPDATE t SET must = '2024-13-01' WHERE id = 2", "DELETE FROM t WHERE id = 2")
        run.until_records(3)
    assert [found for batch in run.batches for found in _encoded(batch)] == ["u", "u bad", "d"]
    (_, before, _), _, (_, gone, _) = told(run.values)
    assert before == {"id": 1, "day": None, "must": None, "moment": None, "point": None, "clock": None}
    assert gone == {
        "id": 2,
        "day": date(2024, 1, 2),
        "must": None,
        "moment": datetime(2024, 1, 4, 5, 6, 7, 8000),  # noqa: DTZ001 - it has no zone
        "point": gone["point"],
        "clock": None,
    }


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        (
            {"column_unfit": "null"},
            {"day": None, "must": date(1970, 1, 1), "moment": None, "point": None, "clock": None},
        ),
        (
            {"column_unfit": "text", "column_unfit_null": r".*\.day", "column_unfit_epoch": r".*\.(moment|clock)"},
            {
                "day": None,
                "must": "2024-00-10",
                "moment": datetime(1970, 1, 1),  # noqa: DTZ001 - it has no zone
                "point": "0000-00-00 00:00:00",
                "clock": time(0),
            },
        ),
    ],
    ids=["null", "each"],
)
def test_what_becomes_of_them_is_configured_for_all_and_for_columns(
    table: Database, more: dict[str, str], wanted: dict[str, object]
) -> None:
    with running(options(table, **more)) as run:
        run.until_records(2)
        table.run("INSERT INTO t SELECT id + 10, day, must, moment, point, clock FROM t")
        run.until_records(4)
    assert [found for batch in run.batches for found in _encoded(batch)] == ["r", "r", "c", "c"]
    rows = [after for _, _, after in told(run.values)]
    (compared,) = MysqlTables(Settings.of(parsed(options(table, **more)))).open(f"{table.name}.t").behind(None, ["id"])
    assert [row["day"] for row in compared.values.to_pylist()] == [row["day"] for row in rows]
    assert [row["must"] for row in compared.values.to_pylist()] == [row["must"] for row in rows]
    assert not compared.wrong
    assert rows[0] == {"id": 1, **wanted}
    assert {**rows[2], "id": 1} == rows[0]
    assert {**rows[3], "id": 2} == rows[1]
    if more["column_unfit"] == "text":
        assert (rows[1]["must"], rows[1]["point"]) == ("2024-01-03", "2024-01-05 06:07:08")
