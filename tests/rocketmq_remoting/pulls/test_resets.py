"""The answer to a pull by which a broker tells that its group was reset."""

import pytest

from rocketmq_remoting.protocol.codes import ResponseCode
from rocketmq_remoting.protocol.frame import Frame
from rocketmq_remoting.pulls.resets import reset_offset


def answer(code: int, first: int, end: int, to: int) -> Frame:
    fields = {"minOffset": str(first), "maxOffset": str(end), "nextBeginOffset": str(to)}
    return Frame(code, 1, 1, "", fields, b"")


@pytest.mark.parametrize(("asked", "to", "goes_on"), [(7, 2, 2), (2, 9, 9), (10, 10, 10), (7, 0, 1), (7, 11, 10)])
def test_an_offset_within_the_queue_is_refused_only_after_a_reset(asked: int, to: int, goes_on: int) -> None:
    assert reset_offset(answer(ResponseCode.PULL_OFFSET_MOVED, 1, 10, to), asked) == goes_on


@pytest.mark.parametrize(
    ("code", "asked"),
    [(ResponseCode.SUCCESS, 7), (ResponseCode.PULL_OFFSET_MOVED, 0), (ResponseCode.PULL_OFFSET_MOVED, 11), (4711, 7)],
)
def test_other_answers_tell_of_no_reset(code: int, asked: int) -> None:
    assert reset_offset(answer(code, 1, 10, 2), asked) is None
    assert reset_offset(Frame(ResponseCode.PULL_OFFSET_MOVED, 1, 1, "", {}, b""), asked) is None
