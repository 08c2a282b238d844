"""The log of a plugin's task, as people see it: `TaskContext.log`."""

import logging

from services.executor.contract.metrics import Warned
from services.executor.runtime.task.reporter import Reporter
from services.executor.secrets.resolving import hide

PARENT = "rocketconnect.task"
"""Above the loggers of all tasks."""
_WARNINGS = 5
_WARNING_CHARACTERS = 1_000


def task_log(reporter: Reporter, name: str) -> logging.Logger:
    """A log whose lines at INFO and above are among those of the connector, without secrets. For one run: nobody else holds it.

    The last of its warnings are told with the state of the task, too: who looks whether all is well does not read logs.

    Args:
        reporter: Of the task.
        name: Of the task.
    """
    log = logging.Logger(f"{PARENT}.{name}", logging.INFO)  # noqa: LOG001 - one that is kept for good would hold the run
    log.parent = logging.getLogger(PARENT)
    log.addHandler(_ToPeople(reporter))
    return log


class _ToPeople(logging.Handler):
    def __init__(self, reporter: Reporter) -> None:
        super().__init__(logging.INFO)
        self._reporter = reporter

    def emit(self, record: logging.LogRecord) -> None:
        """Says it. What cannot be formatted is told by logging itself, and ends no task."""
        level = "ERROR" if record.levelno >= logging.ERROR else "WARNING" if record.levelno >= logging.WARNING else "INFO"
        try:
            message = hide(self.format(record))
            self._reporter.log(level, message)
            if record.levelno >= logging.WARNING:
                self._keep(Warned(record.created, message[:_WARNING_CHARACTERS]))
        except Exception:
            self.handleError(record)

    def _keep(self, warned: Warned) -> None:
        metrics = self._reporter.metrics
        others = [one for one in metrics.warnings if one.message != warned.message]
        # Invariant 7: they go with every report of the worker.
        metrics.warnings = (*others, warned)[-_WARNINGS:]
