"""What a query writes, whatever the batches are and whenever its task ends: against one look at all records."""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.jdbc_sink import JdbcSink
from rocketconnect_sdk.configuration.connector_options import sink_options
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.plugins.loader import find
from rocketconnect_sdk.queries.options import QuerySettings
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, Sink, SinkCommit
from rocketconnect_sdk.stages import Stage
from rocketconnect_sdk.transforms.processes.sql import SLICE
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.sink.columnar.engine import ArrowEngine
from services.executor.runtime.sink.decode.part import BadRecord, DecodeSettings, Part
from services.executor.runtime.sink.engines import Ready
from services.executor.runtime.sink.query import engine as engine_module
from services.executor.runtime.sink.query.engine import QueryEngine
from services.executor.runtime.sink.query.start import begun
from services.executor.runtime.sink.query.state import StateFolder

MINUTE = 60_000
COUNTS = "SELECT window_start, id, count(*) AS n, sum(amount)::BIGINT AS total FROM records GROUP BY ALL ORDER BY id"


class InThisProcess:
    """As SqlProcess, without the time that a process takes to start."""

    def __init__(self, query: str, seconds: float, option: str = "") -> None:
        del seconds, option
        self._query = query
        self._tables: Mapping[str, pa.Table] = {}

    def set_tables(self, tables: Mapping[str, pa.Table]) -> None:
        self._tables = tables

    def run(self, table: pa.Table, slices: Sequence[tuple[int, int]] = ()) -> pa.Table:
        found = []
        for number, (start, stop) in enumerate(slices or [(0, len(table))]):
            with duckdb.connect(":memory:") as connection:
                connection.execute("SET TimeZone = 'UTC'")
                for name, other in {**self._tables, "records": table.slice(start, stop - start)}.items():
                    connection.register(name, other)
                try:
                    rows = connection.sql(self._query).to_arrow_table()
                except duckdb.Error as error:
                    raise RecordError(str(error)) from None
            found.append(rows.append_column(SLICE, pa.repeat(pa.scalar(number, pa.int64()), len(rows))) if slices else rows)
        return pa.concat_tables(found, promote_options="permissive")

    def close(self) -> None:
        pass


class Killed(BaseException):
    """The host ends."""


class Sinking:
    """An engine whose target has rows and positions in one transaction."""

    gather_seconds = 0.0
    wanted = DecodeSettings()

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.places: list[tuple[str, int, int | None]] = []
        self.positions: dict[str, QueuePosition] = {}
        self.dies = ""
        self.refuses: Sequence[BadRecord] = ()

    def finish(self, part: Part) -> None:
        pass

    def write(self, parts: Sequence[Part], commit: SinkCommit, ready: Ready) -> Sequence[BadRecord]:
        assert parts, "a sink that has a task for each topic would not know which one moves"
        assert commit.rows == sum(len(part.records) for part in parts)
        if self.dies == "before":
            raise Killed
        ready(self.refuses)
        for part in parts:
            self.rows += list(part.records.values)
            rows = [None for _ in part.records.values] if part.records.rows is None else list(part.records.rows)
            self.places += zip([part.queue] * len(rows), part.records.offsets, rows, strict=True)
        self.positions.update(commit.after)
        if self.dies == "after":
            raise Killed
        return self.refuses

    def give_up(self) -> None:
        pass


def query_settings(folder: Path, **config: str) -> QuerySettings:
    plugin = find("table")
    assert isinstance(plugin, Sink)
    given = {
        "connector.class": "table",
        "file": "f",
        "topics": "t",
        **{key.replace("_", "."): value for key, value in config.items()},
    }
    if "query.window" in given or "query.deduplicate.by" in given:
        given["query.state"] = str(folder)
    found = QuerySettings.of(parse(sink_options(plugin), given, known_prefixes=("query.tables.",)))
    assert found is not None
    return found


