"""Offsets of groups among the copies of what they read."""

from bisect import bisect_left
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from connectors.rocketmq.replicator.translation import MOST_WINDOWS, Copy, Window, passed, read_of_own, translated

TOPIC = "orders"


class Queue:
    """A queue with copies, of which a look shows a few."""

    def __init__(self, copies: Sequence[Copy], shown: int = 3, own: int | None = None) -> None:
        self.copies = copies
        self.shown = shown
        self.own = own
        self.looks = 0

    def look(self, at: int) -> Window:
        self.looks += 1
        begin = bisect_left([copy.position for copy in self.copies], at)
        seen = self.copies[begin : begin + self.shown]
        behind = seen[-1].position + 1 if seen else self.end
        return Window(behind, seen, self.own is not None and at <= self.own < behind)

    @property
    def end(self) -> int:
        return self.copies[-1].position + 1 if self.copies else 0


@st.composite
def queues(draw: st.DrawFn) -> list[Copy]:
    """Copies of up to three queues in turns; some originals were left out, and some places here are empty."""
    at, offsets, made = draw(st.integers(0, 5)), {0: 0, 1: 0, 2: 0}, []
    for number in draw(st.lists(st.integers(0, 2), max_size=40)):
        offsets[number] += draw(st.integers(1, 3))
        made.append(Copy(at, TOPIC, f"broker-a/{number}", offsets[number]))
        at += draw(st.integers(1, 2))
    return made


@given(queues(), st.integers(0, 130), st.integers(1, 5))
def test_a_group_goes_on_at_the_first_copy_that_it_has_not_read(copies: list[Copy], offset: int, shown: int) -> None:
    queue = Queue(copies, shown)
    unread = [copy.position for copy in copies if copy.queue == "broker-a/1" and copy.offset >= offset]
    assert translated(queue.look, 0, queue.end, TOPIC, "broker-a/1", offset).position == min(unread, default=queue.end)


def test_among_a_million_copies_it_takes_some_twenty_looks() -> None:
    class Long(Queue):
        def look(self, at: int) -> Window:
            self.looks += 1
            return Window(at + 1, [Copy(at, TOPIC, "broker-a/0", at + 7)])

    queue = Long([])
    assert translated(queue.look, 0, 1_000_000, TOPIC, "broker-a/0", 123_456).position == 123_449
    assert queue.looks <= 21


def test_where_too_much_else_lies_between_an_earlier_place_is_taken_and_nothing_is_passed_over() -> None:
    others = 10 * MOST_WINDOWS * 3
    copies = [
        Copy(0, TOPIC, "broker-a/0", 10),
        *(Copy(at, TOPIC, "broker-a/1", at) for at in range(1, others)),
        Copy(others, TOPIC, "broker-a/0", 11),
    ]
    queue = Queue(copies)
    for offset in (11, 12):
        assert translated(queue.look, 0, queue.end, TOPIC, "broker-a/0", offset).position == 1


def test_a_queue_with_messages_that_are_no_copies_is_told() -> None:
    for own in (None, 10):
        queue = Queue([Copy(at, TOPIC, "broker-a/0", at) for at in range(20)], own=own)
        assert translated(queue.look, 0, queue.end, TOPIC, "broker-a/0", 10).has_own is (own is not None)


@given(queues(), st.integers(0, 90), st.integers(1, 5))
def test_of_what_is_no_copy_here_a_group_has_read_what_it_has_read_copies_of(copies: list[Copy], at: int, shown: int) -> None:
    queue = Queue(copies, shown)
    mine = [copy for copy in copies if copy.queue == "broker-a/1"]
    unread, read = [copy for copy in mine if copy.position >= at], [copy for copy in mine if copy.position < at]
    wanted = unread[0].offset if unread else read[-1].offset + 1 if read else None
    assert read_of_own(queue.look, 0, queue.end, min(at, queue.end), TOPIC, "broker-a/1") == wanted


@given(queues(), st.integers(0, 60), st.integers(0, 130), st.integers(1, 5), st.none() | st.integers(0, 90))
def test_copies_that_were_read_are_passed_as_far_as_no_other_message_is_among_them(
    copies: list[Copy], at: int, end: int, shown: int, own: int | None
) -> None:
    places = {copy.position for copy in copies}
    own = None if own in places else own
    queue = Queue(copies, shown, own)
    others = {copy.position for copy in copies if copy.queue == "broker-a/2"} | ({own} if own is not None else set())
    stop = min([other for other in others if other >= at], default=queue.end)
    found = passed(queue.look, at, end, TOPIC, {"broker-a/0", "broker-a/1"})
    assert found <= max(min(stop, end), min(at, end))
    if own is None and at < queue.end:
        behind = [copy.position for copy in copies if at <= copy.position < min(stop, end)]
        assert found > max(behind, default=at - 1)


def test_so_many_copies_that_they_are_not_all_looked_at_are_passed_as_far_as_they_are() -> None:
    copies = [Copy(at, TOPIC, "broker-a/0", at) for at in range(MOST_WINDOWS * 3 + 10)]
    queue = Queue(copies)
    assert passed(queue.look, 0, queue.end, TOPIC, {"broker-a/0"}) == MOST_WINDOWS * 3
