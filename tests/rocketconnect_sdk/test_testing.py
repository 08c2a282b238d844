import pytest

from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import RetriableError, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.testing import HandClock, ListSink, Pause, ScriptedSource


class TestScriptedSource(SourceSuite):
    subject = SourceCase(ScriptedSource([["a", "b"], Pause(1), ["c"], Pause(1), list("defgh")]), {}, list("abcdefgh"))


def test_a_script_has_pauses_and_errors() -> None:
    task = ScriptedSource([["a"], Pause(2), SystemAway("gone"), ["b"]]).open(parse((), {}), {}, TaskContext())
    task.start({})
    first = task.poll()
    assert first is not None
    assert first.values == ["a"]
    assert [task.poll(), task.poll()] == [None, None]
    with pytest.raises(SystemAway, match="gone"):
        task.poll()
    last = task.poll()
    assert last is not None
    assert (last.values, last.offsets, task.finished) == (["b"], [(2,)], True)


def test_a_list_sink_keeps_values_and_positions_and_fails_when_told() -> None:
    sink = ListSink()
    task = sink.open(parse((), {}), {}, TaskContext())
    receipt = task.writer().stage(SinkBatch("t/b/0", "t", ["x"], [0]), "part")
    commit = SinkCommit("uid", 0, 1, {"t/b/0": QueuePosition(0)}, {"t/b/0": QueuePosition(1)}, 1, "token")
    sink.fail = [RetriableError("later")]
    with pytest.raises(RetriableError):
        task.commit([receipt], commit)
    assert sink.values == []
    task.commit([receipt], commit)
    assert (sink.values, task.start()) == (["x"], {"t/b/0": QueuePosition(1)})


def test_a_hand_clock_moves_by_hand() -> None:
    clock = HandClock(5)
    clock.move(2.5)
    assert clock() == 7.5
