from collections.abc import Callable
from dataclasses import replace
from functools import cache
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


Made = Callable[..., tuple[Path, str]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A table with that history, and its first instant; each is made once, as a source only reads."""

    @cache
    def one(name: str, **options: Any) -> tuple[Path, str]:
        root = tmp_path_factory.mktemp("tables") / name
        return root, history(root, **options)

    return one


ROWS = [row(number, day=day) for number, day in enumerate([0, 1, 0, 1, 0, 2, 0, 1, 2])]


class TestAllRowsThenWhatIsAdded(SourceSuite):
    @pytest.fixture
    def case(self, made: Made) -> SourceCase:
        root, _ = made("table of [ü] *", partitioned=True)
        return case(root, key_columns="id")

    def test_it_reads_the_rows_that_another_reader_finds(self, case: SourceCase) -> None:
        (found,) = read_all(case)
        (records,) = found.values()
        values: list[Any] = [seen.value for seen in records]
        assert sorted(values, key=lambda value: int(value["id"])) == theirs(Path(case.config["path"]))
        assert [seen.key for seen in records] == [{"id": value["id"]} for value in values]


@pytest.mark.slow
class TestCommitByCommit(SourceSuite):
    @pytest.fixture
    def case(self, made: Made) -> SourceCase:
        root, first = made("table", version=6)
        return replace(case(root, start=first), expected=ROWS)


@pytest.mark.slow
class TestInParts(SourceSuite):
    @pytest.fixture
    def case(self, made: Made) -> SourceCase:
        root, first = made("table of [ü] *", partitioned=True)
        return replace(case(root, start=first, splits="3"), expected=ROWS)
