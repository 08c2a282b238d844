"""Tables that Hudi's own client writes, on settings of its own."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from connectors.hudi_source import HudiSource
from connectors.hudi_source.timeline import Timeline
from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.record import Position
from tests.connectors.hudi_source.tables import Reader, case, ids, row, theirs
from tests.connectors.hudi_source.theirs import Theirs

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
OFTEN = {"keep.min.commits": "3", "keep.max.commits": "4", "cleaner.commits.retained": "2"}
"""Settings that put commits away soon, and remove files that were replaced."""


@pytest.fixture
def table(tmp_path: Path) -> Theirs:
    return Theirs(tmp_path / "table")


@pytest.mark.parametrize("partitioned", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("version", [pytest.param(6, marks=pytest.mark.slow), pytest.param(8, marks=pytest.mark.slow), 9])
def test_all_rows_come_and_then_those_that_are_added_also_to_files_that_are_there(
    tmp_path: Path, version: int, partitioned: bool
) -> None:
    table = Theirs(tmp_path / "table of [ü] *", version=version, partitioned=partitioned)
    first = table.insert((1, "a", 5), (2, "b", 5), (3, "c", 6))
    reader, from_first = Reader(table, key_columns="id"), Reader(table, start=first)
    assert sorted(reader.run(), key=str) == [row(1, "a"), row(2, "b"), row(3, "c", 6)]
    assert reader.run() == []
    table.insert((4, "d", 5))
    table.insert((5, "e", 6), (6, "f", 6))
    assert sorted(reader.run(), key=str) == [row(4, "d"), row(5, "e", 6), row(6, "f", 6)]
    assert sorted(reader.seen, key=str) == theirs(table.root)
    assert sorted(from_first.run(), key=str) == theirs(table.root)
    # The files that were replaced have their rows only once.
    assert sorted(Reader(table).run(), key=str) == theirs(table.root)


@pytest.mark.slow
def test_a_table_without_rows_is_read_from_its_first_ones_on(table: Theirs) -> None:
    readers = [Reader(table), Reader(table, start="latest")]
    assert [reader.run() for reader in readers] == [[], []]
    table.insert((1, "a", 5))
    assert [reader.run() for reader in readers] == [[row(1)], [row(1)]]


def test_reading_begins_at_the_newest_commit_at_one_or_at_a_time(table: Theirs) -> None:
    table.insert((1, "a", 5))
    second = table.insert((2, "a", 5))
    completed = next(each for each in Timeline(table.root).seen().commits if each.requested == second)
    moment = datetime.fromtimestamp((Timeline(table.root).moment(completed) or 0) / 1000, UTC).isoformat()
    latest = Reader(table, start="latest")
    assert Reader(table, start=second).run() == Reader(table, start=moment).run() == [row(2)]
    table.insert((3, "a", 5))
    assert latest.run() == [row(3)]


@pytest.mark.parametrize("version", [pytest.param(6, marks=pytest.mark.slow), 9])
def test_rows_that_change_end_the_reading_unless_they_are_to_be_passed(
    tmp_path: Path, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    table = Theirs(tmp_path / "table", version=version)
    table.insert((1, "a", 5), (2, "a", 5))
    strict, lax = Reader(table), Reader(table, on_rewrite="skip")
    assert ids(strict.run()) == ids(lax.run()) == [1, 2]
    table.insert((3, "a", 5))
    table.upsert((2, "b", 5), (4, "a", 5))
    table.delete((1, "", 5))
    table.overwrite((7, "a", 5))
    table.insert((8, "a", 5))
    with pytest.raises(PermanentError, match=r"does more than to add rows: UPSERT updated 1 row.*on\.rewrite=skip"):
        strict.run()
    assert strict.seen[2:] == [row(3)]
    assert ids(lax.run()) == [3, 8]
    for told in ("UPSERT updated 1 row", "DELETE deleted 1 row", "replaced 1 file group"):
        assert told in caplog.text
    assert ids(Reader(table).run()) == ids(theirs(table.root)) == [7, 8]


@pytest.mark.parametrize("version", [pytest.param(6, marks=pytest.mark.slow), 9])
def test_rows_that_are_laid_out_anew_come_once(tmp_path: Path, version: int) -> None:
    table = Theirs(tmp_path / "table", version=version)
    table.insert((1, "a", 5))
    reader = Reader(table)
    reader.run()
    table.insert((2, "a", 5))
    table.cluster()
    table.insert((3, "a", 5))
    assert ids(reader.run()) == [2, 3]
    assert ids(Reader(table).run()) == ids(theirs(table.root)) == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("version", [pytest.param(6, marks=pytest.mark.slow), 9])
def test_a_commit_that_does_not_come_to_its_end_brings_nothing_and_what_was_begun_before_others_is_waited_for(
    tmp_path: Path, version: int
) -> None:
    table = Theirs(tmp_path / "table", version=version, settings={"cleaner.policy.failed.writes": "LAZY"})
    table.insert((1, "a", 5))
    reader, latest = Reader(table), Reader(table, start="latest")
    ends = table.begin((2, "a", 5))
    assert ids(reader.run()) == [1]
    table.insert((3, "a", 5))
    # Version 6 does not say when a commit was completed: what was begun first is read first.
    seen = [] if version == 6 else [3]
    assert ids(reader.run()) == ids(latest.run()) == seen
    ends()
    assert ids(reader.run() + latest.run()) == ([2, 2, 3, 3] if version == 6 else [2, 2])
    table.begin((99, "a", 5))
    table.roll_back_what_failed()
    table.insert((4, "a", 5))
    assert reader.run() == [row(4)]


@pytest.mark.slow
@pytest.mark.parametrize("version", [pytest.param(6, marks=pytest.mark.slow), 9])
def test_commits_that_are_taken_back_after_they_were_read_are_told(tmp_path: Path, version: int) -> None:
    table = Theirs(tmp_path / "table", version=version)
    first = table.insert((1, "a", 5))
    table.keep()
    second = table.insert((2, "a", 5))
    strict, lax, late = Reader(table), Reader(table, on_rewrite="skip"), Reader(table, start=first)
    assert ids(strict.run()) == ids(lax.run()) == [1, 2]
    table.take_back(second)
    with pytest.raises(PermanentError, match=r"rollback \d+ took back commits that were read"):
        strict.run()
    table.insert((3, "a", 5))
    assert lax.run() == [row(3)]
    assert ids(late.run()) == [1, 3]
    table.restore(first)
    with pytest.raises(PermanentError, match=r"(rollback|restore) \d+ took back commits that were read"):
        late.run()
    table.insert((4, "a", 5))
    assert lax.run() == [row(4)]
    assert ids(Reader(table).run()) == ids(theirs(table.root)) == [1, 4]


@pytest.mark.slow
def test_commits_that_were_put_away_are_read_from_the_history(tmp_path: Path) -> None:
    table = Theirs(tmp_path / "table", settings={**OFTEN, "parquet.small.file.limit": "0"})
    first = table.insert((0, "a", 5))
    reader, from_empty = Reader(table), Reader(table, start=first)
    for number in range(1, 10):
        table.insert((number, "a", 5))
    assert Timeline(table.root).history().commits
    assert first not in {each.requested for each in Timeline(table.root).seen().commits}
    assert ids(from_empty.run()) == list(range(10))
    with pytest.raises(PermanentError, match=r"the rows that .* had at the commit \d+, which was put away by now, are lost"):
        reader.run()


@pytest.mark.slow
def test_commits_that_were_put_away_behind_a_savepoint_are_read(tmp_path: Path) -> None:
    table = Theirs(tmp_path / "table", settings={**OFTEN, "parquet.small.file.limit": "0", "archive.beyond.savepoint": "true"})
    table.insert((0, "a", 5))
    reader = Reader(table)
    reader.run()
    table.keep()
    for number in range(1, 10):
        table.insert((number, "a", 5))
    seen = Timeline(table.root).seen()
    assert {each.requested for each in seen.commits} > seen.saved
    assert Timeline(table.root).history().commits
    assert ids(reader.run()) == list(range(1, 10))


@pytest.mark.slow
@pytest.mark.parametrize("version", [pytest.param(6, marks=pytest.mark.slow), 9])
def test_rows_of_files_that_were_cleaned_away_are_found_in_later_ones(tmp_path: Path, version: int) -> None:
    table = Theirs(tmp_path / "table", version=version, settings={"cleaner.commits.retained": "2"})
    table.insert((0, "a", 5))
    readers = [Reader(table, start="latest"), Reader(table, start="latest", mode="changes", key_columns="id")]
    files: list[set[Path]] = []
    for number in range(1, 13, 2):
        table.insert((number, "a", 5), (number + 1, "a", 5))
        files.append(set(table.root.glob("*.parquet")))
    assert not files[0] & files[-1]
    assert readers[0].run() == [row(number) for number in range(1, 13)]
    assert [(told["op"], told["after"]) for told in readers[1].run()] == [("c", row(number)) for number in range(1, 13)]
    assert [list(position.offset[2:]) for position in readers[0].positions.values()] == [[0, 0]]


@pytest.mark.slow
def test_files_that_were_cleaned_away_are_a_gap_where_their_rows_are_no_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = Theirs(tmp_path / "table", settings={"cleaner.commits.retained": "2"})
    table.insert((0, "a", 5))
    lax = Reader(table, start="latest", gaps="skip", on_rewrite="skip")
    strict, whole = Reader(table, start="latest"), Reader(table)
    table.insert((1, "a", 5))
    table.upsert((1, "b", 5))
    for number in range(2, 7):
        table.insert((number, "a", 5))
    with pytest.raises(PermanentError, match=r"not there any more.* rows 1 to 2 are lost; set on\.gap=skip"):
        strict.run()
    assert ids(lax.run()) == [2, 3, 4, 5, 6]
    assert "are lost; skipped, as on.gap=skip says" in caplog.text
    with pytest.raises(PermanentError, match=r"not there any more.* rows 1 and all behind it are lost"):
        whole.run()


@pytest.mark.slow
def test_commits_of_an_old_table_that_were_put_away_are_a_gap(tmp_path: Path) -> None:
    table = Theirs(tmp_path / "table", version=6, settings=OFTEN)
    table.insert((0, "a", 5))
    strict, lax = Reader(table, start="latest"), Reader(table, start="latest", gaps="skip")
    for number in range(1, 10):
        table.insert((number, "a", 5))
    assert Timeline(table.root).has_unknown_archive
    with pytest.raises(PermanentError, match=r"before \d+ brought, which were put away, are lost; set on\.gap=skip"):
        strict.run()
    assert ids(lax.run())[-1] == 9


def test_rows_have_the_columns_that_the_table_has_at_their_commit(table: Theirs) -> None:
    first = table.insert((1, "a", 5))
    table.widen("more")
    table.insert((2, "b", 5, 7))
    assert Reader(table, start=first).run() == [row(1), row(2, "b", more=7)]
    rows = sorted(Reader(table).run(), key=str)
    assert rows == [row(1, more=None), row(2, "b", more=7)] == theirs(table.root)


def test_a_table_that_is_made_anew_is_told(tmp_path: Path) -> None:
    table = Theirs(tmp_path / "table")
    table.insert((1, "a", 5))
    reader = Reader(table)
    reader.run()
    shutil.rmtree(table.root)
    with pytest.raises(SystemAway, match="there is no table of Hudi"):
        reader.run()
    again = Theirs(table.root)
    again.insert((2, "a", 5))
    with pytest.raises(PermanentError, match=r"knows nothing of it: it was made anew.*Reset the connector"):
        reader.run()
    reader.positions = {}
    with pytest.raises(PermanentError, match="it was made anew"):
        reader.run()
    reader.plan()
    assert reader.run() == [row(2)]


def problems(path: Path, **options: str) -> list[str]:
    config = {"connector.class": "hudi_source", "topic": "t", **case(path, **options).config}
    return [str(problem) for problem in HudiSource().check(parse_source(HudiSource(), config))]


def test_what_is_wrong_with_a_configuration_is_told(table: Theirs, tmp_path: Path) -> None:
    assert problems(table.root) == problems(table.root, mode="changes", key_columns="id") == []
    assert "there is no table of Hudi" in problems(tmp_path)[0]
    assert "relative path" in problems(Path("table"))[0]
    assert "has no commit 7" in problems(table.root, start="7")[0]
    assert "is none of the columns" in problems(table.root, key_columns="other")[0]
    assert "is needed with mode=changes" in problems(table.root, mode="changes")[0]
    assert "is not the key of the table" in problems(table.root, mode="changes", key_columns="text")[0]
    assert "means nothing with mode=append" in problems(table.root, tombstones="true")[0]


def test_tables_that_cannot_be_read_right_are_refused(tmp_path: Path) -> None:
    merged = Theirs(tmp_path / "merged", kind="MERGE_ON_READ")
    assert "is MERGE_ON_READ, and COPY_ON_WRITE is read" in problems(merged.root)[0]
    said = (merged.root / ".hoodie" / "hoodie.properties").read_text()
    for setting, told in {
        "hoodie.table.version=7": "has version 7, and the versions 6, 8, 9 are read",
        "hoodie.populate.meta.fields=false": "has no columns of Hudi's own",
        "hoodie.datasource.write.drop.partition.columns=true": "has partitions by columns that its files lack",
        "hoodie.table.base.file.format=ORC": "has files of ORC",
        "hoodie.bootstrap.base.path=/elsewhere": "has rows in files elsewhere",
    }.items():
        (merged.root / ".hoodie" / "hoodie.properties").write_text(f"{said}\n{setting}\n")
        assert told in problems(merged.root)[0]


def test_positions_are_looked_at_before_they_are_set(table: Theirs) -> None:
    table.insert((1, "a", 5))
    reader = Reader(table)
    newest = Timeline(table.root).seen().commits[-1].version
    good = Position((newest, 1, 0, 0))
    assert list(reader.source.check_position(reader.config, "rows", good)) == []
    assert [problem.reason for problem in reader.source.check_position(reader.config, "other", good)] == ["is no part of the table"]
    (problem,) = reader.source.check_position(reader.config, "rows", Position((newest + 5, 0, 0, 0)))
    assert "is a version that is not there" in problem.reason


def test_a_sample_has_the_rows_and_what_is_left_is_told_in_bytes(table: Theirs, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where a poll does not come to the end of the table in its time, as beside other work, what is left is not known.
    monkeypatch.setattr("connectors.lakes.reading.task._LOOK_SECONDS", 60)
    table.insert((1, "a", 5))
    reader = Reader(table, key_columns="id")
    batch = reader.source.sample(reader.config)
    assert batch is not None
    assert (list(batch.values), list(batch.keys or ())) == ([row(1)], [{"id": 1}])
    table.insert((2, "a", 5))
    task = reader.source.open(reader.config, reader.share, TaskContext(batch_records=1))
    task.start({})
    task.poll()
    assert task.remaining() in [file.stat().st_size for file in table.root.glob("*.parquet")]
    task.close()
