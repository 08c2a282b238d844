import shutil
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile
from pyiceberg.types import LongType, StringType

from connectors.iceberg_source import IcebergSource
from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.record import Position
from tests.connectors.iceberg_source.tables import Lake, Reader, ids, numbered


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_rows_that_are_added_come_once(lake: Lake) -> None:
    lake.write(numbered(1, 2))
    reader = Reader(lake)
    assert reader.run() == numbered(1, 2)
    assert reader.run() == []
    lake.write(numbered(3))
    lake.write(numbered(4, 5))
    assert reader.run() == numbered(3, 4, 5)


def test_a_table_without_rows_is_read_from_its_first_ones_on(lake: Lake) -> None:
    readers = [Reader(lake), Reader(lake, start="latest")]
    assert [reader.run() for reader in readers] == [[], []]
    lake.write(numbered(1))
    assert [reader.run() for reader in readers] == [numbered(1), numbered(1)]


def test_reading_begins_at_the_newest_snapshot_at_one_or_at_a_time(lake: Lake) -> None:
    for number in range(3):
        lake.write(numbered(number))
    second = lake.table.metadata.snapshots[1]
    latest = Reader(lake, start="latest")
    moment = datetime.fromtimestamp(second.timestamp_ms / 1000, UTC).isoformat()
    assert Reader(lake, start=str(second.snapshot_id)).run() == Reader(lake, start=moment).run() == numbered(1, 2)
    lake.write(numbered(3))
    assert latest.run() == numbered(3)


def test_columns_are_known_by_their_numbers_and_not_by_their_names(lake: Lake) -> None:
    lake.write([{"id": 1, "text": "old"}])
    reader = Reader(lake, start=str(lake.table.metadata.snapshots[0].snapshot_id))
    assert reader.run() == [{"id": 1, "text": "old"}]
    with lake.table.update_schema() as change:
        change.rename_column("text", "was")
    with lake.table.update_schema() as change:
        change.add_column("text", StringType())
    with lake.table.update_schema() as change:
        change.add_column("more", LongType())
    lake.write([{"id": 2, "was": "a", "text": "b", "more": 3}])
    assert reader.run() == [{"id": 2, "was": "a", "text": "b", "more": 3}]
    rows = sorted(Reader(lake).run(), key=lambda row: int(row["id"]))
    assert rows == sorted(lake.theirs(), key=lambda row: int(row["id"]))
    assert rows[0] == {"id": 1, "was": "old", "text": None, "more": None}


def test_every_type_comes_as_it_was_written(tmp_path: Path) -> None:
    kinds: dict[str, tuple[pa.DataType, object]] = {
        "id": (pa.int64(), 1),
        "int": (pa.int32(), -2),
        "float": (pa.float32(), 0.5),
        "double": (pa.float64(), 1e300),
        "yes": (pa.bool_(), True),
        "blob": (pa.binary(), b"\0\xff"),
        "day": (pa.date32(), date(1, 1, 1)),
        "clock": (pa.time64("us"), time(1, 2, 3, 4)),
        "at": (pa.timestamp("us", "UTC"), datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)),
        "wall": (pa.timestamp("us"), datetime(1969, 7, 20, 20, 17)),  # noqa: DTZ001  # it has no zone
        "price": (pa.decimal128(20, 2), Decimal("-1.05")),
        "who": (pa.uuid(), UUID(int=5)),
        "list": (pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string())])), [{"a": 1, "b": None}]),
        "map": (pa.map_(pa.string(), pa.int64()), [("k", 1)]),
        "deep": (pa.struct([("x", pa.struct([("y", pa.list_(pa.string()))]))]), {"x": {"y": ["z", None]}}),
    }
    lake = Lake(tmp_path, pa.schema([(name, kind) for name, (kind, _) in kinds.items()]))
    row = {name: value for name, (_, value) in kinds.items()}
    lake.write([{**row, "who": UUID(int=5).bytes}, {"id": 2}])
    for columns in (True, False):
        (found, nulls) = Reader(lake).run(columns=columns)
        assert found == {**row, "map": {"k": 1}}
        # pyiceberg writes an empty list of structs in the place of a null.
        assert nulls == {**dict.fromkeys(row), "id": 2, "list": lake.theirs()[1]["list"]}


