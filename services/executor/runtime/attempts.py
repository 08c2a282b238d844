"""Calls that are tried again: the one owner of waiting and retrying around single calls."""

import time
from collections.abc import Callable
from typing import TypeVar

import rocketmq_remoting.errors as rocketmq
from rocketconnect_sdk.errors import RetriableError, SystemAway
from services.executor.runtime.positions import Fenced, PositionsAway
from services.executor.runtime.retry import Backoff
from services.executor.runtime.task import Reporter, State, TaskControl

T = TypeVar("T")

AWAY = (SystemAway, PositionsAway, rocketmq.RetriableError)
"""The other side does not answer, or is busy: waited for without a limit, because nothing else helps and the state says so."""


class Stopped(Exception):
    """The task is to end."""


class GaveUp(Exception):
    """A call was tried again for errors.retry.timeout."""


class Attempts:
    """How calls of a task are tried again (invariant 8).

    Args:
        control: Ends waiting.
        reporter: Is told what is waited for.
        timeout: Seconds for which a RetriableError is tried again; None: for ever.
        longest: Seconds of the longest pause.
    """

    def __init__(self, control: TaskControl, reporter: Reporter, timeout: float | None, longest: float) -> None:
        self._control = control
        self._reporter = reporter
        self.timeout = timeout
        self.longest = longest

    def backoff(self, first: float = 0.1) -> Backoff:
        """A backoff with the configured longest pause."""
        return Backoff(first, self.longest)

    def insist(self, what: str, call: Callable[[], T], *, state: State = State.WAITING) -> T:
        """Calls until it succeeds.

        Raises:
            Stopped: the task is to end.
            Fenced: somebody else owns it.
            GaveUp: a RetriableError did not go away in time.
        """
        backoff = self.backoff()
        began = time.monotonic()
        while True:
            self.check()
            try:
                return call()
            except AWAY as error:
                trace = f"{what}: {error}"
                self._count()
                self._reporter.state(state, trace)
                self._control.wait(backoff.pause())
            except RetriableError as error:
                self._count()
                self.check_time(began, f"{what}: {error}", error)
                self._reporter.state(state, f"{what}: {error}")
                self._control.wait(error.wait or backoff.pause())

    def check(self) -> None:
        """Raises Fenced or Stopped when the task is to end."""
        if self._control.fenced:
            msg = "another worker has the task now, or the lease of this one is lost"
            raise Fenced(msg)
        if self._control.stopping.is_set():
            raise Stopped

    def check_time(self, began: float, trace: str, error: Exception) -> None:
        """Raises GaveUp when errors.retry.timeout has passed since the first failure."""
        if self.timeout is not None and time.monotonic() - began >= self.timeout:
            msg = f"{trace} (tried again for {self.timeout:g} s, errors.retry.timeout)"
            raise GaveUp(msg) from error

    def _count(self) -> None:
        self._reporter.metrics.errors += 1
        self._reporter.metrics.retries += 1
