import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from connectors.jdbc_source import JdbcSource
from connectors.jdbc_source.task import JdbcSourceTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConfigError, PermanentError, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import Offset, Rejected, SourceBatch
from rocketconnect_sdk.testing import at
from tests.connectors.jdbc_source.conftest import EACH, OCEANBASE, Database

INCREMENTING = {"mode": "incrementing", "incrementing.column.name": "id"}
TIMES = {"mode": "timestamp+incrementing", "timestamp.column.name": "at", "incrementing.column.name": "id"}
SOON = {"poll.interval": "1ms"}


@contextmanager
def opened(
    database: Database, options: dict[str, str], positions: dict[str, Offset] | None = None, *, columns: bool = False
) -> Iterator[JdbcSourceTask]:
    config = parse(JdbcSource().options, {**database.options, **SOON, **options})
    task = JdbcSource().open(config, JdbcSource().plan(config, 1, {}).tasks[0], TaskContext(columns=columns))
    try:
        task.start(at(positions or {}))
        yield task
    finally:
        task.close()


def read(task: JdbcSourceTask) -> list[SourceBatch]:
    batches, empty = [], 0
    while empty < 3 and not task.finished:
        batch = task.poll()
        if not batch:
            empty += 1
            time.sleep(min(task.idle_seconds, 0.01))
        batches += [] if batch is None else [batch]
    return batches


def values(batches: list[SourceBatch]) -> list[object]:
    return [value for batch in batches for value in batch.values]


def problems(database: Database, **options: str) -> list[str]:
    config = parse(JdbcSource().options, {**database.options, **{name.replace("_", "."): text for name, text in options.items()}})
    return [str(problem) for problem in JdbcSource().check(config)]


