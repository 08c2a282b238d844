"""What restarts explain of what a sink drops, and what they do not."""

from collections.abc import Sequence

from rocketconnect_sdk.sink import SourceMark
from services.executor.runtime.rocketmq.source_marks import Stamper
from services.executor.runtime.sink.dropping import CATCH_UP_SECONDS, DOUBLE_SECONDS, LOST_SECONDS, Dropping, untold
from services.executor.runtime.sink.duplicates import LeftOut, select

QUEUE = "t/b/0"


class Queue:
    """What a sink makes of the messages of one queue."""

    def __init__(self, marks: dict[str, SourceMark]) -> None:
        self.marks = marks
        self.dropping = Dropping()

    def comes(self, epoch: int, incarnation: int, offsets: Sequence[int], now: float, partition: str = "p") -> str:
        raws = Stamper("u", epoch, partition, incarnation).stamp([(offset,) for offset in offsets])
        _, moved, left_out = select(raws, self.marks)
        self.marks |= moved
        self.dropping.saw(QUEUE, moved.keys(), left_out, self.marks.keys(), now)
        return self.dropping.said(now)


def test_what_a_newer_owner_sends_again_up_to_the_mark_is_no_news_however_long_it_is_quiet_then() -> None:
    queue = Queue({"u/p": SourceMark(1, 0, (600,))})
    for offset in range(100, 600, 50):
        assert queue.comes(2, 0, range(offset, offset + 50), offset / 10) == ""
    assert queue.dropping.in_a_row > 0
    assert queue.comes(2, 0, [600], 60.0) == ""
    assert (queue.dropping.in_a_row, queue.dropping.said(1e9)) == (0, "")


def test_a_catch_up_that_takes_very_long_is_told_until_something_is_kept() -> None:
    queue = Queue({"u/p": SourceMark(1, 0, (600,))})
    for number in range(12):
        assert queue.comes(2, 0, [number + 1], number * CATCH_UP_SECONDS / 12) == ""
    assert "12" not in queue.dropping.said(CATCH_UP_SECONDS)
    assert "t/b/0" in queue.comes(2, 0, [14], CATCH_UP_SECONDS)
    assert queue.comes(2, 0, [601], CATCH_UP_SECONDS + 1) == ""


def test_the_present_owner_does_not_send_again_for_minutes_what_it_has_sent() -> None:
    """As where somebody has forged a mark far ahead."""
    queue = Queue({"u/p": SourceMark(2, 0, (1_000_000,))})
    said = [queue.comes(2, 0, [number], number * DOUBLE_SECONDS / 10) for number in range(12)]
    assert said[:10] == [""] * 10
    assert "u/p" in said[-1]
    assert "position set" in said[-1]
    assert "at least" in said[-1]


def test_messages_that_no_mark_covers_and_nobody_sends_again_are_told_after_seconds() -> None:
    queue = Queue({"u/p": SourceMark(20, 0, (5,))})
    assert queue.comes(8, 0, [6, 7], 0.0) == ""
    assert "epoch 8" in queue.dropping.said(LOST_SECONDS)
    assert queue.dropping.in_a_row == 2
    # The successor of a sender that had lost its lease brings them.
    assert queue.comes(20, 0, [6], LOST_SECONDS + 1) == ""
    assert queue.dropping.in_a_row == 0


def test_one_source_partition_does_not_hide_another() -> None:
    queue = Queue({"u/p": SourceMark(20, 0, (5,)), "u/q": SourceMark(1, 0, (1,))})
    queue.comes(8, 0, [6], 0.0)
    assert "u/p" in queue.comes(2, 0, [2], LOST_SECONDS, partition="q")
    # What has no mark any more can drop nothing.
    del queue.marks["u/p"]
    assert queue.comes(2, 0, [3], LOST_SECONDS + 1, partition="q") == ""


def test_what_is_left_out_is_told_once_for_each_owner_and_forgotten_with_its_mark() -> None:
    late = LeftOut("u/p", 1, SourceMark(2, 0, (600,)), 3, 0, (5,))
    told: dict[tuple[str, bool], int] = {}
    assert untold([late, late], told, {"u/p"}) == [late]
    assert untold([late], told, {"u/p"}) == []
    assert untold([], told, set()) == []
    assert told == {("u/p", True): 1}
    assert untold([late._replace(key="u/q")], told, {"u/q"}) == [late._replace(key="u/q")]
    assert told == {("u/q", True): 1}
