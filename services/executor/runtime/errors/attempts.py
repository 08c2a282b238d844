"""Calls that are tried again: the one owner of waiting and retrying around single calls."""

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import rocketmq_remoting.errors as rocketmq
from rocketconnect_kit.backoff import Backoff
from rocketconnect_sdk.errors import RetriableError, SystemAway
from services.executor.contract.task import State
from services.executor.runtime.positions.client import Fenced, PositionsAway
from services.executor.runtime.task.control import TaskControl
from services.executor.runtime.task.reporter import Reporter

T = TypeVar("T")

_LONGEST_AWAY = 2.0
"""Seconds of the longest pause before an other side that is away is asked again."""

FENCED = "another worker has the task now, or the lease of this one is lost"

FORMER_OWNER = "an earlier owner may still write until its lease ends"
"""Why a task that writes to a system waits before it begins (invariant 3)."""

AWAY = (SystemAway, PositionsAway, rocketmq.RetriableError, rocketmq.TopicNotFound)
"""The other side does not answer, or is busy: waited for without a limit, because nothing else helps and the state says so.

Whether a topic is there is decided where it is looked for (see topics.py); after that, a broker that comes back has not announced
it yet.
"""


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

    Attributes:
        meanwhile: Called again and again while it waits, from the thread that does; returns for how many seconds there is no need
            to. What it raises ends the waiting.
        beginning: The task has not begun yet: whoever is away was never there for it, so it waits, and nothing has gone wrong.
    """

    def __init__(self, control: TaskControl, reporter: Reporter, timeout: float | None, longest: float) -> None:
        self._control = control
        self._reporter = reporter
        self.timeout = timeout
        self.longest = longest
        self.meanwhile: Callable[[], float] = lambda: math.inf
        self.beginning = False

    def backoff(self, first: float = 0.1) -> Backoff:
        """A backoff with the configured longest pause."""
        return Backoff(first, self.longest)

    def insist(self, what: str, call: Callable[[], T], *, drain: float = 0.0, at: str = "") -> T:
        """Calls until it succeeds.

        Args:
            what: What is tried, for people.
            call: What is called.
            drain: Seconds for which it goes on after the task was told to stop: for what a clean end needs.
            at: The system that is asked, for people; empty: `what` says it, or nobody is.

        Raises:
            Stopped: the task is to end, and its time for that is over.
            Fenced: somebody else owns it.
            GaveUp: a RetriableError did not go away in time.
        """
        backoff = self.backoff()
        began = time.monotonic()
        before: Exception | None = None
        while True:
            self._check(drain)
            if self.beginning:
                self._reporter.doing(f"{what} ({at})" if at else what)
            try:
                answer = call()
            except (*AWAY, RetriableError) as error:
                trace = f"{what}: {error}"
                wait = backoff.pause()
                if isinstance(error, RetriableError):
                    self.check_time(began, trace, error)
                else:
                    # Who was away comes back at any moment, and a pipeline waits for it; asking costs little.
                    wait = min(wait, _LONGEST_AWAY)
                self.count(error, before)
                before = error
                if isinstance(error, (RetriableError, SystemAway)):
                    wait = error.wait or wait
                self._reporter.state(State.WAITING, trace)
            else:
                if self.beginning and before is not None:
                    # What it has waited for is there: what comes next may take its time, too.
                    self._reporter.state(State.STARTING)
                return answer
            if self._control.stopping.is_set():
                self._control.wait_fenced(min(wait, self._control.after_stop(drain) - time.monotonic()))
            else:
                self._wait(time.monotonic() + wait)

    def wait_out(self, seconds: float, why: str) -> None:
        """Waits so long before the task begins, and says until when; not at all with 0.

        Raises:
            Stopped: the task is to end.
        """
        if seconds <= 0:
            return
        at = (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%H:%M:%S UTC")
        self._reporter.state(State.STARTING, f"waits until {at}: {why}")
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._control.wait(left):
                raise Stopped
        self._reporter.state(State.STARTING)

    def _wait(self, until: float) -> None:
        """As TaskControl.wait does; what is done meanwhile does not end it."""
        while (now := time.monotonic()) < until:
            pause = min(until, now + self.meanwhile())
            if self._control.wait(pause - now) or time.monotonic() < pause:
                return

    def _check(self, drain: float) -> None:
        if self._control.fenced:
            raise Fenced(FENCED)
        if self._control.stopping.is_set() and time.monotonic() >= self._control.after_stop(drain):
            raise Stopped

    def check_time(self, began: float, trace: str, error: Exception) -> None:
        """Raises GaveUp when errors.retry.timeout has passed since the first failure."""
        if self.timeout is not None and time.monotonic() - began >= self.timeout:
            msg = f"{trace} (tried again for {self.timeout:g} s, errors.retry.timeout)"
            raise GaveUp(msg) from error

    def count(self, error: Exception, before: Exception | None) -> None:
        """Counts a failed attempt that is followed by another one.

        Args:
            error: Why it failed.
            before: Why the one before it failed; None: that one did not.
        """
        # Waiting for a system is one error, however often it is asked whether it is back.
        if isinstance(error, AWAY) and (self.beginning or isinstance(before, AWAY)):
            return
        self._reporter.metrics.errors += 1
        self._reporter.metrics.retries += 1
