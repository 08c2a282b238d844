"""Changes of rows, as the table keeps them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connectors.delta_source import DeltaSource
from connectors.lakes.reading import changes
from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.conformance.source import read_all
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Position
from tests.connectors.delta_source.tables import Reader, case_of, numbered, rebuilt, theirs, write

FEED = {"delta.enableChangeDataFeed": "true"}
OPTIONS = {"mode": "changes", "key_columns": "id"}


def make(path: Path, *ids: int, **options: Any) -> DeltaTable:
    write(path, numbered(*ids), configuration=FEED, **options)
    return DeltaTable(str(path))


def merge(path: Path, *ids: int, text: str = "merged") -> None:
    """Updates the rows with these ids, and adds those that are not there."""
    rows = pa.Table.from_pylist([{"id": number, "text": text} for number in ids])
    merging = DeltaTable(str(path)).merge(rows, "t.id = s.id", source_alias="s", target_alias="t")
    merging.when_matched_update_all().when_not_matched_insert_all().execute()


def told(values: list[Any]) -> list[tuple[str, Any, Any]]:
    """What happened, and the texts before and after it."""
    return [
        (value["op"], *(value[side] and (value[side]["id"], value[side]["text"]) for side in ("before", "after")))
        for value in values
    ]


class TestChanges(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        table = make(tmp_path / "table", *range(5))
        table.update({"text": "'new'"}, predicate="id % 2 = 0")
        merge(tmp_path / "table", 3, 4, 100)
        DeltaTable(str(tmp_path / "table")).delete("id > 3")
        return case_of(tmp_path / "table", start="0", **OPTIONS)


class TestChangesBehindAllRowsWithTombstones(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        """A position between a deletion and its tombstone is one, too."""
        table = make(tmp_path / "table", *range(4))
        case = case_of(tmp_path / "table", start="0", tombstones="true", **OPTIONS)
        table.delete("id > 1")
        return case


def test_each_kind_of_change_is_told_with_the_rows_before_and_after(tmp_path: Path) -> None:
    path = tmp_path / "table"
    table = make(path, 1, 2, 3)
    reader = Reader(path, **OPTIONS)
    assert sorted(told(reader.run())) == [("r", None, (number, f"row {number}")) for number in (1, 2, 3)]
    table.update({"text": "'new'"}, predicate="id = 2")
    merge(path, 3, 9)
    DeltaTable(str(path)).delete("id = 1")
    assert sorted(told(reader.run()), key=str) == [
        ("c", None, (9, "merged")),
        ("d", (1, "row 1"), None),
        ("u", (2, "row 2"), (2, "new")),
        ("u", (3, "row 3"), (3, "merged")),
    ]
    write(path, numbered(5), mode="overwrite")
    found = told(reader.run())
    assert sorted(found[:-1]) == [("d", (2, "new"), None), ("d", (3, "merged"), None), ("d", (9, "merged"), None)]
    assert found[-1] == ("c", None, (5, "row 5"))
    assert reader.seen[-1]["source"] == {
        "connector": "delta", "name": "test", "db": "", "table": "table", "snapshot": "false", "version": 4,
        "ts_ms": DeltaTable(str(path)).history(1)[0]["timestamp"],
    }  # fmt: skip


def test_a_change_of_a_key_is_a_deletion_and_a_creation(tmp_path: Path) -> None:
    path = tmp_path / "table"
    table = make(path, 1, 2)
    reader = Reader(path, start="1", **OPTIONS)
    table.update({"id": "id + 10"}, predicate="id = 2")
    assert sorted(told(reader.run())) == [("c", None, (12, "row 2")), ("d", (2, "row 2"), None)]


def test_rows_before_updates_that_are_too_many_to_be_held_are_told_by_their_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "table", 1, 2)
    monkeypatch.setattr(changes, "HELD_BYTES", 0)
    reader = Reader(tmp_path / "table", start="1", **OPTIONS)
    table.update({"text": "'new'"}, predicate="id = 2")
    assert told(reader.run()) == [("u", (2, None), (2, "new"))]


def test_rows_alone_have_headers_that_say_what_happened(tmp_path: Path) -> None:
    table = make(tmp_path / "table", 1)
    table.delete("id = 1")
    reader = Reader(tmp_path / "table", start="0", change_form="row", **OPTIONS)
    task = reader.source.open(reader.config, reader.share, TaskContext())
    task.start({})
    batches = list(task.poll())  # type: ignore[arg-type]
    task.close()
    assert [list(batch.values) for batch in batches] == [numbered(1), [None]]
    assert [header for batch in batches for header in batch.headers or ()] == [{"op": "c"}, {"op": "d"}]


def test_a_version_whose_changes_were_not_kept_is_told(tmp_path: Path) -> None:
    path = tmp_path / "table"
    write(path, numbered(1, 2))
    DeltaTable(str(path)).delete("id = 1")
    config = parse_source(
        DeltaSource(), {"connector.class": "delta_source", "topic": "t", "path": str(path), "mode": "changes", "key.columns": "id"}
    )
    assert [problem.key for problem in DeltaSource().check(config)] == ["mode"]
    with pytest.raises(PermanentError, match=r"DELETE removed 1 file.*enableChangeDataFeed was not set"):
        Reader(path, start="0", **OPTIONS).run()
    wrong = {"connector.class": "delta_source", "topic": "t", "path": str(path), "mode": "changes", "splits": "2"}
    assert [problem.key for problem in DeltaSource().check(parse_source(DeltaSource(), wrong))] == ["key.columns", "splits", "mode"]


def test_in_partitions_whose_column_changes_no_row_is_lost(tmp_path: Path) -> None:
    """The rows before and after are in different files then."""
    path = tmp_path / "table"
    rows = [{"id": number, "text": f"{number % 3}"} for number in range(12)]
    write(path, rows, configuration=FEED, partition_by=["text"])
    reader = Reader(path, start="0", **OPTIONS)
    DeltaTable(str(path)).update({"text": "'1'"}, predicate="id < 9")
    DeltaTable(str(path)).delete("text = '1'")
    assert rebuilt(reader.run()) == {row["id"]: row for row in theirs(path)}


STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "update", "merge", "delete", "overwrite", "compact", "read"]), st.integers(0, 6)), max_size=12
)


@given(steps=STEPS, start=st.sampled_from(["0", "earliest"]))
@settings(max_examples=15)
@example(steps=[("merge", 1), ("update", 0), ("delete", 1), ("overwrite", 3), ("compact", 0), ("merge", 2)], start="0")
def test_the_changes_make_the_table_that_another_reader_finds(
    tmp_path_factory: pytest.TempPathFactory, steps: Any, start: str
) -> None:
    path = tmp_path_factory.mktemp("lake") / "table"
    make(path, 0, 1, 2)
    fresh = 100
    reader = Reader(path, start=start, **OPTIONS)
    for step, number in steps:
        table = DeltaTable(str(path))
        if step == "read":
            reader.run()
        elif step == "update":
            table.update({"text": f"'{number}'"}, predicate=f"id % 3 = {number % 3}")
        elif step == "merge":
            merge(path, number, number + 1, fresh, text=str(number))
            fresh += 1
        elif step == "delete":
            table.delete(f"id % 4 = {number}")
        elif step == "compact":
            table.optimize.compact()
        else:
            write(path, numbered(fresh, fresh + 1), mode="append" if step == "add" else "overwrite")
            fresh += 2
    reader.run()
    assert rebuilt(reader.seen) == {row["id"]: row for row in theirs(path)}


def test_read_on_from_any_place_within_an_update_nothing_is_missing_or_doubled(tmp_path: Path) -> None:
    table = make(tmp_path / "table", *range(8))
    table.update({"text": "'new'"}, predicate="id < 6")
    case = case_of(tmp_path / "table", start="1", **OPTIONS)
    ((partition, whole),) = read_all(case)[0].items()
    for row in range(13):
        (found,) = read_all(case, positions={partition: Position((1, 0, 0, row))})
        assert found.get(partition, []) == [seen for seen in whole if seen.offset > (1, 0, 0, row)]