class Task:
    """A sink task with a query over queues in memory."""

    def __init__(self, folder: Path, queues: Mapping[str, Sequence[object]], sink: Sinking, query: QuerySettings) -> None:
        self.folder = folder
        self.queues = queues
        self.sink = sink
        self.query = query
        self.epoch = 0
        self.late: list[BadRecord] = []
        self.duplicates = 0
        self.tolerant = False
        self.moved = False
        self.bad: list[BadRecord] = []

    def begin(self) -> str:
        self.epoch += 1
        kept = StateFolder(str(self.folder), "uid/0", self.epoch, self.query.meaning) if self.query.keeps else None
        self.engine = QueryEngine(
            self.sink, self.query, kept, leave_out=self.late.append, duplicates=self._count, tolerant=self.tolerant
        )
        self.positions = {queue: self.sink.positions.get(queue, QueuePosition(0)) for queue in self.queues}
        in_sink = {} if self.moved else self.sink.positions
        return self.engine.begin(
            self.positions, begun(self.positions, in_sink), list(self.queues), lambda queue: len(self.queues[queue])
        )

    def _count(self, duplicates: int) -> None:
        self.duplicates += duplicates

    def write(self, counts: Mapping[str, int]) -> None:
        """The next so many records of queues as one batch."""
        parts, after = [], {}
        for queue, count in counts.items():
            start = self.positions[queue].until
            values = self.queues[queue][start : start + count]
            until = start + len(values)
            if until > start:
                times = [value.get("ms", 0) if isinstance(value, dict) else 0 for value in values]
                records = SinkBatch(queue, "t", values, range(start, until), [f"k{n}" for n in range(start, until)], times)
                parts.append(Part(queue, start, until, {}, records, len(records), 0))
                after[queue] = replace(self.positions[queue], until=until, stored_ms=1)
        if not parts:
            return
        before = {queue: self.positions[queue] for queue in after}
        rows = sum(len(part.records) for part in parts)
        token = repr(sorted((queue, position.until) for queue, position in after.items()))
        self.engine.write(parts, SinkCommit("uid", 0, self.epoch, before, after, rows, token), self.bad.extend)
        self.positions.update(after)

    def finish(self) -> None:
        self.write({queue: len(self.queues[queue]) for queue in self.queues})


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch, plugins: None) -> None:
    monkeypatch.setattr(engine_module, "SqlProcess", InThisProcess)


def record(ms: int, key: str = "a", amount: int = 1) -> dict[str, object]:
    return {"ms": ms, "id": key, "amount": amount}


def expected_windows(
    queues: Mapping[str, Sequence[Any]], size: int, slide: int, lateness: int
) -> "tuple[Counter[tuple[int, str, int, int]], int]":
    """One look at all records: of each queue by itself it is told which are late; what all watermarks have passed is written."""
    groups: dict[tuple[int, str], list[int]] = {}
    late = 0
    newest: dict[str, int] = {}
    for queue, values in queues.items():
        mark: int | None = None
        for value in values:
            starts = [
                start for start in range(-2 * size // slide * slide, value["ms"] + 1, slide) if start <= value["ms"] < start + size
            ]
            fitting = [start for start in starts if mark is None or start + size > mark]
            late += not fitting
            for start in fitting:
                groups.setdefault((start, value["id"]), []).append(value["amount"])
            mark = value["ms"] - lateness if mark is None else max(mark, value["ms"] - lateness)
        assert mark is not None
        newest[queue] = mark
    done = min(newest.values())
    return Counter((start, key, len(some), sum(some)) for (start, key), some in groups.items() if start + size <= done), late


VALUES = st.lists(st.builds(record, st.integers(0, 6 * MINUTE), st.sampled_from("ab"), st.integers(-5, 5)), max_size=12)
STEPS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(["t/b/0", "t/b/1"]), st.integers(1, 6), min_size=1),
        st.sampled_from(["", "", "before", "after"]),
    ),
    max_size=10,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=60)
