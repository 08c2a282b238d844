"""What every sink of tables must do, beside what every sink must.

    class TestMyTables(TableSuite):
        @pytest.fixture
        def case(self, server): return TableCase(MySink(), {"option": "value"}, server.read)

A case has an empty target of its own.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from datetime import time as clock
from decimal import Decimal
from itertools import product
from typing import Any
from uuid import UUID

import pytest

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.conformance.runs import QUEUE, ROW, Run, row, run_of, write_at_once
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema, Type, Unit, decimal, struct, timestamp
from rocketconnect_sdk.sink import QueuePosition
from rocketconnect_sdk.spark.types import to_spark
from rocketconnect_sdk.tables import POSITIONS_TABLE, TableSink, verification
from rocketconnect_sdk.tables.task import TableTask
from rocketconnect_sdk.verification import Key, ReadRows, SinkTables, keys_of, order_of

OTHER = "orders/broker-a/1"
_INT, _LONG, _TEXT = Schema(Type.INT32), Schema(Type.INT64), Schema(Type.STRING)
_MAYBE = replace(_TEXT, optional=True)
ONE = struct([("id", _INT), ("name", _TEXT)])
_CHANGE = struct([("op", _TEXT), ("before", replace(ONE, optional=True)), ("after", replace(ONE, optional=True))])
_AT = datetime(2024, 2, 29, 12, 0, 0, 678000, UTC)
TYPES: Sequence[tuple[Schema, object]] = (
    (Schema(Type.BOOLEAN), True),
    *((Schema(Type(f"int{bits}")), -(1 << bits - 1)) for bits in (8, 16, 32, 64)),
    *((Schema(Type(f"uint{bits}")), (1 << bits) - 1) for bits in (8, 16, 32, 64)),
    (Schema(Type.FLOAT32), 0.1),
    (Schema(Type.FLOAT64), 0.1),
    (decimal(2, precision=9), Decimal("-1234567.80")),
    (decimal(3, precision=38), Decimal("1234567890123456789.125")),
    (decimal(1, precision=60), Decimal("1" * 59 + ".5")),
    (_TEXT, "it's \\ 'ü' \"\n😀"),
    (Schema(Type.BYTES), "ü".encode()),
    (Schema(Type.DATE), date(2024, 2, 29)),
    (Schema(Type.TIME), clock(23, 59, 59, 1)),
    *(
        (timestamp(unit, zone=zone), _AT if zone else _AT.replace(tzinfo=None))
        for unit in (Unit.MILLISECONDS, Unit.MICROSECONDS)
        for zone in (True, False)
    ),
    (timestamp(Unit.NANOSECONDS), 1_700_000_000_123_456_789),
    (Schema(Type.UUID), UUID("01234567-89ab-cdef-0123-456789abcdef")),
    (Schema(Type.JSON), '{"b": 1.50, "a": [1e2, null]}'),
    (Schema(Type.MAP, keys=_TEXT, items=_INT), {"a": 1}),
    (struct([("x", _INT), ("y", _TEXT)]), {"x": 1, "y": "z"}),
    (Schema(Type.ARRAY, items=_INT), [1, -2]),
    (Schema(Type.ARRAY, items=_MAYBE), ["it's", None, ""]),
    (Schema(Type.ARRAY, items=Schema(Type.UUID)), [UUID(int=5)]),
)
"""A value of each type."""

_PRICES = ("-1234567890123456.7891", "-1", "-0.5", "0", "9.5", "10.0001", "10", "9007199254740993.0001", "9007199254740993.0002")
KEYS: Mapping[str, Sequence[tuple[Schema, Sequence[object]]]] = {
    "texts and numbers": ((_TEXT, ["é", "Z", "a", "it's", "😀", "\\", ""]), (_LONG, [-(1 << 62), -7, 0, 10, 9, 1 << 62])),
    "decimals and dates": (
        (decimal(4, precision=20), list(map(Decimal, _PRICES))),
        (Schema(Type.DATE), [date(1970, 1, 1), date(2024, 2, 29), date(2105, 12, 31)]),
    ),
    "moments and UUIDs": (
        (timestamp(Unit.MICROSECONDS), [_AT, _AT.replace(1969, 12, 31, microsecond=999_999), _AT.replace(microsecond=678_001)]),
        (Schema(Type.UUID), [UUID(int=number << shift) for number in (1, 9, 10) for shift in (0, 64, 124)]),
    ),
}
"""Columns of keys with values whose order is easily another one."""


@dataclass(frozen=True, slots=True)
class TableCase:
    """A sink of tables with an empty target.

    Attributes:
        sink: The sink.
        config: Its own options, but for `table` and `table.create`.
        read: The rows of a table, of some columns, as whoever reads the table sees them; none where there is no table.
        upserts: The options with which a row replaces the one that has its `id`; None: none ever does.
        deletes: With these a deletion deletes; else it is a bad record.
    """

    sink: TableSink
    config: Mapping[str, str]
    read: Callable[[str, Sequence[str]], Sequence[Sequence[object]]]
    upserts: Mapping[str, str] | None = None
    deletes: bool = False

    def options(self, **more: str) -> dict[str, str]:
        """Of a connector that writes the table `rows`; names of options have "_" for a point."""
        return {**self.config, "table": "rows", "table.create": "true", **{key.replace("_", "."): more[key] for key in more}}

    def opened(self, options: Mapping[str, str] | None = None, **of_task: Any) -> Run[TableTask]:
        """A task with such options: see run_of."""
        return run_of(self.sink.open, parse(self.sink.options, options or self.options()), **of_task)

    def upserting(self) -> Mapping[str, str]:
        """The options of rows that replace others; skips a test of a sink that has none."""
        if self.upserts is None:
            pytest.skip("each record is a new row")
        return self.options() | dict(self.upserts)

    def rows(self, *names: str, table: str = "rows") -> list[list[object]]:
        """In their order."""
        return sorted((list(each) for each in self.read(table, names)), key=repr)


class TableSuite:
    """Subclass it, and give it a fixture named `case`."""

    def _there(self, case: TableCase, until: int, queue: int = 0) -> None:
        wanted = [list(row(queue, offset).values()) for offset in range(until)]
        assert case.rows(*(each.name for each in ROW.fields)) == sorted(wanted, key=repr)

    def test_what_is_staged_is_in_no_table(self, case: TableCase) -> None:
        """Others do not see it, whatever becomes of it."""
        run = case.opened().start()
        run.task.abort([run.stage(run.batch(10))])
        self._there(case, 0)

    def test_the_same_batch_again_changes_nothing(self, case: TableCase) -> None:
        """Its answer may have been lost."""
        run = case.opened().start()
        for until in (10, 20):
            receipt, commit = run.stage(run.batch(until)), run.commit_of(until)
            for _ in range(2):
                run.task.commit([receipt], commit)
            run.positions |= commit.after
            self._there(case, until)

    def test_an_owner_that_was_late_with_its_batch_writes_nothing(self, case: TableCase) -> None:
        """Invariant 3, also where the batch was staged before."""
        late = case.opened().start()
        late.write(10)
        receipt, commit = late.stage(late.batch(20)), late.commit_of(20)
        newer = case.opened(epoch=2).start()
        with pytest.raises(PermanentError, match="a newer owner"):
            late.task.commit([receipt], commit)
        self._there(case, 10)
        newer.write(15)
        self._there(case, 15)

    def test_a_plan_that_was_replaced_writes_nothing_whatever_its_tasks_were(self, case: TableCase) -> None:
        """The new one has all of its positions."""
        older = case.opened(task=1, epoch=9).start()
        older.write(10, OTHER)
        newer = case.opened(generation=2, epoch=10).start()
        assert newer.positions == {OTHER: QueuePosition(10)}
        with pytest.raises(PermanentError, match="a newer owner"):
            older.write(20, OTHER)
        newer.write(30, OTHER)
        self._there(case, 30, 1)
        with pytest.raises(PermanentError, match="a newer owner"):
            case.opened(task=1, epoch=11).start()

    def test_tasks_that_write_at_once_lose_nothing_of_each_other(self, case: TableCase) -> None:
        """Neither rows nor positions."""
        write_at_once([case.opened(task=number, epoch=number + 1).start() for number in range(3)])
        wanted = [list(row(number, offset).values()) for number in range(3) for offset in range(25)]
        assert case.rows(*(each.name for each in ROW.fields)) == sorted(wanted, key=repr)
        newest = case.opened(generation=2, epoch=9).start()
        assert newest.positions == {f"orders/broker-a/{number}": QueuePosition(25) for number in range(3)}

    def test_offsets_that_come_again_are_other_rows(self, case: TableCase) -> None:
        """After a reset, in a queue that was made anew, and of another connector."""
        run = case.opened().start()
        run.write(10)
        for position in (QueuePosition(0, era=1), QueuePosition(0, incarnation=1)):
            run.positions = {QUEUE: position}
            run.write(10)
        other = case.opened(uid="other").start()
        assert other.positions == {}
        other.write(10)
        assert len(case.rows("offset")) == 40

    def test_a_deleted_connector_leaves_its_rows_and_no_positions(self, case: TableCase) -> None:
        """Those of others stay."""
        config = parse(case.sink.options, case.options())
        case.sink.deleted(config, "uid")
        case.opened().start().write(10)
        case.opened(uid="other").start().write(5, OTHER)
        case.sink.deleted(config, "uid")
        epoch, deadline = 2, time.monotonic() + 60
        while case.opened(epoch=epoch).start().positions:
            assert time.monotonic() < deadline, "the positions are still there"
            epoch += 1
        assert case.opened(uid="other", epoch=2).start().positions == {OTHER: QueuePosition(5)}
        assert len(case.rows("offset")) == 15

    def test_no_record_goes_into_a_table_of_positions_whatever_names_it(self, case: TableCase) -> None:
        """They would be read as positions."""
        if all(each.key != POSITIONS_TABLE.key for each in case.sink.options):
            pytest.skip("it has no such table")
        case.opened().start().write_values([{"id": 1, "name": "a"}], ONE)
        other = case.opened(case.options(table=POSITIONS_TABLE.default or "", positions_table="others")).start()
        (reason,) = other.refused([{"id": 2, "name": "b"}], ONE).values()
        assert "is a table of positions" in reason

    def test_the_last_row_of_each_key_stays(self, case: TableCase) -> None:
        """Within a batch, within one of its parts, and of batches."""
        run = case.opened(case.upserting()).start()
        run.write_values([_one(1, "a"), _one(2, "b"), _one(1, "c")], ONE)
        run.write_values([_one(2, "d"), _one(3, "e"), _one(3, "f")], ONE)
        assert case.rows("id", "name") == [[1, "c"], [2, "d"], [3, "f"]]
        begin = run.positions[QUEUE].until
        parts = [run.stage(SinkBatch(QUEUE, "orders", [_one(1, name)], [begin + at], schema=ONE)) for at, name in enumerate("xyz")]
        run.task.commit(parts, run.commit_of(begin + 3))
        assert case.rows("id", "name") == [[1, "z"], [2, "d"], [3, "f"]]

    def test_changes_do_what_they_say_or_are_bad_records(self, case: TableCase) -> None:
        """Change envelopes."""
        run = case.opened(case.options() if case.upserts is None else case.upserting()).start()
        changes = [_change("c", after=_one(1, "a")), _change("c", after=_one(2, "b")), _change("d", before=_one(1, "a"))]
        changes += [_change("c", after=_one(3, "c")), _change("t")]
        refused = run.refused(changes, _CHANGE)
        assert "truncates the table" in refused[4]
        assert sorted(refused) == ([4] if case.deletes else [2, 4])
        assert case.rows("id", "name") == [[1, "a"], [2, "b"], [3, "c"]][case.deletes :]

    def test_a_table_gets_columns_where_that_is_wanted_and_nowhere_else(self, case: TableCase) -> None:
        """Before the first row that has them; rows without them are null there."""
        wider = struct([("id", _INT), ("größe", _TEXT)])
        run = case.opened(case.options(schema_evolution="evolve")).start()
        for value, schema in (
            ({"id": 1}, struct([("id", _INT)])),
            ({"id": 2, "größe": "x"}, wider),
            ({"id": 3}, struct([("id", _INT)])),
        ):
            run.write_values([value], schema)
        assert case.rows("id", "größe") == [[1, None], [2, "x"], [3, None]]
        more = [{"id": 4, "größe": "y", "z": 1}], struct([("id", _INT), ("größe", _TEXT), ("z", _INT)])
        failing = case.opened(case.options(schema_evolution="fail"), epoch=2).start()
        with pytest.raises(PermanentError, match=r"z .*is no column"):
            failing.write_values(*more)
        case.opened(case.options(schema_evolution="ignore"), epoch=3).start().write_values(*more)
        assert case.rows("id", "größe")[3:] == [[4, "y"]]

    def test_a_table_that_is_not_there_is_made_only_where_that_is_wanted(self, case: TableCase) -> None:
        """It is told before the sink runs, too."""
        options = case.options(table_create="false")
        (problem,) = case.sink.check(parse(case.sink.options, options))
        assert "is no table of" in problem.reason
        with pytest.raises(PermanentError, match=r"there is no table rows\. Make it, or set table\.create=true"):
            case.opened(options).start().write_values([_one(1, "a")], ONE)

    def test_each_record_that_is_no_row_is_refused_alone(self, case: TableCase) -> None:
        """They are found among the others, which are written as they would be without them."""
        told = case.opened().start().refused(['{"id": 1}', "2"], None)
        assert "there is no table rows to say what it is: set columns" in told[0]
        run = case.opened(case.options(columns="id:int32,name"), epoch=2).start()
        good = [json.dumps(_one(number, f"n{number}")) for number in range(60)]
        values = [*good[:17], "no JSON", *good[17:40], '{"id": "x"}', "[1]", *good[40:], '{"id": 99999999999}']
        assert sorted(run.refused(values, None)) == [17, 41, 42, 63]
        wanted = [[number, f"n{number}"] for number in range(60)]
        assert case.rows("id", "name") == sorted(wanted, key=repr)
        plain = case.opened(epoch=3).start()
        assert sorted(plain.refused(['{"id": 61, "more": 1}', "[1]", '{"id": "x"}', '{"id": 62, "name": "b"}'], None)) == [1, 2]
        assert case.rows("id", "name") == sorted([*wanted, [61, None], [62, "b"]], key=repr)
        assert "the value is no row" in plain.refused([7], _INT)[0]

    def test_each_topic_has_its_table(self, case: TableCase) -> None:
        """It is made for the first record of the topic."""
        run = case.opened(case.options(table="${topic}")).start()
        for topic in ("a_b", "c"):
            queue = f"{topic}/b/0"
            run.write(1, queue, SinkBatch(queue, topic, [_one(1, topic)], range(1), schema=ONE))
        assert [case.rows("id", "name", table=topic) for topic in ("a_b", "c")] == [[[1, "a_b"]], [[1, "c"]]]

    def test_what_was_written_is_equal_when_it_is_read_back(self, case: TableCase) -> None:
        """Of every type: what a table rounds, or keeps as another type, is no difference."""
        tables = self._tables(case)
        kinds = [replace(schema, optional=schema.type is not Type.ARRAY) for schema, _ in TYPES]
        schema = struct([("id", _LONG), *((f"c{number}", kind) for number, kind in enumerate(kinds))])
        whole = {f"c{number}": value for number, (_, value) in enumerate(TYPES)}
        nulls: dict[str, object] = {f"c{number}": None if kind.optional else [] for number, kind in enumerate(kinds)}
        rows = [{"id": 1, **whole}, {"id": 2, **nulls}]
        case.opened().start().write_values(rows, schema)
        with tables.open("rows") as kept:
            (read,) = kept.behind(None, ["id"])
            mine, _ = kept.kept(read.values, kept.columns)
            given, wrong = kept.kept(to_array(rows, schema), schema)
            other, _ = kept.kept(to_array([rows[1], rows[0]], schema), schema)
        assert (wrong, read.wrong) == ({}, {})
        for name in given.column_names:
            assert [_meaning(each) for each in mine[name].to_pylist()] == [_meaning(each) for each in given[name].to_pylist()], name
            assert mine[name].type == given[name].type, name
            assert not mine[name].equals(other[name]), name

    @pytest.mark.parametrize("kinds", KEYS)
    def test_rows_are_read_back_in_the_order_of_their_keys(
        self, case: TableCase, kinds: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Page by page, each row once, whatever columns are called."""
        monkeypatch.setattr(verification, "_FIRST", 7)
        monkeypatch.setattr(verification, "_MOST", 7)
        tables, (first, second), names = self._tables(case), KEYS[kinds], ('from "a b"', "id")
        schema = struct([(names[0], first[0]), (names[1], second[0])])
        rows = [dict(zip(names, values, strict=True)) for values in product(first[1], second[1])]
        case.opened().start().write_values(rows, schema)
        keys = sorted(keys_of(to_spark(to_array(rows, schema)), names))
        with tables.open("rows") as kept:
            if any(
                order_of(field.schema) != order_of(part[0]) for field, part in zip(kept.columns.fields, KEYS[kinds], strict=True)
            ):
                pytest.skip("it has no such type, and such keys are refused")
            parts = [_keys(part, names) for part in kept.behind(None, names)]
            assert len(parts) > 2
            assert [key for part in parts for key in part] == keys
            assert [key for part in kept.behind(keys[9], names) for key in _keys(part, names)] == keys[10:]
            assert set(_keys(kept.of(keys[1::2], names), names)) >= set(keys[1::2])
            assert len(kept.of([], names).values) == 0
        with pytest.raises(PermanentError, match="others is no table of"):
            tables.open("others")

    @staticmethod
    def _tables(case: TableCase) -> SinkTables:
        tables = case.sink.tables(parse(case.sink.options, case.options()))
        if tables is None:
            pytest.skip("its tables are not read back")
        return tables


def _keys(read: ReadRows, names: Sequence[str]) -> list[Key]:
    return keys_of(to_spark(read.values), names)


def _one(number: int, name: str) -> dict[str, object]:
    return {"id": number, "name": name}


def _change(op: str, before: object = None, after: object = None) -> dict[str, object]:
    return {"op": op, "before": before, "after": after}


def _meaning(value: object) -> object:
    """JSON by what it says."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value