def test_rows_that_change_end_the_reading_unless_they_are_to_be_passed(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    lake.write(numbered(1, 2))
    strict, lax = Reader(lake), Reader(lake, on_rewrite="skip")
    assert ids(strict.run()) == ids(lax.run()) == [1, 2]
    lake.write(numbered(3))
    lake.table.delete("id = 1")
    lake.publish()
    lake.write(numbered(4))
    with pytest.raises(PermanentError, match=r"does more than to add rows: \w+ \(snapshot \d+\) removed 1 file.*on\.rewrite=skip"):
        strict.run()
    assert strict.seen[2:] == numbered(3)
    assert lax.run() == numbered(3, 4)
    assert "does more than to add rows" in caplog.text


def test_a_compaction_brings_no_rows(lake: Lake) -> None:
    lake.write(numbered(1))
    lake.write(numbered(2))
    reader = Reader(lake)
    assert ids(reader.run()) == [1, 2]
    files = [task.file for task in lake.table.scan().plan_files()]
    with lake.table.transaction() as transaction:
        snapshot = transaction.update_snapshot(snapshot_properties={}).overwrite()
        for file in files:
            snapshot.delete_data_file(file)
        (made,) = _written(lake, numbered(1, 2))
        snapshot.append_data_file(made)
        snapshot.commit()
    lake.publish()
    _say_replace(lake)
    lake.write(numbered(3))
    _say_replace(lake)
    assert reader.run() == numbered(3)


def _written(lake: Lake, rows: list[dict[str, object]]) -> list[DataFile]:
    from pyiceberg.io.pyarrow import _dataframe_to_data_files

    table = pa.Table.from_pylist(rows, lake.table.schema().as_arrow())
    return list(_dataframe_to_data_files(lake.table.metadata, table, PyArrowFileIO()))


def _say_replace(lake: Lake) -> None:
    """pyiceberg does not compact: what it has overwritten is made a compaction, as Spark's rewrite_data_files says it."""
    newest = max((lake.root / "metadata").glob("v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0]))
    newest.write_text(newest.read_text().replace('"operation":"overwrite"', '"operation":"replace"'))


def test_snapshots_that_expired_are_a_gap_with_their_numbers(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    lake.write(numbered(1))
    strict, lax = Reader(lake, start="latest"), Reader(lake, gaps="skip", start="latest")
    assert strict.run() == lax.run() == []
    for number in range(2, 5):
        lake.write(numbered(number))
    lake.table.maintenance.expire_snapshots().by_ids([each.snapshot_id for each in lake.table.metadata.snapshots[:3]]).commit()
    lake.publish()
    with pytest.raises(PermanentError, match=r"sequence numbers 2 to 3, which expired, brought are lost; set on\.gap=skip"):
        strict.run()
    assert lax.run() == numbered(4)
    assert "2 to 3, which expired, brought are lost; skipped" in caplog.text


def test_snapshots_that_expire_behind_the_reader_do_not_matter(lake: Lake) -> None:
    lake.write(numbered(1))
    lake.write(numbered(2))
    reader = Reader(lake)
    reader.run()
    lake.write(numbered(3))
    lake.table.maintenance.expire_snapshots().by_ids([lake.table.metadata.snapshots[0].snapshot_id]).commit()
    lake.publish()
    assert reader.run() == numbered(3)


def test_a_rollback_behind_what_was_read_is_told(lake: Lake) -> None:
    lake.write(numbered(1))
    lake.write(numbered(2))
    reader = Reader(lake)
    reader.run()
    first = lake.table.metadata.snapshots[0].snapshot_id
    lake.table.manage_snapshots().set_current_snapshot(first).commit()
    lake.write(numbered(3))
    with pytest.raises(PermanentError, match="rolled back behind its snapshot"):
        reader.run()


def test_a_file_that_is_gone_is_a_gap_with_its_rows(lake: Lake) -> None:
    lake.write(numbered(1, 2))
    reader = Reader(lake)
    for file in (lake.root / "data").glob("*.parquet"):
        file.unlink()
    with pytest.raises(PermanentError, match=r"not there any more.* rows 1 to 2 are lost"):
        reader.run()


def test_a_table_that_is_made_anew_is_told_at_the_start_and_while_it_is_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    lake, other = Lake(tmp_path / "a"), Lake(tmp_path / "b")
    for each in (lake, other):
        each.write(numbered(1))
    reader = Reader(lake, poll_interval="0s")
    task = reader.source.open(reader.config, reader.share, TaskContext())
    task.start({})
    task.poll()
    shutil.rmtree(lake.root)
    shutil.copytree(other.root, lake.root)
    with pytest.raises(PermanentError, match=r"was read, and the table that is there now is .* Reset the connector"):
        for _ in range(10):
            task.poll()
    task.close()
    with pytest.raises(RetriableError, match="a new plan is made"):
        reader.run()
    reader.positions = {reader.share["table"]: Position((1, 0, 0, 0))}
    with pytest.raises(PermanentError, match="made anew"):
        reader.run()


def problems(lake: Lake, **options: str) -> list[str]:
    config = {"connector.class": "iceberg_source", "topic": "t", **lake.case(**options).config}
    return [str(problem) for problem in IcebergSource().check(parse_source(IcebergSource(), config))]


def test_what_is_wrong_with_a_configuration_is_told(lake: Lake, tmp_path: Path) -> None:
    lake.write(numbered(1))
    assert problems(lake) == []
    assert "there is no Iceberg table" in problems(lake, table="shop.other")[0]
    assert "relative path" in problems(lake, warehouse="lake")[0]
    assert "has no snapshot 7" in problems(lake, start="7")[0]
    assert "is none of the columns" in problems(lake, key_columns="other")[0]
    assert [told.partition(":")[0] for told in problems(lake, catalog="jdbc")] == ["catalog.url"]
    for path in (lake.root / "metadata").glob("v*.json"):
        path.unlink()
    assert "it is in another catalogue" in problems(lake)[0]
    with pytest.raises(SystemAway):
        IcebergSource().log(replace(lake.case(), config={**lake.case().config, "table": "shop.other"}).parsed)


def test_tables_of_format_version_1_and_files_without_numbers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    old = Lake(tmp_path / "one", **{"format-version": "1"})
    assert "has format version 1, and version 2 is read" in problems(old)[0]
    lake = Lake(tmp_path)
    lake.write(numbered(1))
    (file,) = (lake.root / "data").glob("*.parquet")
    pq.write_table(pa.table({"id": [1], "text": ["x"]}), file)
    with pytest.raises(PermanentError, match="has no number in the file"):
        Reader(lake).run()


def test_a_sample_has_the_rows_and_what_is_left_is_told_in_bytes(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where a poll does not come to the end of the table in its time, as beside other work, what is left is not known.
    monkeypatch.setattr("connectors.lakes.reading.task._LOOK_SECONDS", 60)
    lake.write(numbered(1))
    reader = Reader(lake, key_columns="id")
    batch = reader.source.sample(reader.config)
    assert batch is not None
    assert (list(batch.values), list(batch.keys or ())) == (numbered(1), [{"id": 1}])
    lake.write(numbered(2))
    task = reader.source.open(reader.config, reader.share, TaskContext(batch_records=1))
    task.start({})
    task.poll()
    sizes = sorted(file.stat().st_size for file in (lake.root / "data").glob("*.parquet"))
    assert task.remaining() in sizes
    task.close()
