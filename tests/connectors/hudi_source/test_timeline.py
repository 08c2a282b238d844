"""Timelines that are made by hand, as those of tables of version 6 are."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.hudi_source.base_files import Named, named, newest_of
from connectors.hudi_source.columns import columns_of
from connectors.hudi_source.log import HudiLog
from connectors.hudi_source.timeline import Timeline, moment_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position
from tests.connectors.hudi_source.by_hand import SCHEMA, ByHand
from tests.connectors.hudi_source.tables import Reader


@pytest.fixture
def table(tmp_path: Path) -> ByHand:
    return ByHand(tmp_path / "table")


def commits(table: ByHand) -> list[str]:
    return [each.requested for each in Timeline(table.root).seen().commits]


def test_settings_and_names_are_read_as_java_writes_them(table: ByHand) -> None:
    log = HudiLog(table.root)
    assert (log.identity, log.columns) == ("by%20hand", pa.schema([pa.field("id", pa.int64(), nullable=False)]))


@pytest.mark.parametrize(
    ("name", "plan", "waits"),
    [
        ("3.commit.requested", "", True),
        ("3.inflight", "", True),
        ("3.replacecommit.requested", "", True),
        ("3.replacecommit.inflight", "", True),
        ("3.replacecommit.requested", "a plan to lay rows out anew", False),
        ("3.clean.requested", "", False),
        ("3.rollback.inflight", "", False),
    ],
)
def test_what_was_begun_before_a_commit_is_waited_for_where_it_may_bring_rows(
    table: ByHand, name: str, plan: str, waits: bool
) -> None:
    table.write(2, 1)
    table.write(4, 2)
    (table.hidden / name).write_text(plan)
    assert commits(table) == (["2"] if waits else ["2", "4"])


def test_rows_of_files_that_are_in_no_commit_are_not_read(table: ByHand) -> None:
    table.write(2, 1, 2)
    table.write(4, 99)
    (table.hidden / "4.commit").rename(table.hidden / "4.inflight")
    assert [row["id"] for row in Reader(table.root).run()] == [1, 2]


def test_metadata_that_are_being_written_are_read_again_later(table: ByHand) -> None:
    table.write(2, 1)
    reader = Reader(table.root)
    assert [row["id"] for row in reader.run()] == [1]
    table.write(4, 2)
    whole = (table.hidden / "4.commit").read_text()
    (table.hidden / "4.commit").write_text(whole[:9])
    with pytest.raises(RetriableError, match="cannot be read now"):
        reader.run()
    (table.hidden / "4.commit").write_text(whole)
    assert [row["id"] for row in reader.run()] == [2]


def test_a_table_whose_columns_have_numbers_of_their_own_is_refused(table: ByHand) -> None:
    table.write(2, 1)
    reader = Reader(table.root, start="2")
    metadata = json.loads((table.hidden / "2.commit").read_text())
    metadata["extraMetadata"]["latest_schema"] = "{}"
    table.say(2, metadata)
    with pytest.raises(PermanentError, match=r"knows columns by numbers \(hoodie\.schema\.on\.read\.enable\)"):
        reader.run()


def test_a_commit_of_which_the_reader_is_in_the_middle_is_missed_when_it_is_taken_back(table: ByHand) -> None:
    table.write(2, 1)
    table.write(4, 2)
    reader = Reader(table.root)
    reader.run()
    (table.hidden / "4.commit").unlink()
    # Whoever takes back says so; here nobody has.
    with pytest.raises(PermanentError, match="knows nothing of it"):
        reader.run()
    table.say(5, {"commitsRollback": ["4"]}, "rollback")
    with pytest.raises(PermanentError, match="rollback 5 took back commits that were read"):
        reader.run()


def test_commits_that_end_at_the_same_time_are_one_version(tmp_path: Path) -> None:
    table = ByHand(tmp_path / "table", version="9")
    for instant in (2, 3):
        table.write(instant, instant)
        (table.hidden / f"{instant}.commit").rename(table.hidden / "timeline" / f"{instant}_5.commit")
    assert [row["id"] for row in Reader(table.root, start="2").run()] == [2, 3]
    assert [row["id"] for row in Reader(table.root).run()] == [2, 3]


def test_a_commit_that_appears_behind_one_that_was_seen_is_told(tmp_path: Path) -> None:
    table = ByHand(tmp_path / "table", version="9")

    def end(instant: int, completed: int) -> None:
        table.write(instant, instant)
        (table.hidden / f"{instant}.commit").rename(table.hidden / "timeline" / f"{instant}_{completed}.commit")

    end(2, 9)
    reader = Reader(table.root, poll_interval="0s")
    task = reader.source.open(reader.config, reader.share, TaskContext())
    task.start({})
    task.poll()
    end(3, 5)
    for _ in range(2):
        with pytest.raises(PermanentError, match=r"the clocks of its writers differ.*to \[5, 0, 0, 0\]"):
            for _ in range(9):
                task.poll()
    task.close()


def test_a_file_that_was_cleaned_away_is_read_on_in_a_later_one_at_the_same_row(table: ByHand) -> None:
    table.write(2, 1, 2, 3, group="g", numInserts=3)
    reader = Reader(table.root, start="2")
    task = reader.source.open(reader.config, reader.share, TaskContext(batch_records=2))
    task.start({})
    (batch, *_) = batches_of(task.poll())
    task.close()
    reader.positions = {batch.partition: Position(tuple(batch.offsets[0]))}
    assert batch.offsets[0][3] == 1
    table.write(4, 1, 2, 3, 4, group="g", prevCommit="2", numInserts=1)
    later = table.root / "g_0-1-2_4.parquet"
    rows = pq.read_table(later).to_pydict()
    pq.write_table(pa.table({**rows, "_hoodie_commit_time": ["2", "2", "2", "4"]}), later)
    # A file of a commit that is not completed may be none yet.
    (table.root / "g_0-1-2_3.parquet").write_bytes(b"")
    (table.root / "g_0-1-2_2.parquet").unlink()
    assert [row["id"] for row in reader.run()] == [2, 3, 4]


@pytest.mark.parametrize("times", [["2", "4", "2"], ["2", "2", "4"], ["4", "2", "2"], ["2", "2", "2", "2"], ["4", "2", "2", "2"]])
def test_a_later_file_whose_rows_were_changed_does_not_stand_for_one_that_was_cleaned_away(table: ByHand, times: list[str]) -> None:
    table.write(2, 1, 2, 3, group="g", numInserts=3)
    reader = Reader(table.root, start="2")
    table.write(4, *range(len(times)), group="g", prevCommit="2", numUpdateWrites=1)
    later = table.root / "g_0-1-2_4.parquet"
    pq.write_table(pa.table({**pq.read_table(later).to_pydict(), "_hoodie_commit_time": times}), later)
    (table.root / "g_0-1-2_2.parquet").unlink()
    with pytest.raises(PermanentError, match="rows 1 to 3 are lost"):
        reader.run()


def test_a_position_between_two_commits_is_none(table: ByHand) -> None:
    table.write(2, 1)
    table.write(9, 2)
    reader = Reader(table.root)

    def problems(version: int, whole: int = 0) -> list[str]:
        found = reader.source.check_position(reader.config, "by%20hand", Position((version, whole, 0, 0)))
        return [problem.reason for problem in found]

    assert [problems(version) for version in (0, 2, 3, 9, 10)] == [[]] * 5
    assert [problems(version, 1) for version in (0, 2, 9)] == [[]] * 3
    for told in (problems(5), problems(5, 1)):
        assert "the position was set beside its commits" in told[0]


def test_commits_that_were_put_away_behind_one_that_a_savepoint_keeps_are_read(tmp_path: Path) -> None:
    table = ByHand(tmp_path / "table", version="9")
    timeline = table.hidden / "timeline"
    kept = []
    for instant in (2, 4, 6, 8):
        table.write(instant, instant)
        made = table.hidden / f"{instant}.commit"
        if instant in (4, 6):
            row = {"instantTime": str(instant), "completionTime": str(instant), "action": "commit", "metadata": made.read_bytes()}
            kept.append(row)
            made.unlink()
        else:
            made.rename(timeline / f"{instant}_{instant}.commit")
    (timeline / "2_3.savepoint").touch()
    reader = Reader(table.root, start="2")
    reader.positions = {"by%20hand": Position((3, 0, 0, 0))}
    (timeline / "history").mkdir()
    pq.write_table(pa.Table.from_pylist(kept), timeline / "history" / "4_6_0.parquet")
    (timeline / "history" / "manifest_1").write_text(json.dumps({"files": [{"fileName": "4_6_0.parquet"}]}))
    (timeline / "history" / "_version_").write_text("1")
    assert [row["id"] for row in reader.run()] == [4, 6, 8]


def test_of_each_group_the_newest_file_counts_that_is_done_and_not_replaced() -> None:
    files = list(named("day=5", ["a_0_1.parquet", "a_0_2.parquet", "a_0_3.parquet", "b_0_1.parquet", "c_0_2.parquet", "x.txt"]))
    found = newest_of(files, lambda instant: instant != "3", [("day=5", "b"), ("day=6", "c")])
    assert found == [Named("day=5", "a_0_2.parquet", "a", "2"), Named("day=5", "c_0_2.parquet", "c", "2")]


def test_the_name_of_an_instant_is_a_time() -> None:
    wanted = int(datetime(2026, 7, 1, 12, 30, 1, tzinfo=UTC).timestamp() * 1000)
    assert moment_of("20260701123001", utc=True) == wanted
    assert moment_of("20260701123001007", utc=True) == wanted + 7
    assert moment_of("20260701123001007", utc=False) == int(datetime(2026, 7, 1, 12, 30, 1).timestamp() * 1000) + 7  # noqa: DTZ001
    assert moment_of("7", utc=True) is None


def test_a_column_of_a_type_that_is_not_read_is_told(table: ByHand) -> None:
    nested = {"type": "record", "name": "row", "fields": [{"name": "me", "type": ["null", "row"]}]}
    table.write(2, 1)
    table.say(4, {"extraMetadata": {"schema": json.dumps(nested)}})
    with pytest.raises(PermanentError, match="has a column that is not read"):
        HudiLog(table.root)
    assert columns_of(SCHEMA).names == ["id"]
