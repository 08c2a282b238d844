"""What every source of a queue must do, beside what every source must.

    class TestMyQueue(QueueSuite):
        @pytest.fixture
        def case(self, server): return QueueCase(MySource(), {"option": "value"}, server.publish)

A case has an empty queue of its own.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from rocketconnect_sdk.conformance.documented import check_documented
from rocketconnect_sdk.conformance.kill import run_and_kill
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.queues import QueueSource, QueueTask
from rocketconnect_sdk.queues.reader import REDELIVERED
from rocketconnect_sdk.record import Position

_STEPS = 500
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class QueueCase:
    """A source, and an empty queue that it reads.

    Attributes:
        source: The source.
        config: Its own options.
        publish: Puts texts into the queue, in their order; returns when the broker has them.
        cut: Ends all connections of the source at the broker; None: not tried.
        left: How many things the connector "test" has at the broker; None: it has none ever.
        calls: Functions ("module:function") before whose calls the process is killed, besides those of the file system.
        every: At every so many-th step the process is killed.
        flags: The broker says what it gives again.
        seconds: How long anything may take.
    """

    source: QueueSource
    config: Mapping[str, str]
    publish: Callable[[Sequence[str]], None]
    cut: Callable[[], None] | None = None
    left: Callable[[], int] | None = None
    calls: tuple[str, ...] = field(default=())
    every: int = 1
    flags: bool = True
    seconds: float = 60.0

    @property
    def parsed(self) -> Config:
        """The configuration, parsed."""
        return parse(self.source.options, self.config)


class Driver:
    """Drives a task as the runtime does. What its topic has is in `values`; positions are stored when `commit` is called.

    Args:
        case: What is read.
        positions: Those that are stored; they move.
        epoch: Of the task.
        number: Of the task.
        tasks: How many there are.
        records: So many a poll gives at most.
    """

    def __init__(
        self,
        case: QueueCase,
        positions: dict[str, Position],
        *,
        epoch: int = 1,
        number: int = 0,
        tasks: int = 1,
        records: int = 10_000,
    ) -> None:
        self.case = case
        self.values: list[str] = []
        self.redelivered: list[bool] = []
        self._positions = positions
        self._moved: dict[str, Position] = {}
        context = TaskContext(epoch=epoch, task=number, batch_records=records)
        self.task = case.source.open(case.parsed, case.source.plan(case.parsed, tasks, positions).tasks[number], context)
        assert isinstance(self.task, QueueTask)

    def start(self) -> "Driver":
        """Starts where it is stored."""
        self._insist(lambda: self.task.start(dict(self._positions)))
        return self

    def poll(self) -> int:
        """Polls once; returns how many records came."""
        before = len(self.values)
        for batch in batches_of(self._insist(self.task.poll)):
            self.values += [value.decode() if isinstance(value, bytes) else str(value) for value in batch.values]
            headers = batch.headers or [{}] * len(batch)
            self.redelivered += [REDELIVERED in each for each in headers]
            self._moved[batch.partition] = Position(batch.end or batch.offsets[-1], batch.resume or {})
        return len(self.values) - before

    def take_moved(self) -> dict[str, Position]:
        """The positions of what was given and is not stored."""
        moved, self._moved = self._moved, {}
        return moved

    def commit(self, given: Mapping[str, Position] | None = None) -> None:
        """Stores what was given: all, or up to these positions."""
        moved = self.take_moved() if given is None else given
        if moved:
            self._positions.update(moved)
            self.task.committed(moved)

    def read(self, count: int, *, commit: bool = True) -> "Driver":
        """Polls until there are so many values."""
        end = time.monotonic() + self.case.seconds
        while len(self.values) < count:
            assert time.monotonic() < end, f"only {len(self.values)} of {count} came within {self.case.seconds} s"
            if not self.poll():
                time.sleep(self.task.idle_seconds)
            if commit:
                self.commit()
        return self

    def settle(self, seconds: float = 0.3) -> "Driver":
        """Polls and stores until nothing came for so long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.poll():
                end = time.monotonic() + seconds
            self.commit()
            time.sleep(self.task.idle_seconds)
        return self

    def _insist(self, call: Callable[[], T]) -> T:
        end = time.monotonic() + self.case.seconds
        while True:
            try:
                return call()
            except SystemAway:
                assert time.monotonic() < end, "the broker stays away"
                time.sleep(0.05)


