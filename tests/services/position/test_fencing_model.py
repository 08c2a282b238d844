"""The store against a model of its promises that is written as naively as possible, by random histories."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rocketconnect_kit.errors import FailedPrecondition, ServiceError
from rocketconnect_kit.store import database
from services.position.domain import Fence, Update
from services.position.store import PositionStore

if TYPE_CHECKING:
    from concurrent.futures import Future

R = TypeVar("R")
TASKS = st.integers(0, 2)
NUMBERS = st.integers(1, 4)
LEASE = 12
PARTITIONS = st.sampled_from(["a", "b", "c"])


def outcome(future: "Future[R]") -> R | ServiceError:
    try:
        return future.result(60)
    except ServiceError as error:
        return error


class Positions(RuleBasedStateMachine):
    """One connector. The model remembers the whole history and looks it through for each answer."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.engine = database.engine(f"sqlite:///{Path(self.folder.name)}/position.db")
        database.migrate(self.engine, "position")
        self.time = 0
        self.store = PositionStore(self.engine, lambda: 1, self.now)
        self.opens: list[Fence] = []
        self.owner: dict[int, Fence | None] = {}
        self.confirmed: list[tuple[Fence, int]] = []
        self.dirty: dict[tuple[int, int], bool] = {}
        self.forgiven_before = 0
        self.positions: dict[str, tuple[int, str]] = {}
        self.incarnation = 0

    def now(self) -> int:
        self.time += 1
        return self.time

    @initialize()
    def nothing_yet(self) -> None:
        assert self.store.page("u", "", 10) == []

    def generation(self) -> int:
        return max((each.generation for each in self.opens), default=0)

    def may_open(self, fence: Fence) -> bool:
        epochs = [each.epoch for each in self.opens if each.task == fence.task]
        older = [each.epoch for each in self.opens if each.generation < fence.generation]
        is_above_older = fence.epoch > max(older, default=0)
        return fence.generation >= self.generation() and fence.epoch >= max(epochs, default=0) and is_above_older

    def may_commit(self, fence: Fence) -> bool:
        return fence.generation == self.generation() and self.owner.get(fence.task) == fence

    @rule(task=TASKS, generation=NUMBERS, epoch=NUMBERS)
    def open(self, task: int, generation: int, epoch: int) -> None:
        fence = Fence("u", task, generation, epoch)
        answer = outcome(self.store.open_task(fence))
        if isinstance(answer, ServiceError):
            assert answer.reason == "FENCED"
            assert not self.may_open(fence)
            return
        assert self.may_open(fence)
        own = self.dirty.get((generation, task))
        dirty_before = any(dirty for (other, _task), dirty in self.dirty.items() if other < generation)
        assert answer.clean == (not own if own is not None else not dirty_before)
        assert {each.partition: (each.incarnation, each.offset) for each in answer.positions} == self.positions
        assert answer.incarnation == self.incarnation
        # Invariant 3: nobody who may still write for the same task, or for one of an older generation, outlasts the wait.
        older = [until for by, until in self.confirmed if (by.task == task and by.epoch < epoch) or by.generation < generation]
        assert max(older, default=0) - self.time <= answer.wait <= LEASE
        self.opens.append(fence)
        self.owner[task] = fence
        self.dirty[generation, task] = True

    @rule(
        task=TASKS,
        generation=NUMBERS,
        epoch=NUMBERS,
        moves=st.dictionaries(PARTITIONS, st.tuples(st.integers(0, 3), st.sampled_from(["", "none", "[0]", "[1]"])), max_size=3),
        clean=st.booleans(),
    )
    def commit(self, task: int, generation: int, epoch: int, moves: dict[str, tuple[int, str]], clean: bool) -> None:
        fence = Fence("u", task, generation, epoch)
        updates = [Update(partition, f"[{offset}]", 0, "", expected) for partition, (offset, expected) in moves.items()]
        wrong = [
            partition
            for partition, (offset, expected) in moves.items()
            if expected
            and expected != self.positions.get(partition, (0, "none"))[1]
            and self.positions.get(partition, (0, "none"))[1] != f"[{offset}]"
        ]
        answer = outcome(self.store.commit(fence, updates, clean=clean))
        if isinstance(answer, FailedPrecondition):
            assert answer.reason == "FENCED"
            assert not self.may_commit(fence)
            return
        if isinstance(answer, ServiceError):
            assert self.may_commit(fence)
            assert (answer.reason, answer.metadata["partition"] in wrong) == ("POSITION_MISMATCH", True)
            return
        assert self.may_commit(fence)
        assert not wrong
        for partition, (offset, _expected) in moves.items():
            self.positions[partition] = (self.positions.get(partition, (self.incarnation, ""))[0], f"[{offset}]")
        self.dirty[generation, task] = not clean

    @rule(fences=st.dictionaries(TASKS, st.tuples(NUMBERS, NUMBERS)))
    def confirm(self, fences: dict[int, tuple[int, int]]) -> None:
        asked = [Fence("u", task, *numbers) for task, numbers in fences.items()]
        # A worker counts its lease from before it asked.
        until = self.time + LEASE
        fenced = self.store.confirm("u", asked, LEASE).result(10)
        for fence in asked:
            last = next((each for each in reversed(self.opens) if each.task == fence.task), None)
            shut_out = last == fence and self.owner[fence.task] is None
            assert (fence in fenced) == (shut_out or not self.may_open(fence))
            if fence not in fenced:
                self.confirmed.append((fence, until))

    @rule(partition=PARTITIONS, offset=st.integers(0, 3))
    def alter(self, partition: str, offset: int) -> None:
        self.store.alter("u", {partition: (f"[{offset}]", "")}).result(10)
        self.positions[partition] = (self.positions.get(partition, (self.incarnation, ""))[0] + 1, f"[{offset}]")
        self.owner = dict.fromkeys(self.owner)

    @rule()
    def reset(self) -> None:
        assert self.store.reset("u").result(10).forgotten == len(self.positions)
        self.incarnation = max([self.incarnation, *(incarnation for incarnation, _ in self.positions.values())]) + 1
        self.positions = {}
        self.owner = dict.fromkeys(self.owner)
        self.dirty = dict.fromkeys(self.dirty, False)

    @rule(offsets=st.dictionaries(PARTITIONS, st.integers(0, 3), max_size=3))
    def put_back(self, offsets: dict[str, int]) -> None:
        self.store.put_back("u", {partition: (f"[{offset}]", "") for partition, offset in offsets.items()}).result(10)
        self.incarnation = max([self.incarnation, *(incarnation for incarnation, _ in self.positions.values())]) + 1
        self.positions = {partition: (self.incarnation, f"[{offset}]") for partition, offset in offsets.items()}
        self.owner = dict.fromkeys(self.owner)

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = PositionStore(self.engine, lambda: 1, self.now)

    @invariant()
    def what_is_stored_is_what_was_committed(self) -> None:
        stored = {each.partition: (each.incarnation, each.offset) for each in self.store.page("u", "", 10)}
        assert stored == self.positions

    def teardown(self) -> None:
        self.store.close()
        self.engine.dispose()
        self.folder.cleanup()


Positions.TestCase.settings = settings(
    max_examples=60 if settings.get_current_profile_name() == "search" else 30, stateful_step_count=40, deadline=None
)
TestPositions = Positions.TestCase
