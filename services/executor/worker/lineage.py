"""What OpenLineage is told of the runs of tasks: when they start, now and then while they run, and how they end."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol
from uuid import UUID, uuid4

from services.executor.contract.assignment import PLAN, Assigned, Key
from services.executor.contract.datasets import Datasets
from services.executor.contract.messages import TaskPulse
from services.executor.worker.lifecycle import Effect, Ended, Forget, Restarting, Start

_NOTHING = Datasets((), ())

EventType = Literal["START", "RUNNING", "COMPLETE", "FAIL", "ABORT"]


@dataclass(frozen=True, slots=True)
class RunEvent:
    """What is told of a run.

    Attributes:
        type: As OpenLineage has it.
        time: Seconds since 1970.
        run_id: The run: a task on this worker, from a start to its end.
        connector: The job.
        task: Its task.
        epoch: Under which it runs.
        datasets: What it reads and writes, as far as it is known by then.
        rows: How many records it has delivered since its start.
        size: Bytes of their values.
        error: Why it failed; empty: it did not.
    """

    type: EventType
    time: float
    run_id: UUID
    connector: str
    task: int
    epoch: int
    datasets: Datasets
    rows: int = 0
    size: int = 0
    error: str = ""


class Sender(Protocol):
    """Takes events. Never blocks."""

    def send(self, event: RunEvent) -> None:
        """Take one."""


@dataclass(slots=True)
class _Run:
    assigned: Assigned
    run_id: UUID = field(default_factory=uuid4)
    datasets: Datasets = _NOTHING
    rows: int = 0
    size: int = 0
    told_at: float = 0.0


class Lineage:
    """Follows the runs of tasks. For the thread of the loop; nothing is done for a record.

    Args:
        sender: Where events go.
        seconds: How often a run that goes on is told.
        wall: The clock.
    """

    def __init__(self, sender: Sender, seconds: float, wall: Callable[[], float] = time.time) -> None:
        self._sender = sender
        self._seconds = seconds
        self._wall = wall
        self._runs: dict[Key, _Run] = {}

    def follow(self, effect: Effect) -> None:
        """What becomes of a run. What one that begins reads and writes is said with its next event."""
        match effect:
            case Start(_, assigned) if assigned.key.task != PLAN:
                self._end(assigned.key, "ABORT")
                run = self._runs[assigned.key] = _Run(assigned, told_at=self._wall())
                self._tell("START", run)
            case Restarting(assigned, _, reason, is_lost):
                self._end(assigned.key, "FAIL" if is_lost else "COMPLETE", reason if is_lost else "")
            case Ended(assigned, end) if end.fenced:
                # Its positions are not its own any more: what it did since is done again.
                self._end(assigned.key, "ABORT", end.error)
            case Ended(assigned, end):
                self._end(assigned.key, "FAIL" if end.failed else "COMPLETE", end.error if end.failed else "")
            case Forget(key):
                self._end(key, "ABORT")

    def pulse(self, assigned: Assigned, pulse: TaskPulse) -> None:
        """What a run says of itself."""
        run = self._runs.get(assigned.key)
        if run is None or run.assigned.epoch != assigned.epoch:
            return
        run.rows, run.size = pulse.metrics.records_out, pulse.metrics.bytes_out
        datasets = pulse.metrics.datasets or _NOTHING
        now = self._wall()
        if datasets != run.datasets or now - run.told_at >= self._seconds:
            run.datasets, run.told_at = datasets, now
            self._tell("RUNNING", run)

    def _end(self, key: Key, kind: EventType, error: str = "") -> None:
        run = self._runs.pop(key, None)
        if run is not None:
            self._tell(kind, run, error)

    def _tell(self, kind: EventType, run: _Run, error: str = "") -> None:
        about, now = run.assigned, self._wall()
        told = RunEvent(
            kind, now, run.run_id, about.connector, about.key.task, about.epoch, run.datasets, run.rows, run.size, error
        )
        self._sender.send(told)
