"""A round of questions: within its time and its numbers, and without those who do not answer."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from rocketmq_remoting import (
    Admin,
    ConnectionLost,
    GroupConnection,
    GroupConnections,
    GroupProgress,
    MessageQueue,
    NotSent,
    QueueEnds,
    QueueProgress,
    RequestTimeout,
    TopicNotFound,
    Unsupported,
)
from services.exporter.rocketmq.asking import Round
from services.exporter.rocketmq.snapshot import Broker

FIRST, SECOND = Broker("c", "a", "h:1", 0), Broker("c", "b", "h:2", 0)
NOW = 100.0


@dataclass
class Answer:
    value: Any

    def result(self) -> Any:
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


@dataclass
class Brokers:
    """Brokers that have the same topics, which one group reads; `answers` replaces an answer by call and address."""

    topics_there: list[str] = field(default_factory=lambda: ["t"])
    answers: dict[tuple[str, str], Any] = field(default_factory=dict)
    refuses: dict[str, Exception] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    pause: float = 0.0

    def __getattr__(self, call: str) -> Callable[..., Answer]:
        def answer(address: str, *words: Any) -> Answer:
            self.asked.append((call, address))
            self.seconds.append(words[-1])
            time.sleep(self.pause)
            if address in self.refuses:
                raise self.refuses[address]
            usual = type(self).__dict__.get(f"_{call}", lambda *_: None)
            return Answer(self.answers[call, address] if (call, address) in self.answers else usual(self, address, *words))

        return answer

    def _runtime(self, address: str, *_: Any) -> dict[str, str]:
        return {"commitLogMaxOffset": "1"}

    def _producers(self, *_: Any) -> dict[str, int]:
        return {}

    def _topics(self, *_: Any) -> list[str]:
        return self.topics_there

    def _groups(self, *_: Any) -> list[str]:
        return ["g"]

    def _queue(self, address: str, topic: str) -> MessageQueue:
        return MessageQueue(topic, address, 0)

    def _ends(self, address: str, topic: str, *_: Any) -> Any:
        return {self._queue(address, topic): QueueEnds(6, 10)}

    def _progress(self, address: str, group: str, topic: str, *_: Any) -> GroupProgress:
        return GroupProgress({self._queue(address, topic): QueueProgress(10, 4)}, 0.0)

    def _connections(self, *_: Any) -> GroupConnections:
        return GroupConnections((GroupConnection("client:1", "x"),), broadcasting=False)

    def _status(self, *_: Any) -> dict[str, Any]:
        return {}

    def _stored_at(self, address: str, queue: MessageQueue, offset: int, *_: Any) -> int:
        # What retention has taken has no time.
        return 98_500 if offset >= 6 else 0


def ask(brokers: Brokers, *, seconds: float = 60, most: int = 100) -> tuple[Round, Any]:
    made = Round(cast("Admin", brokers), seconds=seconds, most=most, clock=lambda: NOW)
    return made, made.ask([FIRST, SECOND])


def test_everybody_is_asked_and_what_waits_is_as_old_as_its_first_message() -> None:
    asking, said = ask(Brokers())
    assert set(said.runtime) == {FIRST, SECOND}
    assert set(said.progress) == {(FIRST, "t", "g"), (SECOND, "t", "g")}
    assert said.waits == {(FIRST, "t", "g"): 1500, (SECOND, "t", "g"): 1500}
    assert said.members["g"].connections == (GroupConnection("client:1", "x"),)
    assert (asking.away, said.left_out) == ({}, {})


@pytest.mark.parametrize("error", [NotSent("no way there"), ConnectionLost("broken"), RequestTimeout("silent")])
def test_a_broker_that_does_not_answer_is_asked_once_and_the_other_tells_all(error: Exception) -> None:
    brokers = Brokers()
    if isinstance(error, NotSent):
        brokers.refuses["h:1"] = error
    else:
        brokers.answers["runtime", "h:1"] = error
    asking, said = ask(brokers)
    assert asking.away == {"h:1": str(error)}
    assert [call for call, address in brokers.asked if address == "h:1"] == ["runtime"]
    assert set(said.runtime) == {SECOND}
    assert set(said.ends) == {(SECOND, "t")}


def test_what_a_broker_refuses_is_one_answer_that_is_missing() -> None:
    brokers = Brokers()
    brokers.answers["ends", "h:1"] = TopicNotFound("gone", code=17)
    asking, said = ask(brokers)
    assert (asking.away, asking.refused) == ({}, {"h:1": "gone"})
    assert set(said.ends) == {(SECOND, "t")}
    assert set(said.progress) == {(FIRST, "t", "g"), (SECOND, "t", "g")}


@pytest.mark.parametrize("error", [Unsupported("not known", code=3), RequestTimeout("the client hangs")])
def test_a_client_that_tells_nothing_of_itself_does_not_make_its_broker_one_that_is_away(error: Exception) -> None:
    brokers = Brokers()
    brokers.answers["status", "h:1"] = error
    asking, said = ask(brokers)
    assert (asking.away, said.statuses) == ({}, {})


def test_of_a_thousand_topics_as_many_are_asked_for_as_are_wanted_those_of_users_first() -> None:
    names = [*(f"%RETRY%{number}" for number in range(500)), *(f"t{number:03}" for number in range(500))]
    brokers = Brokers(topics_there=names)
    _, said = ask(brokers, most=10)
    assert {topic for _, topic in said.ends} == {f"t{number:03}" for number in range(10)}
    assert said.left_out == {"topics": 990}
    assert len(brokers.asked) < 200


def test_when_its_time_is_over_a_round_ends_with_what_it_has_and_says_so() -> None:
    brokers = Brokers(topics_there=[f"t{number}" for number in range(1000)], pause=0.001)
    _, said = ask(brokers, seconds=0.2, most=1000)
    assert said.left_out["time"] == 1
    assert set(said.runtime) == {FIRST, SECOND}
    assert 0 < len(said.ends) < 2000


def test_a_broker_that_hangs_takes_five_seconds_and_not_the_time_of_all() -> None:
    brokers = Brokers()
    ask(brokers, seconds=60)
    assert max(brokers.seconds) == 5


def test_an_answer_for_which_the_round_has_no_time_left_does_not_make_its_broker_one_that_is_away() -> None:
    brokers = Brokers(pause=0.02)
    brokers.answers["counted", "h:1"] = RequestTimeout("no time")
    asking, said = ask(brokers, seconds=0.05)
    assert (asking.away, said.left_out) == ({}, {"time": 1})


def test_how_long_a_message_has_waited_is_unknown_and_not_nothing_where_its_answer_is_missing() -> None:
    brokers = Brokers()
    brokers.answers["stored_at", "h:1"] = Unsupported("refused", code=3)
    brokers.answers["progress", "h:2"] = GroupProgress({MessageQueue("t", "h:2", 0): QueueProgress(10, 10)}, 0.0)
    _, said = ask(brokers)
    assert said.waits == {(SECOND, "t", "g"): 0}


def test_members_who_each_get_all_messages_wait_for_nothing() -> None:
    brokers = Brokers()
    for address in ("h:1", "h:2"):
        brokers.answers["connections", address] = GroupConnections((GroupConnection("client:1", "x"),), broadcasting=True)
    _, said = ask(brokers)
    assert said.waits == {}
