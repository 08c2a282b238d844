"""A walk that fails at any of its steps is gone on with from there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.lakes.reading import files, walk
from connectors.lakes.reading.batches import Batches
from connectors.lakes.reading.log import Commit, DataFile, TableLog
from connectors.lakes.reading.places import TableCoordinate
from connectors.lakes.reading.task import LakeSourceTask, Share
from connectors.lakes.reading.walk import Policy
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError
from rocketconnect_sdk.polled import batches_of

COLUMNS = pa.schema([("id", pa.int64())])
FILES = 4
ROWS = 6


class Failing:
    """Fails once at its n-th step."""

    def __init__(self, at: int) -> None:
        self.left = at

    def step(self) -> None:
        self.left -= 1
        if self.left == 0:
            msg = "not now"
            raise RetriableError(msg)


class Log(TableLog):
    """A version for each file."""

    identity = "table"
    columns = COLUMNS

    def __init__(self, folder: Path, failing: Failing) -> None:
        self._folder = folder
        self._failing = failing

    @property
    def earliest(self) -> int:
        return 0

    def version_of(self, name: int) -> int:
        return name

    def first_since(self, seconds: float) -> int | None:
        return None

    def newest(self) -> int:
        return FILES - 1

    def whole(self, version: int) -> Commit:
        raise NotImplementedError

    def commit(self, version: int) -> Commit | None:
        self._failing.step()
        if version >= FILES:
            return None
        path = self._folder / f"{version}.parquet"
        return Commit(version, 0, [DataFile(path, path.stat().st_size, ROWS)], COLUMNS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(FILES):
        ids = range(number * ROWS, number * ROWS + ROWS)
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), tmp_path / f"{number}.parquet", row_group_size=2)
    return tmp_path


def values(task: LakeSourceTask) -> Iterator[Any]:
    """All values, in however many polls, of which some fail."""
    failed = 0
    while not task.caught_up:
        try:
            for batch in batches_of(task.poll()):
                yield from batch.values
        except RetriableError:
            failed += 1
            assert failed == 1


@pytest.mark.parametrize("at", range(1, 60))
def test_what_fails_at_any_step_and_is_asked_again_gives_every_row_once(
    folder: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = Failing(at)

    class Rows(files.FileRows):
        def next(self) -> pa.StructArray | None:
            found = super().next()
            failing.step()
            return found

    class Records(Batches):
        def batch(self, *given: Any) -> Any:
            failing.step()
            return super().batch(*given)

    monkeypatch.setattr(walk, "FileRows", Rows)
    policy = Policy(lambda commit: Records(commit, (), columnar=True), skips_rewrites=False, skips_gaps=False)
    share = Share("table", TableCoordinate(0), [0], 1, 0.0)
    task = LakeSourceTask(lambda: Log(folder, failing), share, policy, TaskContext(batch_records=4))
    task.start({})
    assert [value["id"] for value in values(task)] == list(range(FILES * ROWS))
    task.close()


def test_a_file_that_ends_before_its_rows_do_is_not_taken_for_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Short(files.FileRows):
        def next(self) -> pa.StructArray | None:
            found = super().next()
            return found if found is not None and found[0]["id"].as_py() < 2 else None

    monkeypatch.setattr(walk, "FileRows", Short)
    policy = Policy(lambda commit: Batches(commit, (), columnar=True), skips_rewrites=False, skips_gaps=False)
    task = LakeSourceTask(
        lambda: Log(folder, Failing(0)), Share("table", TableCoordinate(0), [0], 1, 0.0), policy, TaskContext(batch_records=2)
    )
    task.start({})
    with pytest.raises(ConnectorError, match="a file that has 6 rows ended behind 2"):
        for _ in range(10):
            task.poll()
    task.close()


def test_a_position_behind_the_rows_of_its_file_is_told(folder: Path) -> None:
    policy = Policy(lambda commit: Batches(commit, (), columnar=True), skips_rewrites=False, skips_gaps=False)
    log = Log(folder, Failing(0))
    short = DataFile(folder / "0.parquet", 1, None)
    log.commit = lambda version: Commit(version, 0, [short], COLUMNS)  # type: ignore[method-assign]
    task = LakeSourceTask(lambda: log, Share("table", TableCoordinate(0, 0, 0, 99), [0], 1, 0.0), policy, TaskContext())
    task.start({})
    with pytest.raises(PermanentError, match=r"behind row 99 of .* which has 6 rows"):
        task.poll()
    task.close()
