import json
import os
import shutil
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from connectors.delta_source import DeltaSource
from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position, Rejected
from rocketconnect_sdk.source import Edge
from tests.connectors.delta_source.tables import Reader, ids, numbered, theirs, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def log_of(path: Path, version: int) -> Path:
    return path / "_delta_log" / f"{version:020}.json"


def vacuum(path: Path) -> None:
    DeltaTable(str(path)).vacuum(0, dry_run=False, enforce_retention_duration=False)


def test_rows_that_are_added_come_once(path: Path) -> None:
    write(path, numbered(1, 2))
    reader = Reader(path)
    assert ids(reader.run()) == [1, 2]
    assert reader.run() == []
    write(path, numbered(3))
    write(path, numbered(4, 5))
    assert reader.run() == numbered(3, 4, 5)


def test_a_start_at_the_newest_version_leaves_out_what_is_there(path: Path) -> None:
    write(path, numbered(1, 2))
    reader = Reader(path, start="latest")
    write(path, numbered(3))
    assert reader.run() == numbered(3)


def test_a_plan_that_is_made_anew_before_anything_came_does_not_move_the_start(path: Path) -> None:
    write(path, numbered(1))
    reader = Reader(path, start="latest")
    assert reader.run() == []
    write(path, numbered(2))
    reader.plan()
    assert reader.run() == numbered(2)


def test_a_start_at_a_time_begins_with_the_first_version_that_is_not_older(path: Path) -> None:
    for number in range(4):
        write(path, numbered(number))
    times = {commit["version"]: commit["timestamp"] for commit in DeltaTable(str(path)).history()}
    moment = datetime.fromtimestamp(times[2] / 1000, UTC).isoformat()
    assert Reader(path, start=moment).run() == numbered(2, 3)
    assert Reader(path, start="2999-01-01").run() == []


def test_a_compaction_between_two_looks_brings_no_rows(path: Path) -> None:
    write(path, numbered(1))
    write(path, numbered(2))
    reader = Reader(path)
    assert ids(reader.run()) == [1, 2]
    DeltaTable(str(path)).optimize.compact()
    write(path, numbered(3))
    vacuum(path)
    assert reader.run() == numbered(3)


def test_a_column_that_is_added_is_null_before_and_there_behind(path: Path) -> None:
    write(path, numbered(1))
    reader = Reader(path, start="0")
    assert reader.run() == numbered(1)
    write(path, [{"id": 2, "text": "row 2", "more": 0.5}], schema_mode="merge")
    write(path, numbered(3), schema_mode="merge")
    assert reader.run() == [{"id": 2, "text": "row 2", "more": 0.5}, {"id": 3, "text": "row 3", "more": None}]
    assert Reader(path).run(columns=False)[0].keys() == {"id", "text", "more"}


def test_versions_have_the_columns_that_the_table_had_at_them(path: Path) -> None:
    write(path, numbered(1))
    write(path, [{"id": 2, "text": "row 2", "more": [{"a": 1}]}], schema_mode="merge")
    reader = Reader(path, start="0")
    assert [sorted(row) for row in reader.run()] == [["id", "text"], ["id", "more", "text"]]


