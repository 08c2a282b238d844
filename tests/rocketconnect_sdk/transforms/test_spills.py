"""What queries of users put on disk: where, how much, and that nothing of it stays."""

import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.permissions.spills import SPILLS, spill_limit
from rocketconnect_sdk.transforms.processes import sql
from rocketconnect_sdk.transforms.processes.sql import SqlProcess

SORTED = "SELECT x, row_number() OVER (ORDER BY x DESC) AS n FROM records"
FOR_EVER = "SELECT count(*) AS n FROM records AS a, records AS b, records AS c WHERE a.x < b.x AND b.x < c.x"


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """More than the memory of a query."""
    return pa.table({"x": [f"{number * 7919 % 220_009:06d}" * 40 for number in range(220_009)]})


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files of this process; the working directory is another one."""
    monkeypatch.setattr(sql, "_MEMORY", "48MB")
    folder, working = tmp_path / "temporary", tmp_path / "working"
    folder.mkdir()
    working.mkdir()
    monkeypatch.chdir(working)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(working.rglob("*")) == []
    assert list(folder.rglob("*")) == []


def test_a_query_spills_into_the_folder_for_temporary_files_and_leaves_nothing(scratch: Path, table: pa.Table) -> None:
    seen, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.005):
            seen.append(len([path for path in scratch.rglob("*") if path.suffix == ".tmp"]))

    watching = threading.Thread(target=look)
    watching.start()
    process = SqlProcess(SORTED, 60)
    try:
        assert process.run(table)["n"].to_pylist() == list(range(1, len(table) + 1))
    finally:
        over.set()
        watching.join()
        process.close()
    assert max(seen) > 0


def test_a_query_that_spills_more_than_the_operator_says_costs_its_records_and_is_told_how(
    scratch: Path, table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SPILLS, "1m")
    process = SqlProcess(SORTED, 60)
    with pytest.raises(RecordError, match=r"failed to offload .* or raise the executor's --query-spill"):
        process.run(table)
    process.close()


def test_a_query_that_is_ended_leaves_nothing_behind(scratch: Path, table: pa.Table) -> None:
    process = SqlProcess(FOR_EVER, 0.5)
    with pytest.raises(RecordError, match="has not ended"):
        process.run(table.slice(0, 3000))


def test_without_a_word_of_the_operator_a_query_has_a_limit() -> None:
    assert spill_limit({}) == spill_limit({SPILLS: ""}) == 1 << 30
    assert spill_limit(os.environ | {SPILLS: "0"}) == 0
