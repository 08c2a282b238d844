"""What every source of pages must do, beside what every source must.

    class TestMyPages(CursorSuite):
        @pytest.fixture
        def case(self, server): return CursorCase(MySource(), {"option": "value"}, server.add)

A case has an empty stream of its own.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from rocketconnect_sdk.conformance.documented import check_documented
from rocketconnect_sdk.conformance.kill import run_and_kill
from rocketconnect_sdk.conformance.source import stored
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.cursors import CursorSource, CursorTask
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Offset, Position

_STEPS = 500
_TOGETHER = 20
"""So many rows are added at once."""


@dataclass(frozen=True, slots=True)
class CursorCase:
    """A source, and an empty stream that it reads again and again, at once: its interval is short.

    Attributes:
        source: The source.
        config: Its own options.
        add: Adds rows with these texts, each newer than all before; returns when they can be read.
        text: The text of a value.
        late: Adds rows that are older than the newest one, within the overlap; None: the source sees none.
        lose: Ends all sessions at the other side; None: there are none.
        stable: A session that is entered again gives the same rows.
        calls: Functions ("module:function") before whose calls the process is killed, besides those of the file system.
        every: At every so many-th step the process is killed.
        seconds: How long anything may take.
    """

    source: CursorSource
    config: Mapping[str, str]
    add: Callable[[Sequence[str]], None]
    text: Callable[[object], str] = str
    late: Callable[[Sequence[str]], None] | None = None
    lose: Callable[[], None] | None = None
    stable: bool = False
    calls: tuple[str, ...] = field(default=())
    every: int = 1
    seconds: float = 60.0

    @property
    def parsed(self) -> Config:
        """The configuration, parsed."""
        return parse(self.source.options, self.config)


class Driver:
    """Drives the tasks of a plan as the runtime does.

    Attributes:
        texts: What the topic has, in the order in which it came.
        positions: What is stored.

    Args:
        case: What is read.
        tasks: So many at most.
        records: So many a poll gives at most.
        epoch: Of the first start; each one has the next.
    """

    def __init__(self, case: CursorCase, *, tasks: int = 1, records: int = 7, epoch: int = 1) -> None:
        self.case = case
        self.texts: list[str] = []
        self.positions: dict[str, Position] = {}
        self._tasks: list[CursorTask] = []
        self._most, self._records = tasks, records
        self._newest: dict[str, Offset] = {}
        self._unstored: list[tuple[str, Position]] = []
        self._epoch = epoch

    def __enter__(self) -> "Driver":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends its tasks."""
        self.kill()

    def poll(self) -> int:
        """Polls each task once, and returns how many records came. What is in the topic already is not sent again."""
        if not self._tasks:
            self._start()
        came = 0
        try:
            for batch in (batch for task in self._tasks for batch in batches_of(task.poll())):
                for offset, value in zip(batch.offsets, batch.values, strict=True):
                    if offset > self._newest.get(batch.partition, ()):
                        self._newest[batch.partition] = offset
                        self.texts.append(self.case.text(value))
                came += len(batch)
                self._unstored.append((batch.partition, stored(Position(batch.end or batch.offsets[-1], batch.resume or {}))))
        except SystemAway:
            self.kill()
        return came

    def store(self, count: int | None = None) -> None:
        """Stores the first of the positions of what was sent; None: all."""
        moved = dict(self._unstored[:count])
        self._unstored = [] if count is None else self._unstored[count:]
        self.positions |= moved
        if moved:
            for task in self._tasks:
                task.committed(moved)

    def read(self, count: int, *, store: bool = True) -> list[str]:
        """Polls until the topic has so many texts."""
        end = time.monotonic() + self.case.seconds
        while len(self.texts) < count:
            assert time.monotonic() < end, f"only {len(self.texts)} of {count} came within {self.case.seconds} s"
            if not self.poll():
                time.sleep(min(0.02, self._idle))
            if store:
                self.store()
        return self.texts

    def settle(self, polls: int = 40) -> list[str]:
        """Polls and stores until nothing came in so many polls: more than a round has pages."""
        left = polls
        end = time.monotonic() + self.case.seconds
        while left > 0:
            assert time.monotonic() < end, f"it is not quiet within {self.case.seconds} s"
            came = self.poll()
            self.store()
            if came:
                left = polls
            else:
                time.sleep(min(self._idle, 0.05))
                left -= 1
        return self.texts

    def kill(self) -> None:
        """The next poll is that of other tasks. What is not stored is not."""
        for task in self._tasks:
            task.close()
        self._tasks, self._unstored = [], []

    @property
    def _idle(self) -> float:
        return min((task.idle_seconds for task in self._tasks), default=0.02)

    def _start(self) -> None:
        for number, share in enumerate(self.case.source.plan(self.case.parsed, self._most, self.positions).tasks):
            context = TaskContext(epoch=self._epoch, task=number, batch_records=self._records)
            task = self.case.source.open(self.case.parsed, share, context)
            task.start(dict(self.positions))
            self._tasks.append(task)
        self._epoch += 1


def _texts(first: int, until: int) -> list[str]:
    return [f"{number:05d} ünï" for number in range(first, until)]