@pytest.mark.parametrize("change", ["delete", "update", "overwrite"])
def test_rows_that_change_end_the_reading_unless_they_are_to_be_passed(
    path: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(path, numbered(1, 2))
    strict, lax = Reader(path), Reader(path, on_rewrite="skip")
    assert ids(strict.run()) == ids(lax.run()) == [1, 2]
    write(path, numbered(3))
    if change == "delete":
        DeltaTable(str(path)).delete("id = 1")
    elif change == "update":
        DeltaTable(str(path)).update({"text": "'other'"}, predicate="id = 1")
    else:
        write(path, numbered(9), mode="overwrite")
    write(path, numbered(4))
    with pytest.raises(PermanentError, match=r"version 2 does more than to add rows: \w+ removed \d files?.*on\.rewrite=skip"):
        strict.run()
    assert strict.seen[2:] == numbered(3)
    assert lax.run() == numbered(3, 4)
    assert "version 2 does more than to add rows" in caplog.text


def test_a_file_that_was_vacuumed_is_a_gap_with_its_rows(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(path, numbered(1))
    strict, lax = Reader(path), Reader(path, gaps="skip")
    assert strict.run() == lax.run() == numbered(1)
    write(path, numbered(2, 3))
    DeltaTable(str(path)).optimize.compact()
    vacuum(path)
    write(path, numbered(4))
    with pytest.raises(PermanentError, match=r"of version 1 is not there any more.* rows 1 to 2 are lost; set on\.gap=skip"):
        strict.run()
    assert lax.run() == numbered(4)
    assert "rows 1 to 2 are lost; skipped" in caplog.text


def test_commits_that_were_removed_from_the_log_are_a_gap_with_its_versions(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(path, numbered(1))
    strict, lax = Reader(path), Reader(path, gaps="skip")
    assert strict.run() == lax.run() == numbered(1)
    for number in range(2, 6):
        write(path, numbered(number))
    write(path, [{"id": 6, "text": "row 6", "more": 1}], schema_mode="merge")
    DeltaTable(str(path)).create_checkpoint()
    for version in range(4):
        log_of(path, version).unlink()
    write(path, numbered(7), schema_mode="merge")
    with pytest.raises(PermanentError, match=r"the versions 1 to 3 brought .* are lost; set on\.gap=skip"):
        strict.run()
    # Version 4 is there, but nothing says what its columns are.
    assert lax.run() == [{"id": 6, "text": "row 6", "more": 1}, {"id": 7, "text": "row 7", "more": None}]
    assert "the versions 1 to 3 brought" in caplog.text
    assert "version 4 brought" in caplog.text


def test_versions_in_front_of_the_first_checkpoint_are_read_where_their_columns_are_known(path: Path) -> None:
    for number in range(6):
        write(path, numbered(number))
    reader = Reader(path)
    reader.run()
    DeltaTable(str(path)).create_checkpoint()
    (partition,) = reader.positions
    for version in range(3):
        log_of(path, version).unlink()
    reader.positions[partition] = Position((3, 0, 0, 0))
    assert reader.run() == numbered(3, 4, 5)


def test_a_table_that_is_made_anew_is_told_at_the_start_and_while_it_is_read(path: Path) -> None:
    for number in range(3):
        write(path, numbered(number))
    reader = Reader(path, poll_interval="0s")
    task = reader.source.open(reader.config, reader.share, TaskContext())
    task.start({})
    positions = {batch.partition: Position(tuple(batch.end or batch.offsets[-1])) for batch in batches_of(task.poll())}
    shutil.rmtree(path)
    for number in range(8):
        write(path, numbered(100 + number))
    with pytest.raises(
        PermanentError, match=r"was read up to version \d, and the table that is there now is .* Reset the connector"
    ):
        for _ in range(1000):
            task.poll()
    task.close()
    reader.positions = positions
    with pytest.raises(PermanentError, match="made anew"):
        reader.run()
    reader.positions = {}
    asked: list[bool] = []
    task = reader.source.open(reader.config, reader.share, TaskContext(replan=lambda: asked.append(True)))
    with pytest.raises(RetriableError, match="a new plan is made"):
        task.start({})
    assert asked


def test_a_table_that_is_replaced_in_its_own_log_is_told(path: Path) -> None:
    write(path, numbered(1))
    reader = Reader(path)
    reader.run()
    write(path, numbered(2))
    text = json.loads(log_of(path, 0).read_text().splitlines()[2])
    text["metaData"]["id"] = "another"
    log_of(path, 2).write_text(json.dumps(text) + "\n")
    with pytest.raises(PermanentError, match=r"another"):
        reader.run()
        reader.run()


def test_a_position_of_other_splits_is_told(path: Path) -> None:
    write(path, numbered(1))
    reader = Reader(path)
    reader.run()
    other = Reader(path, splits="4")
    other.positions = reader.positions
    with pytest.raises(PermanentError, match=r"of splits=1, and splits is 4 now"):
        other.run()


def test_partitions_have_their_values_and_types(path: Path) -> None:
    types = pa.schema(
        [
            ("id", pa.int64()),
            ("text", pa.string()),
            ("day", pa.date32()),
            ("price", pa.decimal128(9, 2)),
            ("on", pa.bool_()),
            ("n", pa.int32()),
        ]
    )
    rows = [
        {"id": 1, "text": "a/b = 50%", "day": date(2024, 2, 29), "price": Decimal("1.50"), "on": True, "n": -3},
        {"id": 2, "text": "ü x", "day": None, "price": None, "on": None, "n": None},
    ]
    write(path, rows, types, partition_by=["text", "day", "price", "on", "n"])
    assert sorted(Reader(path).run(), key=str) == sorted(rows, key=str) == sorted(theirs(path), key=str)
    assert sorted(Reader(path, start="0").run(columns=False), key=str) == sorted(rows, key=str)


def test_every_type_comes_as_another_reader_has_it(path: Path) -> None:
    kinds: dict[str, tuple[pa.DataType, object]] = {
        "id": (pa.int64(), 1),
        "byte": (pa.int8(), 1),
        "short": (pa.int16(), -2),
        "int": (pa.int32(), 3),
        "float": (pa.float32(), 0.5),
        "double": (pa.float64(), 1e300),
        "yes": (pa.bool_(), True),
        "blob": (pa.binary(), b"\0\xff"),
        "day": (pa.date32(), date(1, 1, 1)),
        "at": (pa.timestamp("us", "UTC"), datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)),
        "clock": (pa.timestamp("us"), datetime(1969, 7, 20, 20, 17)),  # noqa: DTZ001  # it has no zone
        "price": (pa.decimal128(20, 2), Decimal("-1.05")),
        "list": (pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string())])), [{"a": 1, "b": None}]),
        "map": (pa.map_(pa.string(), pa.int64()), [("k", 1)]),
        "deep": (pa.struct([("x", pa.struct([("y", pa.list_(pa.string()))]))]), {"x": {"y": ["z", None]}}),
    }
    row = {name: value for name, (_, value) in kinds.items()}
    types = pa.schema([(name, kind) for name, (kind, _) in kinds.items()])
    write(path, [row, {"id": 2}], types)
    for columns in (True, False):
        (found, nulls) = Reader(path).run(columns=columns)
        assert found == {**row, "map": {"k": 1}}
        assert nulls == {**dict.fromkeys(row), "id": 2}


