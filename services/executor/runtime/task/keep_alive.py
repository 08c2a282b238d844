"""A source that hears of its task also while it is not polled: see SourceTask.keep_alive."""

import math
import time
from collections.abc import Callable

from rocketconnect_sdk.errors import RetriableError, SystemAway
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.source import SourceTask
from services.executor.runtime.task.reporter import Reporter


class KeptAlive:
    """Polls a source that is started, and keeps it alive where that is not done. Used by the task's thread.

    Args:
        task: The source's task.
        reporter: Is told when the source could not be kept alive.
        clock: Seconds.
    """

    def __init__(self, task: SourceTask, reporter: Reporter, clock: Callable[[], float] = time.monotonic) -> None:
        self._task = task
        self._reporter = reporter
        self._clock = clock
        self._error: SystemAway | RetriableError | None = None
        self._due = clock() + task.keep_alive_seconds

    def poll(self) -> list[SourceBatch]:
        """The batches of SourceTask.poll; first it raises, once, why the source could not be kept alive."""
        # After an error the source may hold nothing that could be kept alive, until a poll has opened it again.
        self._due = math.inf
        error, self._error = self._error, None
        if error is not None:
            raise error
        batches = batches_of(self._task.poll())
        self._due = self._clock() + self._task.keep_alive_seconds
        return batches

    def keep(self) -> float:
        """Keeps the source alive if that is due; returns the seconds until it may be.

        Raises:
            PermanentError: the task is FAILED. Other errors wait for the next poll.
        """
        if self._clock() >= self._due:
            self._due = math.inf
            if not self._task.finished:
                self._keep()
        return max(0.0, self._due - self._clock())

    def _keep(self) -> None:
        try:
            self._task.keep_alive()
        except (SystemAway, RetriableError) as error:
            self._error = error
            self._reporter.log("WARNING", f"keeping the source alive: {error}; it is tried again when it is read")
        else:
            self._due = self._clock() + self._task.keep_alive_seconds
