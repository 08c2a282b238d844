"""What tasks say of themselves, in the log of their executor: the lines that people see of a connector."""

import logging
import time
from collections.abc import Callable, Iterable

from rocketconnect_kit.logs import pass_on
from services.executor.contract.assignment import PLAN, Assigned
from services.executor.contract.messages import LogLine
from services.executor.hosts.output import LINES_A_SECOND, Throttle

_LOGGER = "rocketconnect.task"
_TRACEBACK = "\nTraceback (most recent call last):\n"


class TaskLines:
    """Says the lines of one unit, and no more of them in a second than of a host that prints.

    Args:
        assigned: The unit.
        clock: Tells seconds.
    """

    def __init__(self, assigned: Assigned, clock: Callable[[], float] = time.monotonic) -> None:
        self._about = {
            "connector": assigned.connector,
            "connector_uid": assigned.key.connector_uid,
            "task": "plan" if assigned.key.task == PLAN else assigned.key.task,
            "epoch": assigned.epoch,
        }
        self._throttle = Throttle(lambda told: self._say(LogLine(time.time(), "WARNING", told)), LINES_A_SECOND, clock)

    def say(self, lines: Iterable[LogLine]) -> None:
        """Say them, or how many there were."""
        for line in lines:
            if self._throttle.passes():
                self._say(line)

    def _say(self, line: LogLine) -> None:
        message, found, trace = line.message.partition(_TRACEBACK)
        level = logging.getLevelNamesMapping().get(line.level, logging.INFO)
        about = {**self._about, "trace_id": line.trace_id} if line.trace_id else self._about
        pass_on(_LOGGER, level, message, created=line.time, exception=f"{found}{trace}".strip(), **about)