def test_a_time_that_python_cannot_hold_is_a_bad_record_and_not_another_time(path: Path) -> None:
    write(path, [{"id": 1}])
    (file,) = path.glob("*.parquet")
    write(path, [{"id": 2, "at": datetime(2024, 1, 1, tzinfo=UTC)}], schema_mode="merge")
    newest = max(path.glob("*.parquet"), key=os.path.getmtime)
    table = pa.table({"id": [2, 3], "at": pa.array([0, 2**62], pa.timestamp("us", "UTC"))})
    assert newest != file
    pq.write_table(table, newest)
    _, second, third = Reader(path, start="0").run()
    assert second == {"id": 2, "at": datetime(1970, 1, 1, tzinfo=UTC)}
    assert isinstance(third, Rejected)


def test_times_of_96_bits_are_not_limited_to_nanoseconds(path: Path) -> None:
    write(path, [{"at": datetime(3000, 1, 1, tzinfo=UTC)}])
    (file,) = path.glob("*.parquet")
    table = pq.read_table(file)
    pq.write_table(pa.table({"at": table["at"].cast(pa.timestamp("us"))}), file, use_deprecated_int96_timestamps=True)
    assert Reader(path).run() == [{"at": datetime(3000, 1, 1, tzinfo=UTC)}]


