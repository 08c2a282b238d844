import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from services.exporter.gateway import NotTold
from services.exporter.survey import Survey
from tests.processes import wait_until


class Asked:
    """Tells how often each connector was asked about; of those in `silent` nothing."""

    def __init__(self) -> None:
        self.times: dict[str, int] = {}
        self.silent: set[str] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.now = 0.0

    def __call__(self, connector: str) -> int:
        self.gate.wait()
        self.times[connector] = self.times.get(connector, 0) + 1
        if connector in self.silent:
            msg = "the gateway is away"
            raise NotTold(msg)
        return self.times[connector]


@contextmanager
def survey(asked: Asked, every: float = 10.0) -> Iterator[Survey[int]]:
    made = Survey("it", asked, every, lambda: asked.now)
    try:
        yield made
    finally:
        asked.gate.set()
        made.close()


def moved(made: Survey[int], asked: Asked, seconds: float, *connectors: str) -> None:
    """Time passes, and what wakes the survey is another connector."""
    asked.now += seconds
    made.want(dict.fromkeys([*connectors, f"at {asked.now}"], 1))


def test_nobody_waits_for_an_answer_and_what_is_told_is_known_until_it_is_asked_for_again() -> None:
    asked = Asked()
    asked.gate.clear()
    with survey(asked) as made:
        made.want({"a": 1, "b": 1})
        assert made.known() == {}
        asked.gate.set()
        wait_until(lambda: made.known() == {"a": 1, "b": 1}, 180)
        moved(made, asked, 9.0, "a", "b")
        wait_until(lambda: "at 9.0" in made.known(), 180)
        assert (asked.times["a"], asked.times["b"]) == (1, 1)
        moved(made, asked, 2.0, "a")
        wait_until(lambda: made.known().get("a") == 2, 180)
        # Of what nobody wants to know nothing is kept.
        assert "b" not in made.known()


def test_what_cannot_be_asked_again_is_known_no_longer_after_a_while() -> None:
    asked = Asked()
    with survey(asked) as made:
        made.want({"a": 1})
        wait_until(lambda: made.known() == {"a": 1}, 180)
        asked.silent.add("a")
        moved(made, asked, 30.0, "a")
        wait_until(lambda: asked.times["a"] == 2, 180)
        assert made.known()["a"] == 1
        moved(made, asked, 11.0, "a")
        wait_until(lambda: asked.times["a"] == 3, 180)
        assert "a" not in made.known()


def test_what_takes_long_is_asked_for_less_often() -> None:
    asked = Asked()

    def slowly(connector: str) -> int:
        asked.now += 5.0 if connector == "a" else 0.0
        return asked(connector)

    made = Survey("it", slowly, 10.0, lambda: asked.now)
    try:
        made.want({"a": 1})
        wait_until(lambda: made.known() == {"a": 1}, 180)
        # All others wait meanwhile, for a shorter time.
        made.want({"a": 1, "b": 1})
        moved(made, asked, 99.0, "a", "b")
        wait_until(lambda: {"at 104.0", "b"} <= made.known().keys(), 180)
        assert asked.times["a"] == 1
        moved(made, asked, 2.0, "a")
        wait_until(lambda: asked.times["a"] == 2, 180)
    finally:
        made.close()


def test_what_was_told_of_something_that_has_changed_since_does_not_count() -> None:
    asked = Asked()
    with survey(asked) as made:
        made.want({"a": 1})
        wait_until(lambda: made.known() == {"a": 1}, 180)
        asked.gate.clear()
        made.want({"a": 2})
        assert made.known() == {}
        asked.gate.set()
        wait_until(lambda: made.known() == {"a": 2}, 180)


def test_each_cause_is_in_the_log_once(caplog: pytest.LogCaptureFixture) -> None:
    asked = Asked()
    asked.silent |= {"a", "b", "c"}
    with survey(asked) as made:
        made.want({"a": 1, "b": 1, "c": 1})
        wait_until(lambda: len(asked.times) == 3, 180)
        assert caplog.text.count("the gateway is away") <= 1
