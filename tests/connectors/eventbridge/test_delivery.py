"""What is sent again, until when, and what is given up."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from connectors.eventbridge.book import Book, Policy
from connectors.eventbridge.delivery import EventBridgeConnection
from connectors.eventbridge.rules import RULE, TARGET
from connectors.eventbridge.target import End, Outcome
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.writes import Op, Operation

DONE, REFUSED, FAILED = Outcome(End.DONE), Outcome(End.REFUSED, "no"), Outcome(End.FAILED, "bug")
AWAY = Outcome(End.AWAY, "gone")


class Fake:
    """A target that answers as it is told: by the number of the record, else `always`."""

    lanes = 1

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.always = DONE
        self.by_number: dict[int, Outcome] = {}

    def deliver(self, lane: int, operation: Operation) -> Outcome:
        del lane
        self.asked.append(operation.record)
        return self.by_number.get(operation.record, self.always)

    def close(self) -> None:
        pass


class Line:
    """Two targets, a and b, for rules of the same names, and a clock."""

    def __init__(self, **policies: Policy) -> None:
        self.now = 1_000.0
        self.a, self.b = Fake(), Fake()
        self.book = Book()
        self.policies = {"a": Policy(None, 100), "b": Policy(None, 100), **policies}
        self.connection = self.connected()

    def connected(self) -> EventBridgeConnection:
        targets: Any = {"a": self.a, "b": self.b}
        return EventBridgeConnection(targets, self.policies, self.book, logging.getLogger("test"), lambda: self.now)

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str] | SystemAway:
        try:
            return self.connection.write(operations)
        except SystemAway as error:
            self.connection.close()
            self.connection = self.connected()
            return error


def operations(*rules: str) -> list[Operation]:
    """Each of a record of its own."""
    return [Operation(Op.APPEND, "/", "", None, more={RULE: rule, TARGET: rule}, record=at) for at, rule in enumerate(rules)]


def wait_of(found: Mapping[int, str] | SystemAway) -> float:
    assert isinstance(found, SystemAway)
    assert found.wait is not None
    return found.wait


def test_pauses_grow_and_a_target_is_left_alone_meanwhile_over_connections() -> None:
    line, two = Line(a=Policy(None, 1_000)), operations("a", "b", "a")
    line.a.always = AWAY
    waits = []
    for _ in range(10):
        waits.append(wait_of(line.write(two)))
        asked = len(line.a.asked)
        assert wait_of(line.write(two)) == pytest.approx(waits[-1])
        assert len(line.a.asked) == asked
        line.now += waits[-1]
    assert waits[:4] == pytest.approx([0.2, 0.4, 0.8, 1.6])
    assert max(waits) == 30
    assert set(line.a.asked) == {0}
    assert line.b.asked == [1]
    line.a.always = DONE
    assert line.write(two) == {}
    assert line.a.asked[-2:] == [0, 2]


def test_a_target_that_asks_for_a_pause_has_it_and_no_policy_waits_beyond_its_end() -> None:
    line, one = Line(a=Policy(None, 70)), operations("a")
    line.a.always = Outcome(End.AWAY, "busy", 60)
    assert wait_of(line.write(one)) == 60
    line.now += 60
    assert wait_of(line.write(one)) == 10
    line.now += 10
    assert line.write(one) == {0: "rule a, target a: given up after 2 attempts in 70 s: busy"}
    assert line.a.asked == [0, 0]


def test_a_target_that_was_given_up_is_asked_once_for_each_batch_and_is_forgotten_when_nobody_asks() -> None:
    line = Line(a=Policy(2, 1_000))
    line.a.always = AWAY
    one = operations("a", "a")
    line.now += wait_of(line.write(one))
    found = line.write(one)
    assert isinstance(found, Mapping)
    assert list(found) == [0, 1]
    assert list(line.write(operations("a"))) == [0]  # type: ignore[arg-type]  # it is given up at once
    assert line.a.asked == [0, 0, 0]
    line.now += 3_601
    assert wait_of(line.write(operations("a"))) > 0


def test_a_target_that_answers_is_not_away_any_more() -> None:
    line = Line(a=Policy(2, 1_000))
    for _ in range(3):
        line.a.always = AWAY
        one = operations("a")
        line.now += wait_of(line.write(one))
        line.a.always = DONE
        assert line.write(one) == {}


def test_a_record_with_which_a_target_fails_holds_up_no_others() -> None:
    line = Line(a=Policy(3, 1_000))
    line.a.by_number = {0: FAILED, 2: REFUSED}
    many = operations("a", "a", "a", "b")
    assert "rule a, target a: bug" in str(line.write(many))
    assert (line.a.asked, line.b.asked) == ([0, 1, 2], [3])
    for _ in range(2):
        line.now += 30
        found = line.write(many)
    assert found == {0: "rule a, target a: given up after 3 attempts in 60 s: bug", 2: "rule a, target a: no"}
    assert line.a.asked == [0, 1, 2, 0, 0]


def test_a_target_that_fails_with_all_is_away_and_each_record_is_tried_before_one_is_again() -> None:
    line = Line(a=Policy(None, 50))
    line.a.always = FAILED
    many = operations(*"aaaaaaa")
    for _ in range(3):
        line.now += wait_of(line.write(many))
    assert line.a.asked == [0, 1, 2, 3, 4, 5, 6, 0, 1]
    line.now += 50
    found = line.write(many)
    assert isinstance(found, Mapping)
    assert list(found) == list(range(7))


def test_numbers_of_rules_are_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    line = Line()
    line.b.always = REFUSED
    caplog.set_level(logging.INFO, "test")
    nowhere = Operation(Op.APPEND, "", "", None)
    for _ in range(3):
        line.write([*operations("a", "a", "b"), nowhere])
        line.now += 40
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "requests by rule: a 2, b 0; 1 record matched by no rule",
        "requests by rule: a 4, b 0; 2 records matched by no rule",
    ]