def test_a_file_that_is_not_what_the_table_says_is_told_and_not_read_wrong(path: Path) -> None:
    write(path, numbered(1))
    (file,) = path.glob("*.parquet")
    pq.write_table(pa.table({"id": ["1"], "text": ["x"]}), file)
    with pytest.raises(PermanentError, match=r"id is string in the file and int64 in the table"):
        Reader(path).run()
    file.write_bytes(b"PAR1 nonsense")
    with pytest.raises(PermanentError, match="no whole file of Parquet"):
        Reader(path).run()


def changed(path: Path, **metadata: object) -> None:
    """Writes the first commit anew, with other metadata."""
    lines = [json.loads(line) for line in log_of(path, 0).read_text().splitlines()]
    for line in lines:
        for action, change in metadata.items():
            if action in line:
                line[action].update(change)
    log_of(path, 0).write_text("".join(json.dumps(line) + "\n" for line in lines))


def problems(path: Path, **options: str) -> list[str]:
    config = {
        "connector.class": "delta_source",
        "path": str(path),
        "topic": "t",
        **{key.replace("_", "."): value for key, value in options.items()},
    }
    return [str(problem) for problem in DeltaSource().check(parse_source(DeltaSource(), config))]


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"protocol": {"minReaderVersion": 4}}, "needs readers of version 4"),
        ({"protocol": {"minReaderVersion": 3, "readerFeatures": ["variantType"]}}, "variantType"),
        ({"metaData": {"configuration": {"delta.columnMapping.mode": "name"}}}, "under other names in its files"),
        ({"metaData": {"schemaString": '{"fields": [{"name": "v", "type": "variant", "nullable": true}]}'}}, "v is variant"),
    ],
)
def test_a_table_that_cannot_be_read_right_is_refused(path: Path, metadata: dict[str, object], told: str) -> None:
    write(path, numbered(1))
    changed(path, **metadata)
    assert [told in problem for problem in problems(path)] == [True]


def test_rows_that_a_deletion_vector_deletes_are_not_read(path: Path) -> None:
    write(path, numbered(1))
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40, "cardinality": 6}
    changed(path, add={"deletionVector": vector})
    assert ["deletion vector" in problem for problem in problems(path)] == [True]
    assert problems(path, start="latest") == []
    with pytest.raises(PermanentError, match="deletion vector"):
        Reader(path).run()


def test_what_is_wrong_with_a_configuration_is_told(path: Path) -> None:
    assert "there is no Delta table" in problems(path)[0]
    assert "relative path" in problems(Path("table"))[0]
    write(path, numbered(1))
    assert problems(path, key_columns="id,other") == [
        "key.columns: is none of the columns (given: 'other'). Name some of id, text."
    ]
    assert "the log has 0 to 0" in problems(path, start="7")[0]
    with pytest.raises(SystemAway):
        Reader(path / "other")


def test_positions_are_places_in_the_table(path: Path) -> None:
    write(path, numbered(1))
    write(path, numbered(2))
    reader = Reader(path)
    partition = str(DeltaTable(str(path)).metadata().id)

    def wrong(offset: tuple[int, ...], name: str = partition) -> list[str]:
        return [problem.reason for problem in reader.source.check_position(reader.config, name, Position(offset))]

    assert wrong((2, 0, 0, 0)) == wrong((1, 1, 0, 0)) == wrong((0, 0, 0, 1)) == []
    assert wrong((3, 0, 0, 0)) == ["is a version that is not there: the log has 0 to 1"]
    assert wrong((1,)) == ["is no place in the history of a table"]
    assert wrong((1, 0, 0, 0), "other") == ["is no part of the table"]
    later = reader.source.find_position(reader.config, partition, 9e9)
    assert later == reader.source.find_position(reader.config, partition, Edge.LATEST) == Position((2, 0, 0, 0))