@given(first=VALUES, second=VALUES, steps=STEPS, slide=st.sampled_from([1, 2]), lateness=st.sampled_from([0, 30_000]))
def test_windows_are_what_one_look_at_all_records_gives_however_batches_are_cut_and_hosts_end(
    tmp_path_factory: pytest.TempPathFactory, first: Any, second: Any, steps: Any, slide: int, lateness: int
) -> None:
    folder = tmp_path_factory.mktemp("state")
    # The last ones close all windows of the others.
    queues = {"t/b/0": [*first, record(20 * MINUTE)], "t/b/1": [*second, record(20 * MINUTE)]}
    query = query_settings(
        folder,
        query=COUNTS,
        query_time="ms",
        query_window="2m",
        query_window_slide=f"{2 // slide}m",
        query_lateness=f"{lateness}ms",
        query_idle="1h",
    )
    task = Task(folder, queues, Sinking(), query)
    task.begin()
    for counts, dies in steps:
        task.sink.dies = dies
        try:
            task.write(counts)
        except Killed:
            task.begin()
    task.sink.dies = ""
    task.finish()
    expected, _ = expected_windows(queues, 2 * MINUTE, 2 * MINUTE // slide, lateness)
    found = Counter((int(row["window_start"].timestamp() * 1000), row["id"], row["n"], row["total"]) for row in task.sink.rows)
    assert found == expected
    assert len(list(folder.iterdir())) >= 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=60)
@given(values=VALUES, steps=STEPS)
def test_each_key_is_written_once_within_the_time_however_batches_are_cut_and_hosts_end(
    tmp_path_factory: pytest.TempPathFactory, values: Any, steps: Any
) -> None:
    folder = tmp_path_factory.mktemp("state")
    queues = {"t/b/0": values}
    query = query_settings(folder, query_deduplicate_by="id", query_deduplicate_within="1m", query_time="ms")
    task = Task(folder, queues, Sinking(), query)
    task.begin()
    for counts, dies in steps:
        task.sink.dies = dies
        try:
            task.write({"t/b/0": counts.get("t/b/0", 1)})
        except Killed:
            task.begin()
    task.sink.dies = ""
    task.finish()
    expected, kept, mark = [], dict[str, int](), -(10**9)
    for value in values:
        known = kept.get(value["id"])
        if known is None or abs(value["ms"] - known) >= MINUTE or known + MINUTE <= mark:
            expected.append(value)
            kept[value["id"]] = max(value["ms"], known if known is not None else value["ms"])
        mark = max(mark, value["ms"])
    assert task.sink.rows == expected


def test_a_record_that_comes_too_late_is_left_out_and_told(tmp_path: Path) -> None:
    queues = {"t/b/0": [record(0), record(5 * MINUTE), record(10), record(10 * MINUTE)]}
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query=COUNTS, query_time="ms", query_window="1m"))
    task.begin()
    task.write({"t/b/0": 2})
    task.finish()
    assert [(row["n"], row["window_start"].minute) for row in task.sink.rows] == [(1, 0), (1, 5)]
    assert [(record.offset, record.failure.message) for record in task.late] == [
        (2, "it is of 1970-01-01 00:00:00.010+00:00, and all of its windows were over when it came (query.lateness)")
    ]


def test_with_tolerance_a_late_record_is_a_bad_one(tmp_path: Path) -> None:
    queues = {"t/b/0": [record(0), record(5 * MINUTE), record(10)]}
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query=COUNTS, query_time="ms", query_window="1m"))
    task.tolerant = True
    task.begin()
    task.finish()
    assert task.late == []
    assert [record.offset for record in task.bad] == [2]


def test_a_queue_with_nothing_to_read_is_not_waited_for_beyond_the_idle_time_and_one_with_something_is(tmp_path: Path) -> None:
    queues: dict[str, list[object]] = {"t/b/0": [record(n * MINUTE) for n in range(6)], "t/b/1": [record(0)], "t/b/2": []}
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query=COUNTS, query_time="ms", query_window="1m"))
    task.begin()
    task.write({"t/b/0": 6})
    assert task.sink.rows == [], "a queue that has something to read is waited for"
    task.write({"t/b/1": 1})
    assert [(row["n"], row["window_start"].minute) for row in task.sink.rows] == [(2, 0), (1, 1), (1, 2), (1, 3), (1, 4)]


