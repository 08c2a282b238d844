"""Changes of rows: what files have against those that they were made of."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from connectors.hudi_source import records
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.errors import PermanentError
from tests.connectors.hudi_sink.tables import Hudi
from tests.connectors.hudi_source.tables import CHANGES, Copy, Reader, case, row, theirs
from tests.connectors.hudi_source.theirs import Theirs
from tests.connectors.lakes.changes import change, envelopes
from tests.connectors.lakes.table import UPSERT

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


def changed(root: Path) -> str:
    """A table with changes of all kinds; the instant of its first commit."""
    table = Theirs(root, partitioned=True)
    first = table.insert((1, "a", 5), (2, "a", 5), (3, "a", 6), (4, "a", 5))
    table.upsert((1, "b", 5), (5, "a", 6))
    table.delete((2, "", 5), (3, "", 6))
    table.upsert((1, "c", 5))
    return first


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Such a table, and its first instant; made once, as a source only reads."""
    root = tmp_path_factory.mktemp("changes") / "table"
    return root, changed(root)


class TestChanges(SourceSuite):
    @pytest.fixture
    def case(self, made: tuple[Path, str]) -> SourceCase:
        root, first = made
        return case(root, start=first, **CHANGES)


@pytest.mark.slow
class TestChangesWithTombstones(SourceSuite):
    @pytest.fixture
    def case(self, made: tuple[Path, str]) -> SourceCase:
        """A position between a deletion and its tombstone is one, too."""
        root, first = made
        return case(root, start=first, tombstones="true", **CHANGES)


@pytest.mark.parametrize("partitioned", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("version", [pytest.param(6, marks=pytest.mark.slow), 9])
def test_a_copy_that_follows_the_changes_is_the_table_behind_each_commit(tmp_path: Path, version: int, partitioned: bool) -> None:
    table = Theirs(tmp_path / "table", version=version, partitioned=partitioned)
    table.insert((1, "a", 5), (2, "a", 5), (3, "a", 6))
    reader, copy = Reader(table, **CHANGES), Copy()
    copy.follow(reader.run())
    assert {change["op"] for change in reader.seen} == {"r"}
    steps: list[Callable[[], object]] = [
        lambda: table.insert((4, "a", 5)),
        lambda: table.upsert((2, "b", 5), (5, "a", 6), (4, "b", 5)),
        lambda: table.delete((1, "", 5), (3, "", 6)),
        lambda: table.upsert((2, "c", 5)),
        table.cluster,
        lambda: table.upsert((2, "d", 5), (9, "a", 5)),
        lambda: table.overwrite((5, "z", 6), (7, "a", 5)),
        lambda: table.insert((8, "a", 5)),
    ]
    for number, step in enumerate(steps):
        step()
        copy.follow(reader.run())
        assert (number, copy.rows) == (number, theirs(table.root))


@pytest.mark.slow
def test_rows_that_the_sink_changes_moves_and_truncates_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "table"
    owner = Hudi(path).owner(UPSERT, partition_by="text")
    owner.start()
    owner.rows(k0="left", k1="left", k2="a/b c")
    reader, copy = Reader(path, **CHANGES), Copy()
    copy.follow(reader.run())
    steps: list[Callable[[], object]] = [
        lambda: owner.rows(k1="right", k3="left"),
        lambda: owner.rows(k0="right", k2="left"),
        lambda: owner.write([change("d", before={"id": 2, "text": None})], envelopes(Hudi(path).rows)),
        lambda: owner.write([change("t"), change("c", after={"id": 7, "text": "new"})], envelopes(Hudi(path).rows)),
    ]
    for step in steps:
        step()
        made = reader.run()
        # Who reads by key would lose a row whose deletion came behind it.
        kept = [found for found in made if found["op"] != "d"]
        assert made[len(made) - len(kept) :] == kept
        copy.follow(made)
        assert copy.rows == theirs(path)


@pytest.mark.slow
def test_of_a_file_that_was_cleaned_away_updates_are_told_without_the_row_before_and_deletions_are_a_gap(tmp_path: Path) -> None:
    table = Theirs(tmp_path / "table")
    table.insert((1, "a", 5), (2, "a", 5))
    updates, deletions = Reader(table, start="latest", **CHANGES), Reader(table, start="latest", gaps="skip", **CHANGES)
    for reader in (updates, deletions):
        reader.run()
    old = set(table.root.glob("*.parquet"))
    table.upsert((1, "b", 5))
    for file in old:
        file.unlink()
    for reader in (updates, deletions):
        assert [(told["op"], told["before"], told["after"]) for told in reader.run()] == [("u", None, row(1, "b"))]
    old = set(table.root.glob("*.parquet"))
    table.delete((2, "", 5))
    for file in old:
        file.unlink()
    with pytest.raises(PermanentError, match=r"not there any more.* are lost; set on\.gap=skip"):
        updates.run()
    assert deletions.run() == []
    assert Reader(table).run() == theirs(table.root) == [row(1, "b")]


def test_deletions_from_a_file_whose_next_one_is_gone_are_a_gap(tmp_path: Path) -> None:
    table = Theirs(tmp_path / "table")
    table.insert((1, "a", 5), (2, "a", 5))
    strict, lax = Reader(table, start="latest", **CHANGES), Reader(table, start="latest", gaps="skip", **CHANGES)
    for reader in (strict, lax):
        reader.run()
    old = set(table.root.glob("*.parquet"))
    table.delete((2, "", 5))
    for file in set(table.root.glob("*.parquet")) - old:
        file.unlink()
    with pytest.raises(PermanentError, match=r"what became of the rows of .* is not known: its changes are lost"):
        strict.run()
    assert lax.run() == []


def test_of_rows_before_only_so_much_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "HELD_BYTES", 0)
    table = Theirs(tmp_path / "table")
    table.insert((1, "a", 5))
    reader = Reader(table, **CHANGES)
    reader.run()
    table.upsert((1, "b", 5), (2, "b", 5))
    assert [(told["op"], told["before"], told["after"]["id"]) for told in reader.run()] == [("u", None, 1), ("c", None, 2)]