def test_what_is_left_is_told_in_bytes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where a poll does not come to the end of the table in its time, as beside other work, what is left is not known.
    monkeypatch.setattr("connectors.lakes.reading.task._LOOK_SECONDS", 60)
    for number in range(3):
        write(path, numbered(*range(number * 100, number * 100 + 100)))
    size = sum(file.stat().st_size for file in path.glob("*.parquet"))
    reader = Reader(path, start="0")
    task = reader.source.open(reader.config, reader.share, TaskContext(batch_records=50))
    task.start({})
    task.poll()
    first = task.remaining()
    assert first is not None
    assert size * 0.7 < first < size
    while any(map(len, batches_of(task.poll()))):
        pass
    assert task.remaining() == 0
    task.close()


def test_a_sample_has_the_rows_and_their_schema(path: Path) -> None:
    write(path, numbered(1))
    reader = Reader(path, key_columns="id")
    batch = reader.source.sample(reader.config)
    assert batch is not None
    assert batch.schema is not None
    assert (list(batch.values), list(batch.keys or ())) == (numbered(1), [{"id": 1}])
    assert [field.name for field in batch.schema.fields] == ["id", "text"]


def test_the_time_of_a_record_is_that_of_its_commit(path: Path) -> None:
    write(path, numbered(1))
    (commit,) = DeltaTable(str(path)).history()
    reader = Reader(path, start="0")
    task = reader.source.open(reader.config, reader.share, TaskContext())
    task.start({})
    (batch,) = batches_of(task.poll())
    assert batch.timestamps_ms == [commit["timestamp"]]
    task.close()


def test_many_versions_without_rows_are_passed_in_several_polls(path: Path) -> None:
    write(path, numbered(1))
    info = {"commitInfo": {"timestamp": 0, "operation": "SET TBLPROPERTIES"}}
    for version in range(1, 250):
        log_of(path, version).write_text(json.dumps(info))
    reader = Reader(path, start="1")
    task = reader.source.open(reader.config, reader.share, TaskContext())
    task.start({})
    seen = []
    while not task.caught_up:
        assert not any(map(len, batches_of(task.poll())))
        seen.append(task.idle_seconds < 0.1)
    assert seen == [True, True, False]
    write(path, numbered(2))
    task.close()
    reader.positions = {str(DeltaTable(str(path)).metadata().id): Position((250, 0, 0, 0))}
    assert reader.run() == numbered(2)


def test_a_part_that_is_ahead_of_others_is_not_moved_back(path: Path) -> None:
    for number in range(3):
        write(path, [{"id": 2 * number, "part": 0}, {"id": 2 * number + 1, "part": 1}], partition_by=["part"])
    table = str(DeltaTable(str(path)).metadata().id)
    reader = Reader(path, start="0", splits="2")
    everything = reader.run()
    reader.positions = {f"{table} 0/2": Position((0, 0, 0, 0)), f"{table} 1/2": Position((2, 0, 0, 0))}
    again = reader.run()
    assert len(everything) == 6
    assert len(again) == 4
    assert reader.positions == {f"{table} {number}/2": Position((3, 0, 0, 0)) for number in (0, 1)}


def test_a_file_outside_of_the_folders_that_may_be_read_is_not_read(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, numbered(1))
    (file,) = path.glob("*.parquet")
    elsewhere = tmp_path / "elsewhere.parquet"
    shutil.move(file, elsewhere)
    file.symlink_to(elsewhere)
    monkeypatch.setenv("ROCKETCONNECT_READ_ROOTS", str(path))
    with pytest.raises(PermanentError, match="is not where this executor lets connectors read files"):
        Reader(path).run()


def test_a_time_before_the_log_goes_back_is_refused(path: Path) -> None:
    for number in range(3):
        write(path, numbered(number))
    DeltaTable(str(path)).create_checkpoint()
    for version in (0, 1):
        log_of(path, version).unlink()
    assert "goes back to version 2 only" in problems(path, start="2001-01-01")[0]