def test_a_state_that_is_gone_ends_the_task_with_the_ways_on_and_is_empty_only_when_that_is_said(tmp_path: Path) -> None:
    queues = {"t/b/0": [record(0), record(10), record(2 * MINUTE)]}
    query = query_settings(tmp_path, query=COUNTS, query_time="ms", query_window="1m")
    task = Task(tmp_path, queues, Sinking(), query)
    assert "empty state" in task.begin()
    task.write({"t/b/0": 1})
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(PermanentError, match=r"no state belongs to its positions.*position reset.*query\.state\.lost=empty"):
        task.begin()
    task.query = replace(query, may_be_empty=True)
    assert "goes on with an empty one" in task.begin()
    task.query = query
    assert task.begin() == "", "the option can be taken out again"
    task.finish()
    assert [row["n"] for row in task.sink.rows] == [1]


def test_the_state_of_another_query_is_refused(tmp_path: Path) -> None:
    queues = {"t/b/0": [record(0), record(10)]}
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query=COUNTS, query_time="ms", query_window="1m"))
    task.begin()
    task.write({"t/b/0": 1})
    task.query = query_settings(tmp_path, query=COUNTS, query_time="ms", query_window="2m")
    with pytest.raises(PermanentError, match="of another query"):
        task.begin()


def test_positions_that_were_moved_by_hand_begin_with_an_empty_state(tmp_path: Path) -> None:
    queues = {"t/b/0": [record(0), record(10), record(2 * MINUTE)]}
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query=COUNTS, query_time="ms", query_window="1m"))
    task.begin()
    task.write({"t/b/0": 2})
    task.sink.positions = {"t/b/0": QueuePosition(0, incarnation=1)}
    task.moved = True
    assert "empty state" in task.begin()
    task.finish()
    assert [row["n"] for row in task.sink.rows] == [2]


def test_states_before_what_the_position_service_has_are_removed(tmp_path: Path) -> None:
    queues = {"t/b/0": [record(n) for n in range(10)]}
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query=COUNTS, query_time="ms", query_window="1m"))
    task.begin()
    stored = []
    for _ in range(5):
        task.write({"t/b/0": 2})
        stored.append(dict(task.positions))
    assert len(list(tmp_path.iterdir())) == 5
    task.engine.stored(stored[2])
    assert len(list(tmp_path.iterdir())) == 3
    task.sink.positions = stored[2]
    task.begin()
    assert task.positions["t/b/0"].until == 6


def test_what_a_kill_leaves_behind_half_written_is_removed_at_the_next_start_and_nothing_of_others(tmp_path: Path) -> None:
    queues = {"t/b/0": [record(n) for n in range(10)]}
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query=COUNTS, query_time="ms", query_window="1m"))
    task.begin()
    task.write({"t/b/0": 2})
    (state,) = tmp_path.iterdir()
    owner, epoch, _ = state.stem.split("-")
    half = tmp_path / f"{owner}-{epoch}-{2:020d}.part"
    newer = tmp_path / f"{owner}-{9:020d}-{1:020d}.part"
    others = tmp_path / f"other-{1:020d}-{1:020d}.part"
    for path in (half, newer, others):
        path.write_bytes(b"half")
    task.begin()
    assert set(tmp_path.iterdir()) == {state, newer, others}
    task.write({"t/b/0": 2})