@contextmanager
def driving(case: QueueCase, positions: dict[str, Position], **of: int) -> Iterator[Driver]:
    """A task that is started, and closed at the end."""
    driver = Driver(case, positions, **of)
    try:
        yield driver.start()
    finally:
        driver.task.close()


def _texts(first: int, until: int) -> list[str]:
    return [f"{number:05d} ünï" for number in range(first, until)]


class QueueSuite:
    """Subclass it, and give it a fixture named `case`."""

    @pytest.fixture
    def case(self) -> QueueCase:
        """What is tested."""
        raise NotImplementedError

    @pytest.fixture
    def begun(self, case: QueueCase) -> dict[str, Position]:
        """The positions after a first start: from then on the broker keeps what is published."""
        positions: dict[str, Position] = {}
        with driving(case, positions) as driver:
            driver.settle(0.1)
        return positions

    def test_its_options_are_documented(self, case: QueueCase) -> None:
        """Every option says what it is for, under a key that can be read."""
        check_documented(case.source.options)
        assert list(case.source.check(case.parsed)) == []
        assert not case.source.replayable(case.parsed)

    def test_what_is_acknowledged_is_given_once_and_in_order(self, case: QueueCase, begun: dict[str, Position]) -> None:
        """Also what came while no task ran, and over several starts."""
        case.publish(_texts(0, 50))
        with driving(case, begun, epoch=2) as driver:
            case.publish(_texts(50, 100))
            assert driver.read(100).values == _texts(0, 100)
            assert driver.settle().values == _texts(0, 100)
        case.publish(_texts(100, 110))
        with driving(case, begun, epoch=3) as driver:
            assert driver.read(10).settle().values == _texts(100, 110)

    def test_what_is_not_stored_comes_again(self, case: QueueCase, begun: dict[str, Position]) -> None:
        """The topic may not have it. It is flagged, and its offsets are above those of the first time."""
        case.publish(_texts(0, 20))
        with driving(case, begun, epoch=2) as driver:
            driver.read(20, commit=False)
        with driving(case, begun, epoch=3) as driver:
            assert sorted(driver.read(20).values) == _texts(0, 20)
            if case.flags:
                assert all(driver.redelivered[:20])
            case.publish(_texts(20, 21))
            driver.read(21)
            assert not driver.redelivered[-1]

    def test_what_is_stored_in_part_comes_again_from_there(self, case: QueueCase, begun: dict[str, Position]) -> None:
        """The topic has some of what was given, and no more is acknowledged."""
        case.publish(_texts(0, 20))
        with driving(case, begun, epoch=2, records=5) as driver:
            stored = driver.read(10, commit=False).take_moved()
            done = len(driver.values)
            driver.read(20, commit=False)
            driver.commit(stored)
            given = driver.values
        with driving(case, begun, epoch=3) as driver:
            assert driver.read(len(given) - done).settle().values == given[done:]

    def test_a_connection_that_ends_loses_nothing(self, case: QueueCase, begun: dict[str, Position]) -> None:
        """Neither what was given and is not stored, nor what comes meanwhile. Old tags are not used on the new one."""
        if case.cut is None:
            pytest.skip("connections are not cut here")
        with driving(case, begun, epoch=2) as driver:
            case.publish(_texts(0, 20))
            driver.read(20, commit=False)
            case.cut()
            case.publish(_texts(20, 40))
            driver.read(30, commit=False)
            driver.commit()
            driver.settle(0.05)
            end = time.monotonic() + case.seconds
            while set(driver.values) != set(_texts(0, 40)):
                assert time.monotonic() < end, f"only {len(set(driver.values))} of 40 came"
                driver.settle(0.05)
        with driving(case, begun, epoch=3) as driver:
            assert driver.settle().values == []

    def test_what_waits_for_tasks_that_are_no_more_is_read_and_nothing_is_left(self, case: QueueCase) -> None:
        """A plan may have fewer tasks than the one before."""
        positions: dict[str, Position] = {}
        tasks = len(case.source.plan(case.parsed, 3, {}).tasks)
        for number in range(tasks):
            with driving(case, positions, number=number, tasks=tasks) as driver:
                driver.settle(0.1)
        case.publish(_texts(0, 60))
        with driving(case, positions, epoch=9) as driver:
            assert sorted(driver.read(60).settle(2 * case.source.drained_seconds).values) == _texts(0, 60)
            end = time.monotonic() + case.seconds
            while case.left is not None and case.left() > 1:
                assert time.monotonic() < end, "what a task had at the broker is still there"
                # To look may disturb.
                driver.settle(2 * case.source.drained_seconds)
            driver.settle(0.1)
        with driving(case, positions, epoch=10) as driver:
            assert driver.settle(0.1).values == []

    def test_nothing_is_left_of_a_connector_that_is_deleted(self, case: QueueCase, begun: dict[str, Position]) -> None:
        """Also when it is told twice."""
        del begun
        for _ in range(2):
            case.source.deleted(case.parsed, TaskContext().connector_uid)
        assert case.left is None or case.left() == 0

    def test_no_more_is_taken_than_is_wanted(self, case: QueueCase, begun: dict[str, Position]) -> None:
        """Memory is bounded by what is not confirmed."""
        case.publish(_texts(0, 30))
        driver = Driver(QueueCase(case.source, {**case.config, "prefetch": "10"}, case.publish), begun, epoch=2)
        try:
            driver.start().read(10, commit=False)
            for _ in range(20):
                driver.poll()
            assert len(driver.values) == 10
            driver.read(30)
        finally:
            driver.task.close()

    def test_it_can_be_closed_twice_and_without_a_start(self, case: QueueCase) -> None:
        """close() comes after errors, too."""
        driver = Driver(case, {})
        driver.task.close()
        driver.start().task.close()
        driver.task.close()

    def test_killed_anywhere_nothing_is_lost(self, case: QueueCase, begun: dict[str, Position], tmp_path: Path) -> None:
        """Killed at one step after the other; the next one goes on until all is in the topic, which is a file."""
        topic = tmp_path / "topic"
        topic.touch()
        published = 0
        for step in range(1, _STEPS, case.every):
            case.publish(_texts(published, published + 10))
            published += 10
            work = partial(_copy, case, dict(begun), topic, 2 * step, published)
            killed = run_and_kill(work, step, case.calls)
            _copy(case, begun, topic, 2 * step + 1, published)
            if not killed:
                return
        pytest.fail(f"a message takes more than {_STEPS} steps")


def _copy(case: QueueCase, positions: dict[str, Position], topic: Path, epoch: int, until: int) -> None:
    """Copies into a file until that has so many texts."""
    driver = Driver(case, positions, epoch=epoch).start()
    with topic.open("ab", buffering=0) as file:
        end = time.monotonic() + case.seconds
        while len(found := set(topic.read_text().splitlines())) < until:
            assert time.monotonic() < end, f"only {len(found)} of {until} came"
            before = len(driver.values)
            if not driver.poll():
                time.sleep(driver.task.idle_seconds)
            if texts := driver.values[before:]:
                file.write("".join(f"{text}\n" for text in texts).encode())
                os.fsync(file.fileno())
            driver.commit()
    driver.task.close()