@EACH
class TestNewRows:
    def test_rows_that_come_later_are_read_once(self, database: Database) -> None:
        database.run("CREATE TABLE t (id integer PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
        with opened(database, INCREMENTING) as task:
            assert values(read(task)) == [{"id": 1}, {"id": 2}]
            database.run("INSERT INTO t VALUES (5), (3)")
            assert values(read(task)) == [{"id": 3}, {"id": 5}]

    def test_a_row_that_changes_is_read_again(self, database: Database) -> None:
        database.run(
            "CREATE TABLE t (id integer PRIMARY KEY, at {time} NOT NULL)",
            "INSERT INTO t VALUES (1, '2026-01-01 00:00:00'), (2, '2026-01-01 00:00:00')",
        )
        with opened(database, TIMES) as task:
            assert len(values(read(task))) == 2
            database.run("UPDATE t SET at = '2026-01-02 00:00:00' WHERE id = 1")
            assert [value["id"] for value in values(read(task))] == [1]  # type: ignore[index]

    def test_rows_are_left_until_the_delay_has_passed(self, database: Database) -> None:
        now = {"postgres": "now() AT TIME ZONE 'UTC'", "sqlite": "strftime('%Y-%m-%d %H:%M:%f')"}
        database.run("CREATE TABLE t (id integer PRIMARY KEY, at {time} NOT NULL)")
        database.run(f"INSERT INTO t VALUES (1, '2026-01-01 00:00:00'), (2, {now.get(database.kind, 'UTC_TIMESTAMP(6)')})")
        with opened(database, {**TIMES, "timestamp.delay.interval": "1h"}) as task:
            assert [value["id"] for value in values(read(task))] == [1]  # type: ignore[index]
        with opened(database, {**TIMES, "timestamp.delay.interval": "0s"}) as task:
            assert [value["id"] for value in values(read(task))] == [1, 2]  # type: ignore[index]

    def test_times_without_a_zone_are_those_of_the_clock_that_is_configured(self, database: Database) -> None:
        options = {**TIMES, "timestamp.delay.interval": "60s"}
        now = datetime.now(ZoneInfo("Asia/Shanghai"))
        times = [now - timedelta(seconds=90), now]
        rows = ", ".join(f"({number}, '{each.replace(tzinfo=None).isoformat(' ')}')" for number, each in enumerate(times))
        database.run("CREATE TABLE t (id integer PRIMARY KEY, at {time} NOT NULL)", f"INSERT INTO t VALUES {rows}")
        with opened(database, {**options, "db.timezone": "Asia/Shanghai"}) as task:
            assert [value["id"] for value in values(read(task))] == [0]  # type: ignore[index]
        with opened(database, options) as task:
            assert values(read(task)) == []

    def test_without_a_position_reading_begins_at_the_initial_time(self, database: Database) -> None:
        database.run(
            "CREATE TABLE t (id integer PRIMARY KEY, at {time} NOT NULL)",
            "INSERT INTO t VALUES (1, '2026-01-01 00:00:00'), (2, '2026-01-02 00:00:00')",
        )
        with opened(database, {**TIMES, "timestamp.initial": "2026-01-02T00:00:00"}) as task:
            assert [value["id"] for value in values(read(task))] == [2]  # type: ignore[index]

    def test_a_number_that_is_negative_fails_the_task(self, database: Database) -> None:
        database.run("CREATE TABLE t (id integer PRIMARY KEY)", "INSERT INTO t VALUES (-1), (2)")
        with opened(database, INCREMENTING) as task, pytest.raises(PermanentError, match=r"\(-1,\) is negative"):
            read(task)

    def test_a_key_that_is_too_long_for_a_position_fails_the_task_and_is_told(self, database: Database) -> None:
        database.run("CREATE TABLE t (k varchar(700) PRIMARY KEY, at {time} NOT NULL)")
        database.run(*(f"INSERT INTO t VALUES ('{'é' * length}', '2026-01-01 00:00:00')" for length in (170, 300)))
        with opened(database, {"mode": "timestamp", "timestamp.column.name": "at", "batch.max.rows": "1"}) as task:
            assert len(values([task.poll()])) == 1  # type: ignore[list-item]
            with pytest.raises(PermanentError, match=r"600 bytes is too long.*other columns"):
                read(task)

    def test_rows_with_the_same_time_and_number_fail_the_task(self, database: Database) -> None:
        database.run(
            "CREATE TABLE t (id integer NOT NULL, at {time} NOT NULL)",
            "INSERT INTO t VALUES (1, '2026-01-01 00:00:00'), (1, '2026-01-01 00:00:00')",
        )
        with opened(database, TIMES) as task, pytest.raises(PermanentError, match="is there twice"):
            read(task)

    def test_a_position_of_other_columns_fails_the_task(self, database: Database) -> None:
        database.run("CREATE TABLE t (id integer PRIMARY KEY)")
        partition = "incrementing public.t" if database.kind == "postgres" else "incrementing t"
        with opened(database, INCREMENTING, {partition: (1, 2)}) as task, pytest.raises(PermanentError, match="of other columns"):
            read(task)


class TestBulk:
    def test_everything_is_read_once(self, database: Database) -> None:
        database.run("CREATE TABLE t (a integer)", "INSERT INTO t VALUES (1), (NULL), (1)")
        with opened(database, {"mode": "bulk"}) as task:
            batches = read(task)
            assert values(batches) == [{"a": 1}, {"a": None}, {"a": 1}]
            assert task.finished
        end = {batches[-1].partition: batches[-1].end}
        assert len(batches[-1]) == 0
        with opened(database, {"mode": "bulk"}, end) as task:
            assert task.finished

    def test_a_round_that_was_interrupted_begins_again(self, database: Database) -> None:
        database.run("CREATE TABLE t (a integer)", "INSERT INTO t VALUES (1), (2)")
        with opened(database, {"mode": "bulk"}) as task:
            first = task.poll()
        assert first is not None
        with opened(database, {"mode": "bulk"}, {first.partition: first.offsets[0]}) as task:
            again = task.poll()
        assert again is not None
        assert list(again.values) == [{"a": 1}, {"a": 2}]
        assert again.offsets[0] > first.offsets[-1]

    @pytest.mark.slow
    @pytest.mark.parametrize("database", ["postgres", "mariadb"], indirect=True)
    def test_a_round_whose_connection_is_lost_begins_again(self, database: Database) -> None:
        long = "x" * 1000
        database.run("CREATE TABLE t (a integer, b varchar(1000))", f"INSERT INTO t VALUES (1, '{long}'), (2, '{long}')")
        for _ in range(13):
            database.run("INSERT INTO t SELECT * FROM t")
        with opened(database, {"mode": "bulk"}) as task:
            first = task.poll()
            assert first is not None
            database.run(
                "KILL USER jdbc_reader"
                if database.is_mysql
                else "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid()"
            )
            with pytest.raises(SystemAway):
                read(task)
            again = read(task)
            assert task.finished
        assert len(values(again)) == 2 << 13
        assert again[0].offsets[0] > first.offsets[-1]

    def test_another_round_begins_after_its_interval(self, database: Database) -> None:
        database.run("CREATE TABLE t (a integer)", "INSERT INTO t VALUES (1)")
        with opened(database, {"mode": "bulk", "bulk.interval": "1ms"}) as task:
            seen: list[object] = []
            while len(seen) < 3:
                batch = task.poll()
                seen += [] if batch is None else list(batch.values)
        assert seen == [{"a": 1}] * 3


@EACH
class TestRecords:
    def test_keys_are_the_columns_of_the_primary_key(self, database: Database) -> None:
        database.run(
            "CREATE TABLE t (a integer, id integer, b varchar(9), PRIMARY KEY (b, id))", "INSERT INTO t VALUES (1, 2, 'x')"
        )
        with opened(database, {"mode": "bulk"}) as task:
            batch = read(task)[0]
        assert list(batch.keys or ()) == [{"b": "x", "id": 2}]
        assert batch.key_schema is not None
        assert [field.name for field in batch.key_schema.fields] == ["b", "id"]

    def test_tables_have_topics_of_their_own_with_a_prefix(self, database: Database) -> None:
        database.run("CREATE TABLE t (a integer)", "INSERT INTO t VALUES (1)")
        with opened(database, {"mode": "bulk", "topic.prefix": "db-"}) as task:
            assert read(task)[0].topics == ["db-public_t" if database.kind == "postgres" else "db-t"]

    def test_columns_have_the_values_that_rows_have(self, database: Database) -> None:
        database.run("CREATE TABLE t (id integer PRIMARY KEY, b varchar(9))", "INSERT INTO t VALUES (1, 'ü'), (2, NULL), (3, '')")
        with opened(database, INCREMENTING) as rows, opened(database, INCREMENTING, columns=True) as columns:
            assert values(read(rows)) == values(read(columns)) == [{"id": 1, "b": "ü"}, {"id": 2, "b": None}, {"id": 3, "b": ""}]

    def test_a_value_that_its_type_has_no_room_for_is_rejected_in_its_place(self, database: Database) -> None:
        bad = {"postgres": "infinity", "sqlite": "soon"}.get(database.kind, "0000-00-00")
        database.run(
            *(["SET sql_mode = ''"] if database.is_mysql else []),
            "CREATE TABLE t (id integer PRIMARY KEY, d date)",
            f"INSERT INTO t VALUES (1, '2026-01-01'), (2, '{bad}'), (3, NULL)",
        )
        with opened(database, INCREMENTING) as task:
            first, wrong, last = values(read(task))
        assert isinstance(wrong, Rejected)
        assert bad in wrong.reason
        assert [first["id"], last] == [1, {"id": 3, "d": None}]  # type: ignore[index]


class TestChecks:
    def test_all_that_is_wrong_is_told_at_once(self, database: Database) -> None:
        database.run(
            "CREATE TABLE one (id varchar(9) PRIMARY KEY)", "CREATE TABLE two (id integer)", "CREATE TABLE three (a integer)"
        )
        found = "\n".join(problems(database, mode="incrementing", incrementing_column_name="id"))
        for part in ("one is no whole number", "two may be null", "two is not unique", "is no column of"):
            assert part in found

    def test_no_table_that_matches_is_told(self, database: Database) -> None:
        assert "matches no table" in problems(database, table_whitelist="nothing")[0]

    def test_the_nearest_names_of_what_is_not_there_are_told(self, database: Database) -> None:
        database.run("CREATE TABLE orders (order_id integer PRIMARY KEY)", "CREATE TABLE customers (id integer PRIMARY KEY)")
        (table,) = problems(database, table_whitelist="order", mode="incrementing", incrementing_column_name="order_id")
        assert "Did you mean " in table
        assert "orders?" in table
        assert "customers" not in table
        (far,) = problems(database, table_whitelist="zzz")
        assert "The user sees " in far
        assert "customers" in far
        (column,) = problems(database, table_whitelist="orders", mode="incrementing", incrementing_column_name="orderid")
        assert "Did you mean order_id? It has order_id." in column

    def test_a_zone_that_is_none_is_told(self, database: Database) -> None:
        with pytest.raises(ConfigError, match="is no time zone"):
            problems(database, db_timezone="Mars/Olympus")

    def test_options_of_another_mode_are_told(self, database: Database) -> None:
        database.run("CREATE TABLE t (id integer PRIMARY KEY)")
        assert "means nothing with mode=bulk" in problems(database, incrementing_column_name="id")[0]
        assert "is needed with mode=incrementing" in problems(database, mode="incrementing")[0]

    def test_times_without_a_key_that_tells_rows_apart_are_told(self, database: Database) -> None:
        database.run("CREATE TABLE t (at {time} NOT NULL)")
        assert "cannot tell rows of the same time" in problems(database, mode="timestamp", timestamp_column_name="at")[0]

    def test_a_query_that_is_wrong_is_told(self, database: Database) -> None:
        assert problems(database, query="SELECT * FROM nowhere")[0].startswith("query: ")

    @pytest.mark.parametrize("database", ["postgres"], indirect=True)
    def test_a_privilege_that_is_missing_is_told_with_its_grant(self, database: Database) -> None:
        database.run("CREATE TABLE t (a integer)", "DROP ROLE IF EXISTS nobody", "CREATE ROLE nobody LOGIN")
        assert "GRANT SELECT ON public.t TO nobody" in problems(database, user="nobody")[0]

    @pytest.mark.parametrize("database", ["mariadb", OCEANBASE], indirect=True)
    def test_a_wrong_password_is_told_and_not_shown(self, database: Database) -> None:
        config = parse(JdbcSource().options, {**database.options, "user": "root"})
        config._values["password"] = "not-this-one"
        (problem,) = JdbcSource().check(config)
        assert "Correct user and password" in str(problem)
        assert "not-this-one" not in str(problem)

    def test_a_database_that_does_not_answer_is_told(self) -> None:
        config = parse(JdbcSource().options, {"connection.url": "postgresql://127.0.0.1:1/none"})
        assert "Start the database" in str(next(iter(JdbcSource().check(config))))


class TestPlan:
    def test_tables_are_shared_and_looked_for_again(self, database: Database) -> None:
        database.run(*(f"CREATE TABLE t{number} (id integer PRIMARY KEY)" for number in range(5)))
        config = parse(JdbcSource().options, {**database.options, "table.blacklist": "t3"})
        plan = JdbcSource().plan(config, 3, {})
        shared = [name.rpartition(".")[2] for task in plan.tasks for name in task["tables"].split("\n")]
        assert len(plan.tasks) == 3
        assert sorted(shared) == ["t0", "t1", "t2", "t4"]
        assert plan.replan_after
