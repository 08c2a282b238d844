import random
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from connectors.jdbc_source import JdbcSource
from connectors.jdbc_source.ranged import RangedRows
from connectors.jdbc_source.ranges import Share, foreign
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.testing import at

if TYPE_CHECKING:
    from tests.connectors.jdbc_source.conftest import Database

RANGES = {"mode": "incrementing", "incrementing.column.name": "id", "split.size": "10", "poll.interval": "1ms"}


def config(database: "Database", **options: str) -> Config:
    return parse(
        JdbcSource().options,
        {**database.options, **RANGES, **{name.replace("_", "."): text for name, text in options.items()}},
    )


def problems(database: "Database", **options: str) -> str:
    return "\n".join(map(str, JdbcSource().check(config(database, **options))))


def step(wanted: Config, tasks: int, positions: dict[str, Offset], polls: int) -> list[int]:
    """The numbers that so many tasks read with so many polls each; moves the positions."""
    found: list[int] = []
    given = dict(positions)
    for share in JdbcSource().plan(wanted, tasks, at(positions)).tasks:
        task = JdbcSource().open(wanted, share, TaskContext(batch_records=3))
        try:
            task.start(at(given))
            for _ in range(polls):
                batch = task.poll()
                if batch is None:
                    time.sleep(0.002)
                    continue
                found += [value["id"] for value in batch.values]  # type: ignore[index]
                positions[batch.partition] = batch.offsets[-1] if len(batch) else (batch.end or ())
        finally:
            task.close()
    return found


def insert(database: "Database", *numbers: int) -> None:
    database.run("INSERT INTO t VALUES " + ", ".join(f"({number})" for number in numbers))


class TestShare:
    def test_each_range_is_of_one_task(self) -> None:
        shares = [Share(10, task, 3) for task in range(3)]
        for number in range(20):
            assert [share.next("t", number) for share in shares].count(number) == 1

    def test_ranges_follow_each_other_without_a_gap(self) -> None:
        share = Share(10, 0, 1)
        assert [(share.first(number), share.last(number)) for number in range(3)] == [(0, 9), (10, 19), (20, 29)]

    def test_first_ranges_of_tables_are_of_different_tasks(self) -> None:
        assert {Share(10, 0, 3).next(f"t{number}", 0) for number in range(20)} == {0, 1, 2}

    def test_positions_of_another_size_are_found(self) -> None:
        assert foreign("t", 10, ["t 4x10", "u", "u 1x20", "other t 1x5", "t2"]) is None
        assert foreign("t", 10, ["t 4x10", "t 4x20"]) == "t 4x20"
        assert foreign("t", 10, ["t"]) == "t"
        assert foreign("t", 0, ["t", "t 4x20"]) == "t 4x20"


class TestRanges:
    def test_every_row_is_read_once_however_often_the_number_of_tasks_changes(self, database: "Database") -> None:
        database.run("CREATE TABLE t (id integer PRIMARY KEY)")
        # Dense and sparse parts, and both ends of ranges.
        numbers = [*range(57), 99, 100, 109, 110, 5_000, *range(1_000_000, 1_000_030)]
        insert(database, *numbers)
        chance, positions, found = random.Random(7), dict[str, Offset](), list[int]()
        for _ in range(40):
            found += step(config(database), chance.randint(1, 4), positions, chance.randint(1, 9))
        found += step(config(database), 3, positions, 80)
        assert Counter(found) == Counter(numbers)

    def test_rows_that_come_later_are_read_once(self, database: "Database") -> None:
        database.run("CREATE TABLE t (id integer PRIMARY KEY)")
        positions: dict[str, Offset] = {}
        assert step(config(database), 2, positions, 5) == []
        insert(database, 3, 25)
        assert sorted(step(config(database), 2, positions, 10)) == [3, 25]
        insert(database, 26, 31, 400)
        assert sorted(step(config(database), 2, positions, 10)) == [26, 31, 400]

    def test_rows_that_come_while_the_end_of_a_range_is_looked_for_are_read(
        self, database: "Database", monkeypatch: pytest.MonkeyPatch
    ) -> None:
        database.run("CREATE TABLE t (id integer PRIMARY KEY)")
        insert(database, 1)
        look, late = RangedRows._next_number, [[2, 15]]

        def then(reader: RangedRows) -> int | None:
            if late:
                insert(database, *late.pop())
            return look(reader)

        monkeypatch.setattr(RangedRows, "_next_number", then)
        assert sorted(step(config(database), 1, {}, 20)) == [1, 2, 15]

    def test_a_range_that_was_read_is_not_looked_at_again(self, database: "Database") -> None:
        database.run("CREATE TABLE t (id integer PRIMARY KEY)")
        insert(database, 1, 12)
        positions: dict[str, Offset] = {}
        step(config(database), 1, positions, 20)
        table = "incrementing public.t" if database.kind == "postgres" else "incrementing t"
        assert positions == {f"{table} 0x10": (9,), f"{table} 1x10": (12,)}

    def test_a_negative_number_fails_the_task(self, database: "Database") -> None:
        database.run("CREATE TABLE t (id integer PRIMARY KEY)")
        insert(database, -1, 5)
        with pytest.raises(PermanentError, match=r"\(-1,\) is negative"):
            step(config(database), 1, {}, 1)

    @pytest.mark.parametrize("size", ["0", "20"])
    def test_positions_of_ranges_of_another_size_fail_the_task(self, database: "Database", size: str) -> None:
        database.run("CREATE TABLE t (id integer PRIMARY KEY)")
        insert(database, 1)
        positions: dict[str, Offset] = {}
        step(config(database), 1, positions, 1)
        with pytest.raises(PermanentError, match=r"Set split\.size as it was"):
            step(config(database, split_size=size), 1, positions, 1)


class TestChecks:
    def test_ranges_of_another_mode_are_told(self, database: "Database") -> None:
        database.run("CREATE TABLE t (id integer PRIMARY KEY)")
        assert "split.size: means nothing with mode=bulk" in problems(database, mode="bulk", incrementing_column_name="")

    def test_too_many_ranges_are_told_with_a_size_that_fits(self, database: "Database") -> None:
        database.run("CREATE TABLE t (id bigint PRIMARY KEY NOT NULL)")
        insert(database, 5, 2_000_000_004)
        assert problems(database) == ""
        fixed = problems(database, query="SELECT id FROM t")
        assert "200,000,001 ranges" in fixed
        assert "Set 200,021 or more" in fixed
        assert problems(database, query="SELECT id FROM t", split_size="200021") == ""

    def test_ranges_with_rows_are_counted_where_there_are_too_many(
        self, database: "Database", monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("connectors.jdbc_source.ranged._MOST", 2)
        database.run("CREATE TABLE t (id bigint PRIMARY KEY NOT NULL)")
        insert(database, 5, 2_000_000_004)
        assert problems(database) == ""
        insert(database, 1_000)
        assert "makes more than 2 ranges" in problems(database)
