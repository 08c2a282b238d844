"""What every sink of a lake that puts small files together does, with Spark.

class TestSmallFiles(SmallFilesSuite):
    lake = Delta
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from connectors.lakes import compaction
from rocketconnect_sdk.errors import RetriableError
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.lakes.changes import QUEUE
from tests.connectors.lakes.table import LakeTable, Owner, Seam

DUE = {"compact.interval": "1ms"}


class SmallFilesSuite:
    """Subclass it, and say which lake it is.

    Class attributes:
        lake: Which.
        compacts: Behind its call small files are one, and not before.
        enough: So many small files become one.
    """

    lake: ClassVar[type[LakeTable]]
    compacts: ClassVar[Seam]
    enough: ClassVar[int]

    @pytest.fixture
    def table(self, tmp_path: Path) -> LakeTable:
        return self.lake(tmp_path / "table")

    @pytest.fixture(autouse=True)
    def _few_are_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(compaction, "ENOUGH", 3)

    def in_front(self, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
        """Has something happen once, between the commit of the next batch and small files' becoming one."""
        self.compacts.in_front(monkeypatch, happens)

    def instead(self, monkeypatch: pytest.MonkeyPatch, does: Callable[..., None]) -> None:
        """Has something done in the place of what makes small files one."""
        monkeypatch.setattr(self.compacts.module, self.compacts.name, does)

    def grown(self, table: LakeTable, *, task: int = 0) -> Owner:
        """An owner whose next batch makes one file more than may stay."""
        owner = table.owner(DUE, task=task)
        owner.start()
        for _ in range(self.enough - 1):
            self.grow(owner)
        return owner

    def grow(self, owner: Owner) -> None:
        """By a file of ten rows."""
        owner.append(owner.at, owner.at + 10)
        owner.at += 10

    @pytest.mark.parametrize("mode", ["insert", pytest.param("upsert", marks=pytest.mark.slow)])
    def test_small_files_of_each_partition_become_one_with_the_same_rows(self, table: LakeTable, mode: str) -> None:
        options = {"partition.by": "day", "insert.mode": mode, "pk.fields": "id" if mode == "upsert" else ""}
        owner = table.owner(options)
        owner.start()
        for begin in range(0, 30, 10):
            owner.append(begin, begin + 10)
        owner.append(30, 40, day=6)
        assert len(table.files()) == 4
        other = table.owner({**options, **DUE}, owner=(1, 2))
        assert other.start() == {QUEUE: QueuePosition(40)}
        other.append(40, 50)
        assert len(table.files()) == 2
        self.is_marked(table)
        assert table.ids() == list(range(50))
        assert table.owner(options, owner=(1, 3)).start() == {QUEUE: QueuePosition(50)}

    def is_marked(self, table: LakeTable) -> None:
        """AssertionError: readers do not see that the newest commit brings no rows."""

    @pytest.mark.slow
    def test_another_task_leaves_small_files_to_the_first_one(self, table: LakeTable) -> None:
        self.grow(self.grown(table, task=1))
        assert len(table.files()) == self.enough

    @pytest.mark.slow
    def test_what_keeps_small_files_from_being_put_together_is_told_and_the_batch_counts(
        self, table: LakeTable, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        owner = self.grown(table)

        def fails() -> None:
            msg = "another commit was in the way"
            raise RetriableError(msg)

        self.in_front(monkeypatch, fails)
        caplog.set_level(logging.INFO, logger="rocketconnect.task")
        self.grow(owner)
        assert "small files were not put together, which is tried again in 0.001 s: another commit was in the way" in caplog.text
        assert table.ids() == list(range(10 * self.enough))
        assert len(table.files()) == self.enough
        self.grow(owner)
        assert table.ids() == list(range(10 * self.enough + 10))
        assert len(table.files()) == 1
        assert f"put {self.enough + 1} small files together, into 1" in caplog.text

    @pytest.mark.slow
    def test_rows_that_another_owner_adds_meanwhile_stay(
        self, table: LakeTable, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        owner, other = self.grown(table), table.owner(uid="other")
        other.start()
        self.in_front(monkeypatch, lambda: other.append(100, 110))
        self.grow(owner)
        self.is_overtaken(caplog.text)
        assert table.ids() == [*range(10 * self.enough), *range(100, 110)]
        assert not table.clears or len(table.on_the_disk()) == len(table.files())
        self.grow(owner)
        assert table.ids() == [*range(10 * self.enough + 10), *range(100, 110)]
        assert len(table.files()) == 1

    def is_overtaken(self, said: str) -> None:
        """AssertionError: what a commit of another one keeps from being done was done, or is not told."""

    @pytest.mark.slow
    @pytest.mark.parametrize("is_done", [False, True], ids=["before", "behind"])
    def test_one_that_is_killed_at_it_has_lost_and_doubled_nothing(
        self, table: LakeTable, monkeypatch: pytest.MonkeyPatch, is_done: bool
    ) -> None:
        owner = self.grown(table)
        does: Callable[..., None] = getattr(self.compacts.module, self.compacts.name)

        def killed(*given: object) -> None:
            if is_done:
                does(*given)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            self.instead(patch, killed)
            with pytest.raises(KeyboardInterrupt):
                self.grow(owner)
        newer = table.owner(DUE, owner=(1, 2))
        assert newer.start() == {QUEUE: QueuePosition(10 * self.enough)}
        self.grow(newer)
        self.grow(newer)
        assert table.ids() == list(range(10 * self.enough + 20))
        assert len(table.files()) <= 2
