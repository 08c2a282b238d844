"""How long each part of a stop may take, in one place: what waits for another one always has the longer limit.

told to stop ──drain──► sends and writes no more ──commit──► commits no more ──stop──► fenced ──kill──► killed ──gone──► total
"""

from dataclasses import dataclass

_PART = 0.1
_CALL_SECONDS = 5.0
_STEP_SECONDS = 1.0
_FAREWELL_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class StopLimits:
    """Seconds after a task, or its executor, is told to stop. Each is at least the one before it.

    Attributes:
        drain: Until then a task sends or writes what it has read.
        commit: Until then it commits that; a call that was under way when `drain` was over has the time to be answered.
        stop: Then a run that has not ended is fenced.
        kill: Then its process is killed.
        gone: So long an executor that ends waits for its runs.
        total: Then an executor has said its last words and left. Whoever kills it gives it a moment more, to end its hosts.
    """

    drain: float
    commit: float
    stop: float
    kill: float
    gone: float
    total: float

    @classmethod
    def within(cls, total: float) -> "StopLimits":
        """Divide so many seconds: most of them are for what is still to be sent or written."""
        step = min(_STEP_SECONDS, total * _PART)
        gone = total - min(_FAREWELL_SECONDS, total * 2 * _PART)
        commit = gone - 3 * step
        drain = commit - min(_CALL_SECONDS, total * 2 * _PART)
        return cls(drain, commit, gone - 2 * step, gone - step, gone, total)


EXECUTOR_SECONDS = 45.0
"""What an executor has if it is not told otherwise."""
