from collections.abc import Mapping

import pytest

from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import RetriableError, SystemAway
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.record import Position, SinkBatch, SourceBatch
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.testing import HandClock, ListSink, Pause, Replan, ScriptedSource, ScriptedSourceTask


class TestScriptedSource(SourceSuite):
    subject = SourceCase(ScriptedSource([["a", "b"], Pause(1), ["c"], Pause(1), list("defgh")]), {}, list("abcdefgh"))


class BeatingSource(ScriptedSource):
    """Moves the position of a partition without records before each other poll."""

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> ScriptedSourceTask:
        return BeatingTask(self._script, context)


class BeatingTask(ScriptedSourceTask):
    def start(self, positions: Mapping[str, Position]) -> None:
        super().start(positions)
        self._beats = positions["log"].offset[0] if "log" in positions else 0

    def poll(self) -> SourceBatch | None:
        self._beats += 1
        return SourceBatch("log", [], [], end=(self._beats,)) if self._beats % 2 else super().poll()


class TestBeatingSource(SourceSuite):
    subject = SourceCase(BeatingSource([["a", "b"], Pause(1), ["c"], Pause(4)]), {}, list("abc"))


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


def test_a_script_asks_for_a_new_plan() -> None:
    asked: list[str] = []
    task = ScriptedSourceTask([["a"], Replan(), ["b"]], TaskContext(replan=lambda: asked.append("a plan")))
    task.start({})
    assert [list(batch.values) for batch in iter(task.poll, None) if batch] == [["a"], ["b"]]
    assert asked == ["a plan"]
    task = ScriptedSourceTask([Replan()], TaskContext())
    task.start({})
    assert task.poll() is None, "where nobody takes requests they do nothing"


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
