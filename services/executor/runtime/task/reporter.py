"""Where a task says what it does."""

from __future__ import annotations

from typing import Protocol

from services.executor.contract.metrics import TaskMetrics
from services.executor.contract.spans import Span
from services.executor.contract.task import State


class Reporter(Protocol):
    """Where a task says what it does. Implemented by the host; called from the task's threads; cheap, never blocks.

    Attributes:
        metrics: Written by the task, sampled by the host.
    """

    metrics: TaskMetrics

    def state(self, state: State, trace: str = "") -> None:
        """It is in this state now; the trace says why, or what it waits for. Saying the same again changes nothing."""

    def doing(self, what: str) -> None:
        """What it does now to begin: the reason of STARTING when it takes longer than a moment. Changes nothing else."""

    def progress(self) -> None:
        """Something moved."""

    def work(self, has_work: bool) -> None:
        """There is something to do, or there is not: with work and without progress a task is STALLED."""

    def ask_for_plan(self) -> None:
        """It asks for a new plan of its connector."""

    def log(self, level: str, message: str) -> None:
        """A line for people: level is INFO, WARNING or ERROR; without secrets."""

    def span(self, span: Span) -> None:
        """A step of a traced record."""
