"""Aids for tests: a scripted source, a sink that keeps a list, a clock that is moved by hand. They are real connectors, not mocks.

class TestMyRuntime:
    def test_it_waits(self) -> None:
        source = ScriptedSource([["a", "b"], SystemAway("gone"), ["c"]])
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.record import Offset, Position, SinkBatch, SourceBatch
from rocketconnect_sdk.sink import Guarantee, QueuePosition, Receipt, RecordSink, RecordSinkTask, SinkCommit, SinkWriter
from rocketconnect_sdk.source import Plan, Source, SourceTask


def at(offsets: Mapping[str, Offset]) -> dict[str, Position]:
    """Positions that are offsets alone, by partition: what most sources start from."""
    return {partition: Position(offset) for partition, offset in offsets.items()}


@dataclass(frozen=True, slots=True)
class Pause:
    """A step of a script: so many polls find nothing."""

    polls: int


@dataclass(frozen=True, slots=True)
class Replan:
    """A step of a script: a new plan is asked for."""


Step = Sequence[object] | Pause | Replan | ConnectorError
"""A step of a script: values of one batch, polls that find nothing, a request for a new plan, or an error that one poll raises."""


class ScriptedSource(Source):
    """Gives what its script says: values, pauses, errors. One partition "script", whose offsets count the values from 1.

    Args:
        script: The steps. A resumed task leaves out the values before its position, and goes through pauses and errors again.
    """

    name = "scripted"

    def __init__(self, script: Sequence[Step] = ()) -> None:
        self._script = script

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """One task."""
        del config, max_tasks, positions
        return Plan([{}])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "ScriptedSourceTask":
        """See Source."""
        del config, task
        return ScriptedSourceTask(self._script, context)


class ScriptedSourceTask(SourceTask):
    """Goes through a script.

    Attributes:
        commits: The positions that were committed, in order.
        closed: It was closed.
    """

    def __init__(self, script: Sequence[Step], context: TaskContext) -> None:
        self._script = script
        self._context = context
        self.commits: list[Mapping[str, Position]] = []
        self.closed = False

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self._skip = positions["script"].offset[0] if "script" in positions else 0
        self._steps = list(self._script)
        self._given = 0

    def poll(self) -> SourceBatch | None:
        """See SourceTask."""
        while self._steps:
            step = self._steps.pop(0)
            if isinstance(step, ConnectorError):
                raise step
            if isinstance(step, Replan):
                self._context.replan()
                continue
            if isinstance(step, Pause):
                if step.polls > 1:
                    self._steps.insert(0, Pause(step.polls - 1))
                return None
            batch = self._batch(step)
            if batch is not None:
                return batch
        return None

    def _batch(self, values: Sequence[object]) -> SourceBatch | None:
        most = max(1, self._context.batch_records)
        if len(values) > most:
            self._steps.insert(0, values[most:])
        begin, values = self._given, values[:most]
        self._given += len(values)
        kept = values[max(0, self._skip - begin) :]
        first = self._given - len(kept)
        return SourceBatch("script", kept, [(first + index + 1,) for index in range(len(kept))]) if kept else None

    @property
    def idle_seconds(self) -> float:
        """Tests do not like to wait."""
        return 0.001

    @property
    def finished(self) -> bool:
        """When the script is at its end."""
        return not self._steps

    def committed(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        self.commits.append(dict(positions))

    def close(self) -> None:
        """See SourceTask."""
        self.closed = True


class ListSink(RecordSink):
    """Keeps what is committed in a list of this process, with its positions, exactly once.

    Attributes:
        values: What was committed, in order.
        commits: Of each batch.
        fail: Each is raised by one commit, the first one first.
    """

    name = "list"
    guarantee = Guarantee.EXACTLY_ONCE

    def __init__(self) -> None:
        self.values: list[object] = []
        self.commits: list[SinkCommit] = []
        self.positions: dict[str, QueuePosition] = {}
        self.fail: list[ConnectorError] = []

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "ListSinkTask":
        """See RecordSink."""
        del config, task, context
        return ListSinkTask(self)


class ListSinkTask(RecordSinkTask):
    """Writes into the list of its sink."""

    def __init__(self, sink: ListSink) -> None:
        self._sink = sink

    def start(self) -> Mapping[str, QueuePosition]:
        """See SinkTask."""
        return dict(self._sink.positions)

    def writer(self) -> SinkWriter:
        """See RecordSinkTask."""
        return _ListWriter()

    def commit(self, receipts: Sequence[Receipt], commit: SinkCommit) -> None:
        """See RecordSinkTask."""
        if self._sink.fail:
            raise self._sink.fail.pop(0)
        self._sink.values += [value for receipt in receipts for value in receipt]
        self._sink.commits.append(commit)
        self._sink.positions.update(commit.after)

    def close(self) -> None:
        """Nothing is held."""


class _ListWriter(SinkWriter):
    def stage(self, batch: SinkBatch, part: str) -> Receipt:
        del part
        return list(batch.values)


class HandClock:
    """A clock that stands still until it is moved; give it where a clock such as time.monotonic is taken."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Seconds."""
        return self.now

    def move(self, seconds: float) -> None:
        """Moves it on."""
        self.now += seconds
