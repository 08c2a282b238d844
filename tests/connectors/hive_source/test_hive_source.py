"""With a metastore of Hive 2.3, and files that are written by hand."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connectors.hive import thrift
from connectors.hive.metastore import HiveTable, new_table
from connectors.hive.thrift import STRUCT, Struct, Value
from connectors.hive_source import HiveSource
from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.permissions.roots import READ_ROOTS
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position
from rocketconnect_sdk.source import Edge, SourceTask
from tests import free_ports
from tests.connectors.hive_sink.table import Table
from tests.connectors.hive_source.tables import BY_DAY, ID, HandMade, config_of, ids, opened, options, problems
from tests.connectors.object_store_source.gone_clock import HOUR, GoneClock
from tests.connectors.object_store_source.objects import packed, read
from tests.servers.objects.s3 import S3, SECRET

pytestmark = pytest.mark.spark


class Reading:
    """A task that is started again and again, with the positions of the one before.

    Args:
        table: That is read.
        more: Options.
    """

    def __init__(self, table: Table, **more: str) -> None:
        self._options = options(table, **more)
        self.positions: dict[str, Position] = {}
        self._task: SourceTask | None = None

    def more(self, looks: int = 1) -> list[Any]:
        """The values that come until nothing does, in the order of their ids."""
        if self._task is None:
            self._task = opened(self._options)
            self._task.start(dict(self.positions))
        found = [value for _ in range(looks) for value in read(self._task, self.positions)]
        return sorted(found, key=lambda value: int(value["id"]))

    def poll(self) -> list[Any]:
        """The values of one poll, which looks once."""
        assert self._task is not None
        found = batches_of(self._task.poll())
        self.positions |= {batch.partition: Position(batch.end or batch.offsets[-1]) for batch in found}
        return [value for batch in found for value in batch.values]

    def gone(self) -> list[str]:
        """The partitions of files whose positions a look has the runtime forget."""
        assert self._task is not None
        given = [batch for _ in range(5) for batch in batches_of(self._task.poll())]
        return [batch.partition for batch in given if batch.gone]

    def again(self, **more: str) -> "Reading":
        """The same in a new process, with other options."""
        self._options |= {key.replace("_", "."): value for key, value in more.items()}
        self._task = None
        return self


def test_new_partitions_and_new_files_of_known_ones_are_found_and_nothing_is_read_twice(table: Table) -> None:
    made = HandMade(table)
    first = made.part("2026-07-01")
    made.write(first, "a", 1, 2)
    reading = Reading(table)
    assert reading.more() == [{"id": number, "day": date(2026, 7, 1)} for number in (1, 2)]
    made.write(first, "b", 3)
    second = made.part("2026-07-02")
    made.write(second, "a", 4)
    assert [(row["id"], row["day"].day) for row in reading.more()] == [(3, 1), (4, 2)]
    assert reading.again().more() == []
    assert [position.offset for position in reading.positions.values()] == [(2, 1), (1, 1), (1, 1)]


def test_only_files_of_partitions_that_the_metastore_knows_are_read_and_no_hidden_ones(table: Table) -> None:
    made = HandMade(table)
    part = made.part("2026-07-01")
    made.write(part, "a", 1)
    made.write(part, "_b", 2)
    (table.folder / part / "empty").touch()
    (table.folder / part / ".hive-staging_1").mkdir()
    made.write(f"{part}/.hive-staging_1", "c", 3)
    (table.folder / part / "HIVE_UNION_SUBDIR_1").mkdir()
    made.write(f"{part}/HIVE_UNION_SUBDIR_1", "d", 4)
    made.write("day=2026-07-02", "e", 5)
    made.write("", "f", 6)
    assert ids(Reading(table).more()) == [1, 4]


def test_a_pattern_says_which_partitions_are_read(table: Table) -> None:
    made = HandMade(table)
    for number in (1, 2, 3):
        made.write(made.part(f"2026-0{number}-01"), "a", number)
    assert ids(Reading(table, pattern="day=2026-0[13]-*").more()) == [1, 3]


def test_a_partition_is_read_where_the_metastore_says_that_it_is(table: Table, tmp_path: Path) -> None:
    made = HandMade(table)
    inner = made.part("2026-07-01", folder="old/2026")
    made.write("old/2026", "a", 1)
    moved = table.found().partition(["2026-07-02"], "x")
    place: Struct = {**thrift.struct_in(moved, 6), 2: thrift.text(f"file:{tmp_path}/elsewhere")}
    table.metastore.add_partitions(table.found(), [{**moved, 6: Value(STRUCT, place)}])
    made.write(str(tmp_path / "elsewhere"), "b", 2)
    reading = Reading(table)
    assert [(row["id"], row["day"].day) for row in reading.more()] == [(1, 1), (2, 2)]
    assert sorted(name.partition("@")[0] for name in reading.positions) == [f"{inner}:a", "day=2026-07-02:b"]


def test_columns_are_those_of_the_metastore_whatever_files_have(table: Table) -> None:
    columns = [("id", "bigint"), ("total", "decimal(12,2)"), ("parts", "struct<a:int,b:array<struct<c:string>>>"), ("more", "int")]
    made = HandMade(table, columns)
    part = made.part("2026-07-01")
    made.write(part, "a", 1)
    wide = pa.table(
        {
            "More": pa.array([7], pa.int16()),
            "ID": pa.array([2], pa.int32()),
            "other": ["x"],
            "day": ["what a writer left in the file"],
            "total": pa.array([Decimal("1.5")], pa.decimal128(10, 1)),
            "Parts": [{"B": [{"C": "y"}]}],
        }
    )
    made.write_table(part, "b", wide)
    first, second = Reading(table).more()
    assert first == {"id": 1, "total": None, "parts": None, "more": None, "day": date(2026, 7, 1)}
    parts = {"a": None, "b": [{"c": "y"}]}
    assert second == {"id": 2, "total": Decimal("1.50"), "parts": parts, "more": 7, "day": date(2026, 7, 1)}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (pa.table({"id": ["x"]}), "id is string in the file and int64 in the table"),
        (pa.table({"id": [1], "ID": [1]}), "id is in the file twice"),
    ],
)
def test_a_file_that_is_not_what_the_table_says_is_named(table: Table, rows: pa.Table, said: str) -> None:
    made = HandMade(table)
    part = made.part("2026-07-01")
    made.write_table(part, "a", rows)
    with pytest.raises(PermanentError, match=f"{part}/a.*{said}"):
        Reading(table).more()


def test_a_file_that_is_no_parquet_is_named(table: Table) -> None:
    made = HandMade(table)
    part = made.part("2026-07-01")
    made.write(part, "a", 1).write_bytes(b"id\n1\n")
    with pytest.raises(PermanentError, match=f"{part}/a is no whole file of Parquet"):
        Reading(table).more()


def test_columns_that_the_table_gets_while_it_is_read_are_in_the_rows_of_new_files(table: Table) -> None:
    made = HandMade(table)
    part = made.part("2026-07-01")
    made.write(part, "a", 1)
    reading = Reading(table)
    reading.more()
    assert table.metastore.alter(table.found(), [*ID, ("text", "string")])
    made.write_table(part, "b", pa.table({"id": [2], "text": ["new"]}))
    assert reading.more() == [{"id": 2, "text": "new", "day": date(2026, 7, 1)}]


def test_rows_are_columns_where_the_runtime_takes_columns(table: Table) -> None:
    made = HandMade(table)
    made.write(made.part("2026-07-01"), "a", 1, 2)
    task = opened(options(table, key_columns="day,id"), columns=True)
    task.start({})
    (batch,) = batches_of(task.poll())
    assert isinstance(batch.values, Column)
    assert [dict(key) for key in batch.keys or ()] == [{"day": date(2026, 7, 1), "id": number} for number in (1, 2)]  # type: ignore[call-overload]


def overwritten(table: Table) -> tuple[HandMade, str, Reading]:
    """A partition of which two files were read before one was put in their place."""
    made = HandMade(table)
    part = made.part("2026-07-01")
    old = [made.write(part, name, number) for number, name in enumerate("ab")]
    reading = Reading(table)
    assert ids(reading.more()) == [0, 1]
    for path in old:
        path.unlink()
    made.write(part, "c", 10)
    return made, part, reading


@pytest.mark.parametrize("again", [False, True])
def test_a_partition_that_was_rewritten_stops_the_task_also_after_a_restart(table: Table, again: bool) -> None:
    _, part, reading = overwritten(table)
    said = rf"the partition {part} was rewritten: 2 files that were read are there no more \({part}:a@.*Set on.rewrite=read"
    for _ in range(2):
        with pytest.raises(PermanentError, match=said):
            (reading.again() if again else reading).more(looks=2)


def test_a_file_that_was_written_anew_under_its_name_is_a_rewrite(table: Table) -> None:
    made = HandMade(table)
    part = made.part("2026-07-01")
    made.write(part, "a", 1)
    reading = Reading(table)
    reading.more()
    made.write(part, "a", 2)
    with pytest.raises(PermanentError, match="1 file that was read is there no more"):
        reading.more(looks=2)


def test_what_took_the_place_of_files_is_read_where_that_is_wanted(table: Table, caplog: pytest.LogCaptureFixture) -> None:
    made, part, reading = overwritten(table)
    assert ids(reading.again(on_rewrite="read").more()) == [10]
    assert caplog.text.count("was rewritten") == 1
    made.write(part, "d", 11)
    # Once told it is done with, also for who begins anew and would stop.
    assert ids(reading.again(on_rewrite="fail").more()) == [11]


def test_what_took_the_place_of_files_is_passed_where_that_is_wanted_and_later_files_are_read(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    made, part, reading = overwritten(table)
    reading.again(on_rewrite="skip")
    assert reading.more(looks=2) == []
    assert caplog.text.count("was rewritten") == 1
    made.write(part, "d", 11)
    assert ids(reading.more()) == [11]
    made.write(part, "e", 12)
    assert ids(reading.again(on_rewrite="fail").more()) == [12]


def test_what_takes_the_place_of_files_is_passed_also_where_it_comes_late_and_file_by_file(table: Table) -> None:
    made = HandMade(table)
    part = made.part("2026-07-01")
    path = made.write(part, "a", 1)
    reading = Reading(table, on_rewrite="skip")
    reading.more()
    path.unlink()
    assert reading.more(looks=3) == []
    for number, name in enumerate("bcd"):
        made.write(part, name, number)
        assert reading.poll() == []
    assert reading.more() == []
    made.write(part, "e", 9)
    assert ids(reading.more()) == [9]


def test_a_partition_that_is_dropped_is_passed(table: Table) -> None:
    made = HandMade(table)
    for number in (1, 2):
        made.write(made.part(f"2026-07-0{number}"), "a", number)
    reading = Reading(table)
    assert ids(reading.more()) == [1, 2]
    # Some remove the files first.
    for path in (table.folder / "day=2026-07-01").iterdir():
        path.unlink()
    assert reading.more() == []
    made.drop("day=2026-07-01")
    assert reading.more(looks=3) == reading.again().more(looks=3) == []


def test_positions_are_forgotten_of_dropped_partitions_and_of_files_whose_end_was_told_and_of_no_others(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = GoneClock(monkeypatch)
    made = HandMade(table)
    parts = [made.part(f"2026-07-0{number}") for number in (1, 2, 3)]
    paths = [made.write(part, "a", number) for number, part in enumerate(parts)]
    reading = Reading(table, on_rewrite="read")
    assert len(reading.more()) == 3
    made.drop(parts[0])
    made.write(parts[1], "b", 10)
    paths[1].unlink()
    assert ids(reading.more()) == [10]
    # The third one is there, and is not wanted any more.
    reading.again(pattern="day=2026-07-02")
    assert reading.more() == reading.gone() == []
    clock.now += 24 * HOUR
    assert sorted(partition.partition("@")[0] for partition in reading.gone()) == [f"{part}:a" for part in parts[:2]]


def test_a_file_that_goes_while_it_is_read_is_told(table: Table) -> None:
    made = HandMade(table)
    part = made.part("2026-07-01")
    path = made.write(part, "a", *range(10))
    task = opened(options(table), batch=3)
    task.start({})
    assert len(batches_of(task.poll())[0]) == 3
    path.unlink()
    with pytest.raises(PermanentError, match="1 file that was read is there no more"):
        for _ in range(3):
            read(task, {})


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("int", "-7", -7),
        ("decimal(5,2)", "1.5", Decimal("1.50")),
        ("date", "1582-10-04", date(1582, 10, 4)),
        ("boolean", "true", True),
        ("varchar(9)", "a/b:c=50%\"'ü ñ", "a/b:c=50%\"'ü ñ"),
        ("string", "__HIVE_DEFAULT_PARTITION__", None),
        ("int", "__HIVE_DEFAULT_PARTITION__", None),
    ],
)
def test_values_of_partitions_have_their_types(table: Table, kind: str, value: str, expected: object) -> None:
    made = HandMade(table, partitions=[("_load", "string"), ("kind", kind)])
    made.part("x", value, folder="part")
    made.write("part", "a", 1)
    reading = Reading(table)
    assert reading.more() == [{"id": 1, "_load": "x", "kind": expected}]
    assert reading.again().more() == []


def test_a_partition_whose_value_is_none_of_its_type_is_named(table: Table) -> None:
    made = HandMade(table, partitions=[("kind", "int")])
    made.part("many", folder="part")
    made.write("part", "a", 1)
    with pytest.raises(PermanentError, match="the partition kind=many has a kind that is no int32"):
        Reading(table).more()


def test_tasks_share_the_partitions_and_a_table_without_has_one_task(table: Table, tmp_path: Path) -> None:
    made = HandMade(table)
    parts = [made.part(f"2026-07-{day:02}") for day in range(1, 11)]
    for number, part in enumerate(parts):
        for name in "abc":
            made.write(part, name, number)
    plan = HiveSource().plan(config_of(options(table)), 3, {})
    seen = []
    for share in plan.tasks:
        task = opened(options(table), share=share["share"])
        task.start({})
        seen.append({value["id"] for value in read(task, {})})  # type: ignore[index]
    assert sorted(number for numbers in seen for number in numbers) == list(range(10))
    assert all(seen)
    whole = Table(table.uri, f"{table.name}_whole", tmp_path / "whole")
    HandMade(whole, partitions=())
    assert len(HiveSource().plan(config_of(options(whole)), 3, {}).tasks) == 1


def test_some_rows_are_a_sample(table: Table) -> None:
    made = HandMade(table)
    made.write(made.part("2026-07-01"), "a", *range(1000))
    sample = HiveSource().sample(config_of(options(table)))
    assert sample is not None
    assert ids(list(sample.values)) == list(range(100))


def test_positions_can_be_moved_to_a_row_of_a_file(table: Table) -> None:
    made = HandMade(table)
    made.write(made.part("2026-07-01"), "a", 1, 2, 3)
    reading = Reading(table)
    reading.more()
    ((name, _),) = reading.positions.items()
    reading.positions[name] = Position((2, 0))
    assert ids(reading.again().more()) == [3]
    source, config = HiveSource(), config_of(options(table))
    assert list(source.check_position(config, name, Position((2, 0)))) == []
    assert [each.reason for each in source.check_position(config, name, Position((2, 3)))] == ["is no place in a file"]
    assert source.find_position(config, name, Edge.EARLIEST) == Position((0, 0))


def changed(change: Callable[[Struct], Struct]) -> Callable[[Table], None]:
    """Makes a table that is another one."""

    def make(table: Table) -> None:
        raw = new_table("default", table.name, f"file:{table.folder}", ID, BY_DAY).raw
        table.metastore.create(HiveTable(change(raw)))

    return make


def stored(raw: Struct, *fields: tuple[int, str]) -> Struct:
    """The same with other texts in what it says of its files."""
    return {**raw, 7: Value(STRUCT, thrift.struct_in(raw, 7) | {number: thrift.text(value) for number, value in fields})}


def parameters(raw: Struct, **more: str) -> Struct:
    given = {key.replace("__", "."): value for key, value in more.items()}
    return {**raw, 9: thrift.pairs(thrift.pairs_in(raw, 9) | given)}


TEXT = "org.apache.hadoop.mapred.TextInputFormat"
ORC = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda raw: stored(raw, (3, TEXT)), f"files of another form \\({TEXT}\\), and Parquet is read"),
        (lambda raw: stored(raw, (3, ORC)), f"files of another form \\({ORC}\\), and Parquet is read"),
        (lambda raw: {**raw, 12: thrift.text("VIRTUAL_VIEW")}, "it is a VIRTUAL_VIEW, and only tables of files can be read"),
        (lambda raw: parameters(raw, table_type="ICEBERG"), "it is one of iceberg. Use iceberg_source"),
        (lambda raw: parameters(raw, spark__sql__sources__provider="delta"), "it is one of delta. Use delta_source"),
    ],
)
def test_tables_whose_files_are_not_their_rows_are_refused(table: Table, change: Callable[[Struct], Struct], said: str) -> None:
    changed(change)(table)
    ((key, reason, is_warning),) = problems(options(table))
    assert (key, is_warning) == ("table", False)
    with pytest.raises(PermanentError, match=said):
        Reading(table).more()
    assert f"the table default.{table.name} cannot be read" in reason


def test_a_partition_of_another_form_is_named(table: Table) -> None:
    made = HandMade(table)
    name = made.part("2026-07-01")
    other = stored({7: table.found().partition(["2026-07-02"], "day=2026-07-02")[6]}, (3, TEXT))[7]
    table.metastore.add_partitions(table.found(), [{**table.found().partition(["2026-07-02"], "x"), 6: other}])
    with pytest.raises(PermanentError, match="the partition day=2026-07-02 has files of another form"):
        Reading(table).more()
    assert Reading(table, pattern=name).more() == []


def test_what_is_wrong_is_told_before_it_runs(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ((key, reason, is_warning),) = problems(options(table))
    assert (key, is_warning) == ("table", False)
    assert f"there is no table default.{table.name}" in reason
    made = HandMade(table)
    made.write(made.part("2026-07-01"), "a", 1)
    assert problems(options(table)) == []
    ((key, reason, _),) = problems(options(table, key_columns="id,no"))
    assert (key, reason) == ("key.columns", "is none of the columns")
    ((key, reason, is_warning),) = problems(options(table, metastore=f"thrift://127.0.0.1:{free_ports.choose()}"))
    assert (key, is_warning) == ("metastore", True)
    monkeypatch.setenv(READ_ROOTS, str(tmp_path / "allowed"))
    ((key, reason, _),) = problems(options(table))
    assert key == "table"
    assert f"has its files in {table.folder}: is not where this executor lets connectors read" in reason
    with pytest.raises(PermanentError, match="is not where this executor lets connectors read"):
        Reading(table).more()


def test_a_table_that_is_not_there_yet_is_waited_for(table: Table) -> None:
    reading = Reading(table)
    with pytest.raises(SystemAway, match="there is no table"):
        reading.more()
    made = HandMade(table)
    made.write(made.part("2026-07-01"), "a", 1)
    assert ids(reading.more()) == [1]


def test_keys_of_a_bucket_are_asked_for_and_never_shown(table: Table, server: S3, bucket: str) -> None:
    made = HandMade(table, location=f"s3a://{bucket}/shop")
    server.put(bucket, f"shop/{made.part('2026-07-01')}/a", packed([{"id": 1}]))
    given = options(table) | server.options()
    assert problems(given) == []
    without = {key: value for key, value in given.items() if not key.startswith(("access", "secret"))}
    assert {key for key, *_ in problems(without)} == {"access.key.id", "secret.access.key"}
    with pytest.raises(PermanentError, match=r"Set access\.key\.id and secret\.access\.key"):
        read_once(without)
    wrong = problems(given | {"access.key.id": "nobody"})
    assert SECRET not in str(wrong)
    assert ids(read_once(given)) == [1]


def read_once(given: dict[str, str]) -> list[Any]:
    task = opened(given)
    task.start({})
    return list(read(task, {}))


def test_two_sources_of_one_table_read_the_same_however_its_servers_are_listed() -> None:
    def origin(metastore: str, table: str = "orders") -> Origin:
        given = {"connector.class": "hive_source", "topic": "orders", "metastore": metastore, "table": table}
        (found,) = check_connector(given).origins or ()
        return found

    away = free_ports.choose()
    first = origin(f"thrift://127.0.0.1:{away},thrift://localhost:{away}")
    assert first.overlaps(origin(f"thrift://LOCALHOST:{away}/,127.0.0.1:{away}", "Default.Orders"))
    assert not first.overlaps(origin(f"thrift://127.0.0.1:{away},thrift://localhost:{away}", "shop.orders"))
