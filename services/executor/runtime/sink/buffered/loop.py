"""The loop of a buffered sink: what was put moves no position before the sink says that it is durable."""

import time
from collections.abc import Callable, Sequence
from functools import partial

from rocketconnect_sdk.sink import BufferedSinkTask, SinkCommit
from services.executor.runtime.sink.batcher import Waiting
from services.executor.runtime.sink.buffered.engine import NOTHING, BufferedEngine
from services.executor.runtime.sink.buffered.undurable import Step, Undurable
from services.executor.runtime.sink.decode.part import Part
from services.executor.runtime.sink.loop import SinkRun, Started
from services.executor.runtime.sink.positions import to_stored
from services.executor.runtime.sink.traces import trace_of

_SECONDS = 1.0
"""How often it asks what is durable, and puts nothing where there is nothing."""
_FULL = "the sink has not made durable what it was given, and is given no more before"


class BufferedRun(SinkRun):
    """A SinkRun whose positions follow what is durable."""

    def __init__(self, started: Started) -> None:
        super().__init__(started)
        engine = started.engine
        if not isinstance(engine, BufferedEngine):
            msg = f"{type(engine).__name__} is no engine of buffered sinks"
            raise TypeError(msg)
        engine.begin()
        self._buffered = engine
        self._task: BufferedSinkTask = engine.task
        self._undurable = Undurable(self._positions, self._task.flush, started.runtime.config["buffer.bytes"])
        self._durable = self._undurable.positions
        self._ask_at = self._nothing_at = 0.0
        self._in_vain = False
        """Not all was durable when that was wanted last: it is not wanted again at once."""

    def _next(self, seconds: float) -> list[Part]:
        # Invariant 7: what is not durable is bounded, too.
        if not self._undurable.full():
            return super()._next(seconds)
        if seconds:
            self._control.wait(seconds)
        return []

    def _waiting(self) -> Waiting | None:
        return self._undurable.waiting()

    def _written(self, parts: Sequence[Part], commit: SinkCommit) -> None:
        now = time.monotonic()
        for queue, position in commit.after.items():
            mine = [part for part in parts if part.queue == queue]
            step = Step(
                position.until,
                min(self._buffered.taken(queue), position.until),
                position.stored_ms,
                {key: mark for part in mine for key, mark in part.marks.items()},
                sum(len(part.records) for part in mine),
                sum(part.records.size for part in mine),
                now,
                next((part.first_ms for part in mine if part.first_ms is not None), None),
                next((part.last_ms for part in reversed(mine) if part.last_ms is not None), None),
                next(filter(None, map(trace_of, mine)), ""),
            )
            self._undurable.put(queue, step)
        self._holds = bool(self._undurable)
        self._nothing_at = now + _SECONDS

    def _after_write(self, *, idle: bool) -> None:
        now = time.monotonic()
        if idle and now >= self._nothing_at:
            self._nothing_at = now + _SECONDS
            self._try(partial(self._call, "writing to the sink", partial(self._task.put, NOTHING)))
        flush = self._undurable.due(now) or (idle and self._control.paused and bool(self._undurable))
        if self._failure is None and (now >= self._ask_at or (flush and not self._in_vain)):
            self._ask_at = now + _SECONDS
            self._try(partial(self._ask, flush=flush))
            self._in_vain = flush and bool(self._undurable)
            self._full = _FULL if self._undurable.full() else ""

    def _ask(self, *, flush: bool) -> None:
        """Moves the positions up to what the sink says is durable."""
        told: dict[str, int] = {}
        self._call("asking the sink what is durable", lambda: told.update(self._task.durable(flush)))
        moved = self._undurable.durable(told, self._buffered.given)
        self._holds = bool(self._undurable)
        wall = time.time()
        for step in self._undurable.passed:
            self._meter.arrived(wall, step.first_ms, step.last_ms, step.trace_id)
        self._meter.stored(position.stored_ms for position in moved.values())
        # Invariant 2.
        self._committer.put({queue: to_stored(position) for queue, position in moved.items()})
        self._tell_durable(moved)

    def _call(self, what: str, call: Callable[[], None]) -> None:
        """Calls the sink as long as it takes."""

        def with_lease() -> None:
            # Invariant 3: what it has may become visible at any of its calls.
            with self._gate() as ready:
                ready(())
                call()

        self._runtime.attempts.insist(what, with_lease, drain=self._limits.drain)

    def _drain(self) -> bool:
        """What does not fit is written behind what is made durable for it."""
        drained = super()._drain()
        while drained and self._failure is None and self._batcher.size:
            self._try(partial(self._ask, flush=True))
            if self._undurable.full():
                return False
            drained = super()._drain()
        return drained

    def _settle(self) -> bool:
        """What ends the task ends it behind what it was given before."""
        failure = self._failure
        if self._undurable:
            self._try(partial(self._ask, flush=True))
        if failure is not None and self._failure is not failure:
            self._runtime.reporter.log("WARNING", f"what was put is not known to be durable: {self._failure}")
            self._failure = failure
        return not self._undurable