def test_a_state_that_grows_too_large_ends_the_task_before_it_is_written(tmp_path: Path) -> None:
    queues = {"t/b/0": [record(n, "x" * 100) for n in range(2_000)]}
    query = query_settings(tmp_path, query=COUNTS, query_time="ms", query_window="1m", query_state_bytes="64KiB")
    task = Task(tmp_path, queues, Sinking(), query)
    task.begin()
    with pytest.raises(PermanentError, match=r"query\.state\.bytes allows 65,536"):
        task.finish()
    assert not task.sink.positions


def test_each_record_is_joined_and_keeps_its_place_and_key(tmp_path: Path) -> None:
    table = tmp_path / "names.csv"
    table.write_text("id,name\na,Anna\na,Anne\nb,Ben\n")
    queues = {"t/b/0": [record(1, "b"), record(2, "c"), record(3, "a")], "t/b/1": [record(4, "b", 9)]}
    text = "SELECT r.id, n.name, amount FROM records r LEFT JOIN names n USING (id)"
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query=text, query_tables_names=str(table)))
    task.begin()
    task.finish()
    assert task.sink.rows == [
        {"id": "b", "name": "Ben", "amount": 1},
        {"id": "c", "name": None, "amount": 1},
        {"id": "a", "name": "Anna", "amount": 1},
        {"id": "a", "name": "Anne", "amount": 1},
        {"id": "b", "name": "Ben", "amount": 9},
    ]
    assert task.sink.places == [("t/b/0", 0, 0), ("t/b/0", 1, 0), ("t/b/0", 2, 0), ("t/b/0", 2, 1), ("t/b/1", 0, 0)]


def test_a_field_is_read_beside_a_result_of_its_name(tmp_path: Path) -> None:
    queues = {"t/b/0": [{"id": 1, "price": 5, "new": 7}, {"id": 2, "price": 5, "new": 5}, {"id": 3, "price": 1, "new": 0}]}
    text = "SELECT id, r.new AS price FROM records r WHERE r.price <> r.new"
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query=text))
    task.begin()
    task.finish()
    assert task.sink.rows == [{"id": 1, "price": 7}, {"id": 3, "price": 0}]


def test_a_table_is_read_again_when_its_file_changes(tmp_path: Path) -> None:
    table = tmp_path / "names.jsonl"
    table.write_text('{"id": "a", "name": "Anna"}\n')
    queues = {"t/b/0": [record(1), record(2)]}
    text = "SELECT name FROM records JOIN names USING (id)"
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query=text, query_tables_names=str(table)))
    task.begin()
    task.write({"t/b/0": 1})
    table.write_text('{"id": "a", "name": "Antonia"}\n')
    task.finish()
    assert task.sink.rows == [{"name": "Anna"}, {"name": "Antonia"}]


def test_records_that_the_query_fails_for_are_bad_ones_and_the_others_are_written(tmp_path: Path) -> None:
    queues: dict[str, list[object]] = {"t/b/0": [{"ms": 1, "n": "1"}, {"ms": 1, "n": "one"}, {"ms": 1, "n": "3"}]}
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query="SELECT n::INT AS n FROM records"))
    task.begin()
    task.finish()
    assert task.sink.rows == [{"n": 1}, {"n": 3}]
    assert {record.offset for record in task.bad} == {1}
    assert "Could not convert string 'one'" in task.bad[0].failure.message


def test_a_field_whose_values_have_no_common_type_is_text_and_what_has_no_fields_is_bad(tmp_path: Path) -> None:
    values: list[object] = [{"n": 1}, {"n": "two"}, 7, {"n": 3.5}, {"n": None}, {"n": {"a": 1}}, {"n": True}]
    task = Task(tmp_path, {"t/b/0": values}, Sinking(), query_settings(tmp_path, query="SELECT n FROM records"))
    task.begin()
    task.finish()
    assert [row["n"] for row in task.sink.rows] == ["1", "two", "3.5", None, '{"a":1}', "true"]
    assert {each.offset for each in task.bad} == {2}


