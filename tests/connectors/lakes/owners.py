"""What every sink of a lake does when tasks are replaced, and when others write the same table, with Spark.

    class TestOwners(OwnersSuite):
        lake = Delta

A lake whose tables are made otherwise overrides the fixture `table`.
"""

from pathlib import Path
from typing import ClassVar

import pytest

from rocketconnect_sdk.errors import PermanentError, RetriableError
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.lakes.changes import QUEUE
from tests.connectors.lakes.table import TWO, LakeTable, commit_of

IN_2050 = 757_382_400_000
"""An epoch by a clock that was wrong: what is packed of it has more than 63 bits."""

OTHER_QUEUE = "orders/broker-a/1"


class ReplacedSuite:
    """A task that is replaced, and a commit whose answer is lost."""

    lake: ClassVar[type[LakeTable]]

    @pytest.fixture
    def table(self, tmp_path: Path) -> LakeTable:
        return self.lake(tmp_path / "table")

    def test_an_owner_that_is_replaced_in_the_middle_of_a_write_adds_nothing_also_by_one_of_a_wrong_clock(
        self, table: LakeTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        zombie, new = table.owner(), table.owner(owner=(1, IN_2050))
        zombie.start()
        zombie.append(0, 10)
        before = table.on_the_disk()
        table.appends.in_front(monkeypatch, new.start)
        with pytest.raises(PermanentError, match="a newer owner"):
            zombie.append(10, 20)
        assert table.ids() == list(range(10))
        assert not table.clears or table.on_the_disk() == before
        new.append(10, 20, schema=TWO, more=7)
        assert table.ids() == list(range(20))
        with pytest.raises(PermanentError, match="a newer owner"):
            table.owner(owner=(1, 3)).start()
        assert table.owner(owner=(1, IN_2050 + 1)).start() == {QUEUE: QueuePosition(20)}

    @pytest.mark.parametrize("by", [pytest.param("itself", marks=pytest.mark.slow), "the next one"])
    @pytest.mark.parametrize("written", [pytest.param(False, marks=pytest.mark.slow), True])
    def test_an_answer_that_is_lost_is_no_double_and_no_loss(
        self, table: LakeTable, monkeypatch: pytest.MonkeyPatch, written: bool, by: str
    ) -> None:
        owner = table.owner()
        owner.start()
        owner.append(0, 10)
        table.appends.lose_an_answer(monkeypatch, written=written)
        with pytest.raises(RetriableError):
            owner.append(10, 20)
        if by == "the next one":
            owner = table.owner(owner=(1, 2))
            assert owner.start() == {QUEUE: QueuePosition(20 if written else 10)}
        owner.append(10, 20)
        owner.append(20, 30)
        assert table.ids() == list(range(30))
        assert table.owner(owner=(1, 3)).start() == {QUEUE: QueuePosition(30)}
        self.is_clean(table)

    def is_clean(self, table: LakeTable) -> None:
        """AssertionError: something is left of batches that count, or do not."""


class OwnersSuite(ReplacedSuite):
    """All of it."""

    def test_a_table_gets_new_columns_and_keeps_its_partitions(self, table: LakeTable) -> None:
        owner = table.owner(partition_by="day")
        owner.start()
        owner.append(0, 2)
        owner.append(2, 4, schema=TWO, more=7, day=6)
        assert table.stored() == [
            {"id": 0, "day": 5, "more": None},
            {"id": 1, "day": 5, "more": None},
            {"id": 2, "day": 6, "more": 7},
            {"id": 3, "day": 6, "more": 7},
        ]
        assert table.partitions() == ["day"]

    def test_a_new_plan_takes_over_the_queues_of_tasks_that_it_does_not_have(self, table: LakeTable) -> None:
        old = [table.owner(task=task) for task in (0, 1)]
        for task, owner in enumerate(old):
            owner.start()
            owner.append(0, 10, queue=task)
        new = table.owner(owner=(2, 2))
        assert new.start() == {QUEUE: QueuePosition(10), OTHER_QUEUE: QueuePosition(10)}
        with pytest.raises(PermanentError, match="a newer owner"):
            old[1].append(10, 20, queue=1)
        # What the first task of a plan has taken over the others go on from.
        other = table.owner(task=1, owner=(2, 3))
        assert other.start()[OTHER_QUEUE] == QueuePosition(10)
        other.append(10, 15, queue=1)
        with pytest.raises(PermanentError, match="a newer owner"):
            old[1].append(10, 20, queue=1)
        assert len(table.read()) == 25

    def test_of_two_that_claim_at_the_same_time_the_newer_one_has_the_table(
        self, table: LakeTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = table.owner()
        first.start()
        first.append(0, 10)
        old, new = table.owner(owner=(1, 2)), table.owner(owner=(1, 3))
        table.claims.in_front(monkeypatch, new.start)
        with pytest.raises(PermanentError, match="a newer owner"):
            old.start()
        new.append(10, 20)
        assert table.ids() == list(range(20))

    @pytest.mark.slow
    def test_a_write_of_a_task_that_a_new_plan_does_not_have_is_refused_in_its_middle(
        self, table: LakeTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The new plan has looked, claimed and closed while Spark wrote the files of the old one."""
        old, new = table.owner(task=1), table.owner(owner=(2, 2))
        old.start()
        old.append(0, 10)

        def replaced() -> None:
            assert new.start() == {QUEUE: QueuePosition(10)}
            new.append(10, 20)

        table.appends.in_front(monkeypatch, replaced)
        with pytest.raises(PermanentError, match="a newer owner"):
            old.append(10, 20)
        assert table.ids() == list(range(20))

    def test_a_write_between_the_look_and_the_claim_of_a_new_plan_is_not_lost_on_it(
        self, table: LakeTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old, new = table.owner(task=1), table.owner(owner=(2, 2))
        old.start()
        old.append(0, 10)
        table.claims.in_front(monkeypatch, lambda: old.append(10, 20))
        assert new.start() == {QUEUE: QueuePosition(20)}
        with pytest.raises(PermanentError, match="a newer owner"):
            old.append(20, 30)
        assert table.ids() == list(range(20))

    @pytest.mark.parametrize("first", [pytest.param("old", marks=pytest.mark.slow), "new"])
    def test_of_two_plans_that_claim_different_tasks_at_the_same_time_the_newer_one_has_the_table(
        self, table: LakeTable, monkeypatch: pytest.MonkeyPatch, first: str
    ) -> None:
        """Neither of them knows of the task of the other when it looks."""
        table.owner(uid="other").start()
        table.owner(uid="other").append(0, 1)
        old, new = table.owner(task=1), table.owner(owner=(2, 2))
        table.claims.in_front(monkeypatch, old.start if first == "old" else new.start)
        if first == "old":
            new.start()
        with pytest.raises(PermanentError, match="a newer owner"):
            (old.append(1, 10) if first == "old" else old.start())
        new.append(1, 10)
        assert table.ids() == list(range(10))

    def test_the_first_batch_of_an_owner_that_was_replaced_before_there_was_a_table_is_refused(self, table: LakeTable) -> None:
        old, new = table.owner(task=1), table.owner(owner=(2, 2))
        assert old.start() == new.start() == {}
        new.append(0, 10)
        with pytest.raises(PermanentError, match="a newer owner"):
            old.append(0, 10)
        assert table.ids() == list(range(10))

    def test_a_table_that_another_one_makes_meanwhile_is_looked_at_again(self, table: LakeTable) -> None:
        """It has other columns."""
        owner, other = table.owner(), table.owner(uid="other")
        owner.start()
        owner.task.columns_for(TWO)
        other.start()
        other.append(0, 1)
        with pytest.raises(RetriableError, match="has made the table meanwhile"):
            owner.put([{"id": 1, "day": 5, "more": 7}], TWO, commit_of(QUEUE, 0, 1))
        owner.append(1, 2, schema=TWO, more=7)
        assert table.ids() == [0, 1]

    @pytest.mark.slow
    def test_another_task_may_write_in_the_middle_of_a_write(self, table: LakeTable, monkeypatch: pytest.MonkeyPatch) -> None:
        one, other = table.owner(), table.owner(task=1)
        one.start()
        one.append(0, 3)
        other.start()
        table.appends.in_front(monkeypatch, lambda: other.append(0, 3, queue=1))
        one.append(3, 5)
        assert table.ids() == [0, 0, 1, 1, 2, 2, 3, 4]
        assert table.owner(owner=(1, 2)).start() == {QUEUE: QueuePosition(5), OTHER_QUEUE: QueuePosition(3)}

    @pytest.mark.slow
    def test_several_connectors_and_other_programs_may_append(self, table: LakeTable, monkeypatch: pytest.MonkeyPatch) -> None:
        one, other = table.owner(uid="one"), table.owner(uid="other")
        one.start()
        other.start()
        one.append(0, 3)
        table.appends.in_front(monkeypatch, lambda: one.append(3, 5))
        other.append(0, 3)
        table.appends.in_front(monkeypatch, lambda: table.adds(100, 101))
        one.append(5, 6)
        assert table.ids() == [0, 0, 1, 1, 2, 2, 3, 4, 5, 100, 101]
        assert not table.clears or len(table.on_the_disk()) == len(table.files())
