from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.conformance.source import read_all
from tests.connectors.delta_source.tables import case_of, numbered, theirs, write


def history(path: Path) -> None:
    """A table with files of several sizes, in several versions, of which one was compacted."""
    write(path, numbered(*range(4)))
    write(path, numbered(*range(4, 7)))
    DeltaTable(str(path)).optimize.compact()
    write(path, numbered(7))
    write(path, numbered(*range(8, 12)))


class TestAllRowsThenWhatIsAdded(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        path = tmp_path / "table of ü"
        history(path)
        return case_of(path, key_columns="id")

    def test_it_reads_the_rows_that_another_reader_finds(self, case: SourceCase, tmp_path: Path) -> None:
        (found,) = read_all(case)
        (records,) = found.values()
        rows = theirs(tmp_path / "table of ü")
        values: list[Any] = [seen.value for seen in records]
        assert sorted(map(repr, rows)) == sorted(map(repr, values))
        assert [seen.key for seen in records] == [{"id": row["id"]} for row in values]


class TestVersionByVersion(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        history(tmp_path / "table")
        return replace(case_of(tmp_path / "table", start="0"), expected=numbered(*range(12)))


class TestInParts(SourceSuite):
    @pytest.fixture
    def case(self, tmp_path: Path) -> SourceCase:
        path = tmp_path / "table"
        rows = [{**row, "day": f"2024-01-0{row['id'] % 3 + 1}"} for row in numbered(*range(12))]
        write(path, rows[:8], partition_by=["day"])
        write(path, rows[8:])
        return replace(case_of(path, start="0", splits="3"), expected=rows)
