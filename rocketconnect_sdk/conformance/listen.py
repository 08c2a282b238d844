"""What every source that listens must do, beside what every source must.

class TestMyListener(ListenSuite):
    @pytest.fixture
    def case(self): return ListenCase(MySource(), {"listen": f"127.0.0.1:{port}"}, send)
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from rocketconnect_sdk.conformance.documented import check_documented
from rocketconnect_sdk.conformance.kill import run_and_kill
from rocketconnect_sdk.conformance.queue import Driver, QueueCase
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.listeners import ListenSource
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.record import Position

_STEPS = 200
_CALLS = ("rocketconnect_sdk.listeners:tell",)
_SENT = 4
_QUIET_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class ListenCase:
    """A source that listens.

    Attributes:
        source: The source.
        config: Its own options, with a port that is free.
        send: Sends texts at once, over a connection of its own, and waits for the answer: whether that says that they are stored.
            False as well: there was no answer, nobody has listened. Called by several threads.
        seconds: How long anything may take.
    """

    source: ListenSource
    config: Mapping[str, str]
    send: Callable[[Sequence[str]], bool]
    seconds: float = 60.0

    @property
    def parsed(self) -> Config:
        """The configuration, parsed."""
        return parse(self.source.options, self.config)


@contextmanager
def listening(case: ListenCase, positions: dict[str, Position] | None = None, *, epoch: int = 1) -> Iterator[Driver]:
    """A task that listens, and is closed at the end."""
    queue = QueueCase(case.source, case.config, lambda _: None, seconds=case.seconds)
    driver = Driver(queue, {} if positions is None else positions, epoch=epoch)
    try:
        yield driver.start()
    finally:
        driver.task.close()


def _until_stored(case: ListenCase, texts: Sequence[str]) -> None:
    end = time.monotonic() + case.seconds
    while not case.send(texts):
        assert time.monotonic() < end, f"{texts[0]} is never stored"
        time.sleep(0.02)


def _copied(driver: Driver, sending: Sequence[Future[None]]) -> None:
    """Copies until all who send are told that it is stored."""
    while not all(each.done() for each in sending):
        driver.commit()
        if not driver.poll():
            time.sleep(driver.task.idle_seconds)
    for each in sending:
        each.result()


class ListenSuite:
    """Subclass it, and give it a fixture named `case`."""

    @pytest.fixture
    def senders(self) -> Iterator[ThreadPoolExecutor]:
        """Who sends."""
        with ThreadPoolExecutor(32) as pool:
            yield pool

    @pytest.fixture
    def case(self) -> ListenCase:
        """What is tested."""
        raise NotImplementedError

    def test_its_options_are_documented(self, case: ListenCase) -> None:
        """Every option says what it is for, under a key that can be read."""
        check_documented(case.source.options)
        assert list(case.source.check(case.parsed)) == []
        assert not case.source.replayable(case.parsed)

    def test_who_sends_is_answered_when_it_is_stored_and_not_before(self, case: ListenCase, senders: ThreadPoolExecutor) -> None:
        """The topic has it by then, and so has whoever reads it."""
        with listening(case) as driver:
            for number in range(3):
                sent = senders.submit(case.send, [f"{number} ünï"])
                driver.read(number + 1, commit=False)
                time.sleep(_QUIET_SECONDS)
                assert not sent.done(), "the answer came before what was sent is stored"
                driver.commit()
                assert sent.result(case.seconds)
            assert driver.values == [f"{number} ünï" for number in range(3)]

    def test_what_is_not_stored_when_a_task_ends_is_not_said_to_be(self, case: ListenCase, senders: ThreadPoolExecutor) -> None:
        """Neither what was given, nor what nobody has taken. Sent again, it is there."""
        positions: dict[str, Position] = {}
        with listening(case, positions) as driver:
            given = senders.submit(case.send, ["given"])
            driver.read(1, commit=False)
            waiting = senders.submit(case.send, ["waiting"])
            time.sleep(_QUIET_SECONDS)
        assert not given.result(case.seconds)
        assert not waiting.result(case.seconds)
        with listening(case, positions, epoch=2) as driver:
            _copied(driver, [senders.submit(_until_stored, case, [text]) for text in ("given", "waiting")])
            assert set(driver.values) == {"given", "waiting"}

    def test_all_that_many_send_is_there_and_in_their_order(self, case: ListenCase, senders: ThreadPoolExecutor) -> None:
        """Each sends one after the other."""

        def sends(client: int) -> None:
            for number in range(10):
                _until_stored(case, [f"{client} {number}"])

        with listening(case) as driver:
            _copied(driver, [senders.submit(sends, client) for client in range(20)])
            for client in range(20):
                mine = [value for value in driver.values if value.startswith(f"{client} ")]
                assert list(dict.fromkeys(mine)) == [f"{client} {number}" for number in range(10)]

    def test_no_more_is_taken_than_is_wanted(self, case: ListenCase, senders: ThreadPoolExecutor) -> None:
        """Memory is bounded by what is not stored; others are told to come again, and do."""
        small = replace(case, config={**case.config, "prefetch": "10"})
        with listening(small) as driver:
            sending = [senders.submit(_until_stored, case, [str(number)]) for number in range(30)]
            driver.read(10, commit=False)
            for _ in range(20):
                driver.poll()
            assert len(driver.values) == 10
            _copied(driver, sending)
            assert set(driver.values) == {str(number) for number in range(30)}

    def test_a_port_that_is_taken_is_told_and_waited_for(self, case: ListenCase) -> None:
        """Another program has it, or the task before this one."""
        queue = QueueCase(case.source, case.config, lambda _: None)
        other = Driver(queue, {})
        with listening(case), pytest.raises(SystemAway, match=r"is taken on this machine.*`listen`"):
            other.task.start({})
        other.start().task.close()

    def test_it_can_be_closed_twice_and_without_a_start(self, case: ListenCase) -> None:
        """close() comes after errors, too."""
        driver = Driver(QueueCase(case.source, case.config, lambda _: None), {})
        driver.task.close()
        driver.start().task.close()
        driver.task.close()

    def test_killed_anywhere_all_that_was_said_to_be_stored_is_there(self, case: ListenCase, tmp_path: Path) -> None:
        """Killed at one step after the other; the next one goes on until all is in the topic, which is a file."""
        topic = tmp_path / "topic"
        topic.touch()
        positions: dict[str, Position] = {}
        for step in range(1, _STEPS):
            if not _kill_at(case, positions, topic, step):
                return
        pytest.fail(f"a message takes more than {_STEPS} steps")


def _kill_at(case: ListenCase, positions: dict[str, Position], topic: Path, step: int) -> bool:
    """Sends some texts to a task that is killed, and to the next one; whether it was killed."""
    texts = [f"{step} {number} ünï" for number in range(_SENT)]
    lies: list[str] = []
    sender = Thread(target=_send_all, args=(case, texts, topic, lies), daemon=True)
    sender.start()
    killed = run_and_kill(partial(_copy, case, dict(positions), topic, 2 * step, lambda: set(texts) <= _in(topic)), step, _CALLS)
    _copy(case, positions, topic, 2 * step + 1, lambda: not sender.is_alive())
    sender.join()
    assert not lies, f"{lies} were said to be stored, and were not in the topic"
    assert set(texts) <= _in(topic)
    return killed


def _in(topic: Path) -> set[str]:
    return set(topic.read_text().splitlines())


def _send_all(case: ListenCase, texts: Sequence[str], topic: Path, lies: list[str]) -> None:
    for text in texts:
        _until_stored(case, [text])
        if text not in _in(topic):
            lies.append(text)


def _copy(case: ListenCase, positions: dict[str, Position], topic: Path, epoch: int, is_done: Callable[[], bool]) -> None:
    """Copies into a file until that is enough."""
    with listening(case, positions, epoch=epoch) as driver, topic.open("ab", buffering=0) as file:
        end = time.monotonic() + case.seconds
        while not is_done():
            assert time.monotonic() < end, "not all came"
            before = len(driver.values)
            if not driver.poll():
                time.sleep(driver.task.idle_seconds)
            if texts := driver.values[before:]:
                file.write("".join(f"{text}\n" for text in texts).encode())
                os.fsync(file.fileno())
            driver.commit()