class CursorSuite:
    """Subclass it, and give it a fixture named `case`."""

    @pytest.fixture
    def case(self) -> CursorCase:
        """What is tested."""
        raise NotImplementedError

    def test_its_options_are_documented(self, case: CursorCase) -> None:
        """Every option says what it is for, under a key that can be read, and check() finds nothing wrong with what works."""
        check_documented(case.source.options)
        case.add(_texts(0, 1))
        assert list(case.source.check(case.parsed)) == []

    def test_everything_is_read_once_and_in_order_and_so_is_what_comes_later(self, case: CursorCase) -> None:
        """Also over several starts, whatever is stored."""
        with Driver(case) as driver:
            for begin in range(0, 3 * _TOGETHER, _TOGETHER):
                case.add(_texts(begin, begin + _TOGETHER))
                driver.read(begin + _TOGETHER)
                assert driver.settle() == _texts(0, begin + _TOGETHER)
                driver.kill()

    def test_what_is_not_stored_comes_again_and_at_last_there_is_no_more(self, case: CursorCase) -> None:
        """Killed behind each second batch, with positions that are behind, while sessions end."""
        case.add(_texts(0, _TOGETHER))
        with Driver(case, records=3) as driver:
            for turn in range(_STEPS):
                driver.poll()
                driver.poll()
                driver.store(turn % 3)
                if set(driver.texts) == set(_texts(0, _TOGETHER)):
                    break
                driver.kill()
                if case.lose is not None and turn % 12 == 11:
                    case.lose()
            driver.settle()
            assert set(driver.texts) == set(_texts(0, _TOGETHER))
            given = len(driver.texts)
            driver.kill()
            assert len(driver.settle()) == given

    def test_a_task_that_goes_on_in_a_stable_session_gives_nothing_twice(self, case: CursorCase) -> None:
        """What was sent and not stored has the same offsets again, whatever the size of batches."""
        if not case.stable:
            pytest.skip("its sessions are not stable")
        case.add(_texts(0, 2 * _TOGETHER))
        with Driver(case, records=3) as driver:
            driver.poll()
            driver.store()
            for _ in range(_TOGETHER):
                driver.poll()
                driver.poll()
                driver.store(1)
                driver.kill()
            assert driver.settle() == _texts(0, 2 * _TOGETHER)

    def test_rows_that_come_late_are_given_once_and_none_is_doubled(self, case: CursorCase) -> None:
        """While it runs, and over a start."""
        if case.late is None:
            pytest.skip("it sees no rows that come late")
        with Driver(case) as driver:
            case.add(_texts(0, _TOGETHER))
            driver.read(_TOGETHER)
            case.late(["late 1", "late 2"])
            driver.read(_TOGETHER + 2)
            driver.kill()
            case.late(["late 3"])
            case.add(_texts(_TOGETHER, _TOGETHER + 5))
            driver.read(_TOGETHER + 8)
            found = driver.settle()
            assert sorted(found) == sorted([*_texts(0, _TOGETHER + 5), "late 1", "late 2", "late 3"])

    def test_sessions_that_end_lose_nothing(self, case: CursorCase) -> None:
        """In the middle of a round, and between rounds."""
        if case.lose is None:
            pytest.skip("there are no sessions")
        with Driver(case) as driver:
            case.add(_texts(0, _TOGETHER))
            driver.poll()
            driver.store()
            case.lose()
            while not set(_texts(0, _TOGETHER)) <= set(driver.texts):
                driver.poll()
                driver.store()
            driver.settle()
            case.lose()
            case.add(_texts(_TOGETHER, _TOGETHER + 5))
            while not set(_texts(0, _TOGETHER + 5)) <= set(driver.texts):
                driver.poll()
                driver.store()

    def test_it_can_be_closed_twice_and_without_a_start(self, case: CursorCase) -> None:
        """close() comes after errors, too."""
        case.add(_texts(0, 1))
        share = case.source.plan(case.parsed, 1, {}).tasks[0]
        task = case.source.open(case.parsed, share, TaskContext())
        task.close()
        task.start({})
        task.poll()
        task.keep_alive()
        task.close()
        task.close()

    def test_killed_anywhere_nothing_is_lost(self, case: CursorCase, tmp_path: Path) -> None:
        """Killed at one step after the other; the next one goes on until all is in the topic, which is a file."""
        topic = tmp_path / "topic"
        topic.touch()
        added = 0
        for step in range(1, _STEPS, case.every):
            case.add(_texts(added, added + 10))
            added += 10
            killed = run_and_kill(partial(_copy, case, tmp_path, added, 2 * step), step, case.calls)
            _copy(case, tmp_path, added, 2 * step + 1)
            lines = topic.read_text().splitlines()
            assert set(lines) == set(_texts(0, added))
            if not killed:
                return
        pytest.fail(f"rows take more than {_STEPS} steps")


def _copy(case: CursorCase, folder: Path, until: int, epoch: int) -> None:
    """Copies into a file until that has so many texts; positions are in another one."""
    driver = Driver(case, records=4, epoch=epoch)
    driver.positions = _read_positions(folder)
    topic = folder / "topic"
    end = time.monotonic() + case.seconds
    with topic.open("ab", buffering=0) as file:
        while len(found := set(topic.read_text().splitlines())) < until:
            assert time.monotonic() < end, f"only {len(found)} of {until} came"
            before = len(driver.texts)
            if not driver.poll():
                time.sleep(0.01)
            if texts := driver.texts[before:]:
                file.write("".join(f"{text}\n" for text in texts).encode())
                os.fsync(file.fileno())
            driver.store()
            _write_positions(folder, driver.positions)
    driver.kill()


def _read_positions(folder: Path) -> dict[str, Position]:
    path = folder / "positions"
    if not path.exists():
        return {}
    return {name: Position(tuple(offset), resume) for name, (offset, resume) in json.loads(path.read_text()).items()}


def _write_positions(folder: Path, positions: Mapping[str, Position]) -> None:
    made = {name: (list(at.offset), dict(at.resume)) for name, at in positions.items()}
    (folder / "positions.new").write_text(json.dumps(made))
    (folder / "positions.new").replace(folder / "positions")
