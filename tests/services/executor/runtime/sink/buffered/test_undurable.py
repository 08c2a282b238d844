from dataclasses import replace

import pytest

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, SourceMark
from services.executor.runtime.sink.batcher import Waiting
from services.executor.runtime.sink.buffered.undurable import MOST_STEPS, Step, Undurable

Q = "t/b/0"


def mark(place: int) -> dict[str, SourceMark]:
    return {"uid/p": SourceMark(1, 0, (place,))}


def step(until: int, needed: int | None = None, at: float = 0.0) -> Step:
    return Step(until, until if needed is None else needed, until * 10, mark(until * 100), 1, 10, at)


def made(*steps: Step, policy: FlushPolicy | None = None) -> Undurable:
    undurable = Undurable({Q: QueuePosition(5, 1, mark(500), era=2)}, policy or FlushPolicy(), 1_000)
    for each in steps:
        undurable.put(Q, each)
    return undurable


def test_a_position_moves_to_the_last_whole_step_that_is_durable_with_its_marks_and_no_others() -> None:
    undurable = made(step(10), step(20), step(30))
    assert undurable.durable({Q: 29}, {}) == {Q: QueuePosition(20, 1, mark(2_000), 200, 2)}
    assert undurable.durable({Q: 29}, {}) == {}
    assert undurable
    assert undurable.durable({Q: 30}, {}) == {Q: QueuePosition(30, 1, mark(3_000), 300, 2)}
    assert not undurable


def test_nothing_moves_before_the_sink_says_so_and_what_it_says_lower_later_takes_nothing_back() -> None:
    undurable = made(step(10))
    assert undurable.durable({}, {}) == undurable.durable({Q: 5}, {}) == undurable.durable({Q: 9}, {}) == {}
    assert undurable.durable({Q: 10}, {})
    undurable.put(Q, step(20, needed=10))
    assert undurable.durable({Q: 3}, {})[Q].until == 20


def test_behind_what_the_sink_has_nothing_needs_to_become_durable() -> None:
    """The last records of a batch were left out."""
    assert made(step(10, needed=8)).durable({Q: 8}, {})[Q].until == 10
    assert made(step(10, needed=0)).durable({}, {})[Q].until == 10


def test_what_it_was_given_behind_a_refused_record_may_be_durable_and_moves_nothing() -> None:
    assert made(step(10)).durable({Q: 14}, {Q: 14})[Q].until == 10


@pytest.mark.parametrize("told", [{Q: 11}, {"t/b/1": 1}])
def test_what_the_sink_was_not_given_is_not_durable(told: dict[str, int]) -> None:
    with pytest.raises(PermanentError, match="a defect of the sink"):
        made(step(10)).durable(told, {})


def test_the_places_that_are_remembered_are_few_and_every_one_is_the_end_of_a_step() -> None:
    undurable = made(*(step(until) for until in range(6, 1_006)))
    assert len(undurable._steps[Q]) <= MOST_STEPS
    reached = 5
    for offset in range(5, 1_006):
        for position in undurable.durable({Q: offset}, {}).values():
            assert reached < position.until <= offset
            assert position.marks == mark(position.until * 100)
            reached = position.until
    assert reached == 1_005
    assert not undurable
    assert undurable.size == 0


def test_it_is_due_at_each_limit_and_full_at_those_of_rows_and_bytes() -> None:
    assert not made(step(6)).due(1e9)
    rows = made(step(6), step(7), policy=FlushPolicy(rows=2))
    assert rows.full()
    assert rows.due(0)
    size = made(*(step(6 + n) for n in range(100)))
    assert size.full()
    size.durable({Q: 60}, {})
    assert not size.full()
    assert made(step(6), policy=FlushPolicy(bytes=10)).full()
    interval = made(step(6, at=1.0), step(7, at=5.0), policy=FlushPolicy(interval=3.0))
    assert (interval.due(3.9), interval.due(4.0), interval.full()) == (False, True, False)


def test_what_waits_is_told_from_its_first_record_on_until_it_is_durable() -> None:
    assert made().waiting() is None
    undurable = made(step(6, at=1.0), step(7, at=5.0), policy=FlushPolicy(interval=3.0))
    assert undurable.waiting() == Waiting(2, 1.0, 4.0)
    undurable.durable({Q: 6}, {})
    assert undurable.waiting() == Waiting(1, 5.0, 8.0)
    undurable.durable({Q: 7}, {})
    assert undurable.waiting() is None
    assert made(step(6, at=1.0)).waiting() == Waiting(1, 1.0, None)


def test_what_is_durable_now_is_told_with_the_times_of_its_records() -> None:
    undurable = made(replace(step(10), first_ms=1, last_ms=2), replace(step(20), first_ms=3, last_ms=4), step(30))
    undurable.durable({Q: 25}, {})
    assert [(each.first_ms, each.last_ms) for each in undurable.passed] == [(1, 2), (3, 4)]
    undurable.durable({Q: 25}, {})
    assert undurable.passed == []


def test_of_two_steps_that_are_remembered_as_one_the_outer_times_are_known() -> None:
    first, second, unknown = replace(step(10), first_ms=1, last_ms=2), replace(step(20), first_ms=3, last_ms=4), step(30)
    for one, other, times in ((first, second, (1, 4)), (first, unknown, (1, 2)), (unknown, second, (3, 4))):
        both = one.and_then(other)
        assert (both.first_ms, both.last_ms) == times
