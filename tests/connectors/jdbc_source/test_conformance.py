from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from connectors.jdbc_source import JdbcSource
from rocketconnect_sdk import Source
from rocketconnect_sdk.conformance import SourceCase, SourceSuite

if TYPE_CHECKING:
    from tests.connectors.jdbc_source.conftest import Database

BEGIN = datetime(2026, 1, 31, 12, 0, 0, 250000)  # noqa: DTZ001  # what a clock on a wall shows
ROWS = [
    {
        "id": number,
        "name": None if number % 7 == 0 else f'n"{number},\nü' if number % 3 else "",
        "at": BEGIN + timedelta(hours=number // 4),
    }
    for number in range(1, 31)
]
TABLE = "CREATE TABLE things (id integer PRIMARY KEY, name varchar(50), at {time} NOT NULL)"


class Replayable(JdbcSource):
    """JdbcSource with any mode but bulk."""

    replayable = Source.replayable


def fill(database: "Database", table: str = "things", step: int = -1) -> None:
    values = ", ".join(
        f"({row['id']}, {'NULL' if row['name'] is None else repr_sql(str(row['name']))}, '{row['at']}')" for row in ROWS[::step]
    )
    database.run(TABLE.replace("things", table), f"INSERT INTO {table} VALUES {values}")


def repr_sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class TestIncrementing(SourceSuite):
    @pytest.fixture
    def case(self, database: "Database") -> SourceCase:
        fill(database)
        options = {"mode": "incrementing", "incrementing.column.name": "id", "timestamp.delay.interval": "0s"}
        return SourceCase(Replayable(), {**database.options, **options}, ROWS)


class TestTimestamp(SourceSuite):
    @pytest.fixture
    def case(self, database: "Database") -> SourceCase:
        fill(database)
        options = {"mode": "timestamp", "timestamp.column.name": "at"}
        return SourceCase(Replayable(), {**database.options, **options}, ROWS)


@pytest.mark.slow
class TestTimestampOfTextKeys(SourceSuite):
    @pytest.fixture
    def case(self, database: "Database") -> SourceCase:
        database.run("CREATE TABLE things (k varchar(20) PRIMARY KEY, at {time} NOT NULL)")
        # In other orders where a database knows languages.
        keys = ["a", "B", "É", "z", "zzzzzzz", "10", "9"]
        database.run(*(f"INSERT INTO things VALUES ('{key}', '{BEGIN}')" for key in keys))
        options = {"mode": "timestamp", "timestamp.column.name": "at"}
        expected = [{"k": key, "at": BEGIN} for key in sorted(keys)]
        return SourceCase(Replayable(), {**database.options, **options}, expected)


@pytest.mark.slow
class TestTimestampAndIncrementing(SourceSuite):
    @pytest.fixture
    def case(self, database: "Database") -> SourceCase:
        fill(database)
        options = {
            "mode": "timestamp+incrementing",
            "timestamp.column.name": "at",
            "incrementing.column.name": "id",
            "topic.prefix": "db-",
        }
        return SourceCase(Replayable(), {**database.options, **options}, ROWS)


@pytest.mark.slow
class TestSeveralTables(SourceSuite):
    @pytest.fixture
    def case(self, database: "Database") -> SourceCase:
        for name in ("things", "other_things", "more"):
            fill(database, name)
        options = {"mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": ".*things"}
        return SourceCase(Replayable(), {**database.options, **options}, ROWS + ROWS)


class TestQuery(SourceSuite):
    @pytest.fixture
    def case(self, database: "Database") -> SourceCase:
        fill(database)
        options = {
            "mode": "incrementing",
            "incrementing.column.name": "id",
            "query": "SELECT id, name FROM things WHERE id > 10",
            "key.columns": "id",
        }
        return SourceCase(
            Replayable(), {**database.options, **options}, [{"id": row["id"], "name": row["name"]} for row in ROWS[10:]]
        )


class TestBulk(SourceSuite):
    @pytest.fixture
    def case(self, database: "Database") -> SourceCase:
        fill(database, step=1)
        return SourceCase(JdbcSource(), {**database.options, "mode": "bulk"}, ROWS)


class TestRanges(SourceSuite):
    @pytest.fixture
    def case(self, database: "Database") -> SourceCase:
        fill(database)
        options = {"mode": "incrementing", "incrementing.column.name": "id", "split.size": "7"}
        return SourceCase(Replayable(), {**database.options, **options}, ROWS)
