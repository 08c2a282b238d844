"""The log of a plugin's task, as people see it: `TaskContext.log`."""

import logging
from collections.abc import Mapping
from weakref import WeakSet

from rocketconnect_kit.logs import told_level
from services.executor.contract.metrics import Warned
from services.executor.runtime.task.reporter import Reporter
from services.executor.secrets.resolving import hide

PARENT = "rocketconnect.task"
"""Above the loggers of all tasks."""
_levels: Mapping[tuple[str, str], int] = {}
_logs: "WeakSet[logging.Logger]" = WeakSet()
_WARNINGS = 5
_WARNING_CHARACTERS = 1_000
_WORDS = ((logging.ERROR, "ERROR"), (logging.WARNING, "WARNING"), (logging.INFO, "INFO"))


def task_log(reporter: Reporter, name: str) -> logging.Logger:
    """A log whose lines are among those of the connector, without secrets. For one run: nobody else holds it.

    Those at INFO and above, unless another level was set.

    The last of its warnings are told with the state of the task, too: who looks whether all is well does not read logs.

    Args:
        reporter: Of the task.
        name: Of the task.
    """
    log = _TaskLogger(f"{PARENT}.{name}", logging.INFO)
    log.setLevel(_level(log))
    _logs.add(log)
    log.parent = logging.getLogger(PARENT)
    log.addHandler(_ToPeople(reporter))
    return log


def say_tasks_from(levels: Mapping[tuple[str, str], int]) -> None:
    """Have all tasks of this process say what they do from these levels on; see rocketconnect_kit.logs.say_from.

    What was set for all loggers of all connectors does not count: what people see of a connector is no noise of libraries.
    """
    global _levels  # noqa: PLW0603 - as the module logging: one for the process
    _levels = levels
    for log in list(_logs):
        log.setLevel(_level(log))


def _level(log: logging.Logger) -> int:
    connector = log.name.removeprefix(f"{PARENT}.").rpartition("/")[0]
    told = told_level(_levels, PARENT, connector, root=False)
    return logging.INFO if told is None else told


class _TaskLogger(logging.Logger):
    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - as logging calls it
        """Whether it says it. The one of logging keeps its answers, and forgets those of loggers alone that it knows."""
        return not self.disabled and level >= self.level and level > self.manager.disable


class _ToPeople(logging.Handler):
    def __init__(self, reporter: Reporter) -> None:
        super().__init__()
        self._reporter = reporter

    def emit(self, record: logging.LogRecord) -> None:
        """Says it. What cannot be formatted is told by logging itself, and ends no task."""
        level = next((word for least, word in _WORDS if record.levelno >= least), "DEBUG")
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
