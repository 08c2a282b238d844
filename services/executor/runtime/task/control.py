"""What is wanted of a running task."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


ENDED = "the task has ended; the signal was not carried out"


@dataclass(frozen=True, slots=True)
class Asked:
    """A signal for a task; see SourceTask.signal.

    Attributes:
        name: Which.
        arguments: They are right.
        answer: To be called once, with what the task says, or with "" and why it did nothing. From any thread.
    """

    name: str
    arguments: Mapping[str, str]
    answer: Callable[[str, str], None]


class TaskControl:
    """What is wanted of a running task. Set by the host's command loop, seen by the task; safe to use from any thread.

    Attributes:
        stopping: Set when the task is to end; it then ends clean if it can.
        anew: Why it ends only to be started again, for people; empty: it does not.
    """

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.anew = ""
        self._fenced = False
        self._told_at = 0.0
        self._paused = False
        self._woken = False
        self._asked: list[Asked] = []
        self._over = False
        self._changed = threading.Condition()

    @property
    def paused(self) -> bool:
        """True while the task shall move nothing."""
        return self._paused

    @property
    def fenced(self) -> bool:
        """True when somebody else owns the task: it ends at once and commits nothing (invariant 3)."""
        return self._fenced

    def pause(self) -> None:
        """Move nothing from now on; what is on its way is finished."""
        with self._changed:
            self._paused = True
            self._changed.notify_all()

    def resume(self) -> None:
        """Go on."""
        with self._changed:
            self._paused = False
            self._changed.notify_all()

    def stop(self) -> None:
        """End clean."""
        with self._changed:
            self._told_at = self._told_at or time.monotonic()
            self.stopping.set()
            self._changed.notify_all()

    def begin_anew(self, why: str) -> None:
        """End clean, to be started again."""
        with self._changed:
            self.anew = why
        self.stop()

    def after_stop(self, seconds: float) -> float:
        """The monotonic time so long after it was told to stop; if it was not, so long after now.

        A task may see only later that it is to stop; who waits for it has counted from the beginning.
        """
        return (self._told_at or time.monotonic()) + seconds

    def fence(self) -> None:
        """End at once, without a commit: a report or commit was refused, or the lease is lost."""
        with self._changed:
            self._fenced = True
            self.stopping.set()
            self._changed.notify_all()

    def signal(self, asked: Asked) -> None:
        """The task is told this between two polls; at once, that it is over, when it is."""
        with self._changed:
            if not self._over:
                self._asked.append(asked)
                self._woken = True
                self._changed.notify_all()
                return
        asked.answer("", ENDED)

    def asked(self) -> Sequence[Asked]:
        """The signals that have come since the last call."""
        with self._changed:
            asked, self._asked = self._asked, []
            return asked

    def over(self) -> None:
        """The run has ended: whoever waits for the answer to a signal hears of it."""
        with self._changed:
            self._over = True
        for asked in self.asked():
            asked.answer("", ENDED)

    def wake(self) -> None:
        """Ends the wait under way, or the next one: the task's own business, such as an answer that has come."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Waits so long, or until something is wanted; true: the task is to end.

        One thread waits at a time. Wakes early on stop, fence and wake, and when a pause begins or ends.
        """
        with self._changed:
            if not self._woken and not self.stopping.is_set():
                self._changed.wait(seconds)
            self._woken = False
            return self.stopping.is_set()

    def wait_fenced(self, seconds: float) -> None:
        """Waits so long, or until it is fenced: between tries of what goes on after it was told to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._fenced, seconds)