def test_a_window_takes_records_whose_fields_are_of_other_types_than_those_before(tmp_path: Path) -> None:
    values: list[object] = [{"ms": 1, "n": 1}, {"ms": 2, "n": "2"}, {"ms": "3", "n": 3}, {"ms": 4.0, "n": 4}, {"ms": MINUTE}]
    query = "SELECT sum(n::INT)::BIGINT AS total FROM records"
    task = Task(tmp_path, {"t/b/0": values}, Sinking(), query_settings(tmp_path, query=query, query_time="ms", query_window="1m"))
    task.begin()
    for _ in values:
        task.write({"t/b/0": 1})
    assert task.sink.rows == [{"total": 10}]


def test_a_key_is_one_whatever_type_it_has_in_a_batch(tmp_path: Path) -> None:
    ids = [1, 1.0, "1", 1, 1.5, "1.5", True, "true"]
    values = [{"id": each} for each in ids]
    query = query_settings(tmp_path, query_deduplicate_by="id", query_deduplicate_within="1h")
    task = Task(tmp_path, {"t/b/0": values}, Sinking(), query)
    task.begin()
    for count in (1, 2, 2, 3):
        task.write({"t/b/0": count})
    assert len(task.sink.rows) == 3


def test_a_query_that_fails_without_any_record_ends_the_task(tmp_path: Path) -> None:
    queues = {"t/b/0": [record(1)] * 100}
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query="SELECT no_such(id) AS n FROM records"))
    task.begin()
    with pytest.raises(PermanentError, match="no_such"):
        task.finish()


def test_tombstones_go_on_in_their_order_and_are_in_no_window(tmp_path: Path) -> None:
    queues: dict[str, list[object]] = {"t/b/0": [record(1), None, record(2), None]}
    text = "SELECT id, _key FROM records"
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query=text))
    task.begin()
    task.finish()
    assert task.sink.rows == [{"id": "a"}, None, {"id": "a"}, None]


def test_the_positions_move_where_no_row_stays(tmp_path: Path) -> None:
    task = Task(tmp_path, {"t/b/0": [record(1)]}, Sinking(), query_settings(tmp_path, query="SELECT id FROM records WHERE false"))
    task.begin()
    task.finish()
    assert task.sink.rows == []
    assert task.sink.positions["t/b/0"].until == 1


def test_a_row_of_a_window_that_the_sink_refuses_ends_the_task_with_nothing_committed(tmp_path: Path) -> None:
    queues = {"t/b/0": [record(0), record(5 * MINUTE)]}
    task = Task(tmp_path, queues, Sinking(), query_settings(tmp_path, query=COUNTS, query_time="ms", query_window="1m"))
    task.begin()
    failure = Failure.of_value(Stage.WRITE, RecordError("too long"), b"", Sinking)
    task.sink.refuses = [BadRecord("t/b/0", 1, failure, row=0)]
    with pytest.raises(PermanentError, match="refuses a row of the result of the query: too long"):
        task.finish()
    assert not task.sink.positions


def test_windows_that_are_open_yet_move_the_positions_of_a_sink_of_columns_alone(tmp_path: Path) -> None:
    sink = JdbcSink()
    jdbc = sink.open(parse(sink.options, {"connection.url": f"sqlite:///{tmp_path}/db", "auto.create": "true"}), {}, TaskContext())
    jdbc.start()
    query = query_settings(tmp_path / "state", query=COUNTS, query_time="ms", query_window="2m", query_idle="1h")
    queues = {"t/b/0": [record(0), record(1), record(20 * MINUTE)]}
    target: Any = ArrowEngine(jdbc, jdbc.columns)
    target.positions = {}
    task = Task(tmp_path / "state", queues, target, query)
    task.begin()
    try:
        task.write({"t/b/0": 2})
        assert jdbc.start()["t/b/0"].until == 2
        task.finish()
        assert jdbc.start()["t/b/0"].until == 3
    finally:
        jdbc.close()
    with closing(sqlite3.connect(tmp_path / "db")) as database:
        assert database.execute("SELECT id, n FROM t").fetchall() == [("a", 2)]
