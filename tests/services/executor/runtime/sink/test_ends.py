from typing import cast

from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import RequestTimeout
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.sink.ends import Ends

A, B = MessageQueue("t", "b", 0), MessageQueue("t", "b", 1)


class Broker:
    def __init__(self) -> None:
        self.ends = {A: 10, B: 0}
        self.asked = 0
        self.is_away = False

    def max_offset(self, queue: MessageQueue) -> int:
        self.asked += 1
        if self.is_away:
            msg = "no answer"
            raise RequestTimeout(msg)
        return self.ends[queue]


def made() -> tuple[Ends, Broker]:
    broker = Broker()
    return Ends(cast("Client", broker)), broker


def test_before_anybody_was_told_nothing_is_known_and_an_empty_queue_ends_at_0() -> None:
    ends, _ = made()
    assert ends.of(A, 0) is None
    ends.look({A: 0, B: 0}, 0.0)
    assert (ends.of(A, 0), ends.of(B, 0)) == (10, 0)


def test_a_look_gives_what_it_was_told_and_nothing_before_it_is_time_or_where_nobody_answers() -> None:
    ends, broker = made()
    assert ends.look({A: 0, B: 0}, 0.0) == {A: 10, B: 0}
    assert ends.look({A: 0, B: 0}, 0.0) == {}
    broker.is_away = True
    assert ends.look({A: 0, B: 0}, 1_000.0) == {}


def test_what_the_stream_was_told_since_counts_also_when_it_is_lower() -> None:
    ends, _ = made()
    ends.look({A: 5}, 0.0)
    assert ends.of(A, 5) == 10
    assert ends.of(A, 12) == 12
    # The topic was made anew.
    assert ends.of(A, 3) == 3


def test_the_broker_is_asked_seldom_and_what_it_does_not_answer_stays_as_it_was() -> None:
    ends, broker = made()
    for second in range(10):
        ends.look({A: 0, B: 0}, float(second))
    assert broker.asked == 2
    broker.is_away = True
    ends.look({A: 0, B: 0}, 10.0)
    assert broker.asked == 3
    assert ends.of(A, 0) == 10
