from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.conformance.source import read_all
from tests.connectors.hudi_source.tables import case, row, theirs
from tests.connectors.hudi_source.theirs import Theirs

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the sockets of collect() to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]


def history(root: Path, **options: Any) -> str:
    """A table whose files were written anew and laid out anew; the instant of its first commit."""
    table = Theirs(root, **options)
    first = table.insert((0, "a", 0), (1, "a", 1), (2, "a", 0))
    table.insert((3, "a", 1), (4, "a", 0))
    table.cluster()
    table.insert((5, "a", 2))
    table.insert((6, "a", 0), (7, "a", 1), (8, "a", 2))
    return first


ROWS = [row(number, day=day) for number, day in enumerate([0, 1, 0, 1, 0, 2, 0, 1, 2])]


class TestAllRowsThenWhatIsAdded(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        history(tmp_path / "table of [ü] *", partitioned=True)
        return case(tmp_path / "table of [ü] *", key_columns="id")

    def test_it_reads_the_rows_that_another_reader_finds(self, case: SourceCase, tmp_path: Path) -> None:
        (found,) = read_all(case)
        (records,) = found.values()
        values: list[Any] = [seen.value for seen in records]
        assert sorted(values, key=lambda value: int(value["id"])) == theirs(tmp_path / "table of [ü] *")
        assert [seen.key for seen in records] == [{"id": value["id"]} for value in values]


class TestCommitByCommit(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        first = history(tmp_path / "table", version=6)
        return replace(case(tmp_path / "table", start=first), expected=ROWS)


class TestInParts(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        first = history(tmp_path / "table", partitioned=True)
        return replace(case(tmp_path / "table", start=first, splits="3"), expected=ROWS)
