"""What libraries and plugins say by the module logging: to the executor, one line a record."""

import logging
import sys
import threading
from typing import IO

from services.executor.contract.said import Said, encode
from services.executor.runtime.task.log import PARENT
from services.executor.secrets.resolving import hide


def say_in_lines() -> logging.Handler:
    """From now on warnings and errors of all loggers, and errors that end threads, are a line each, without secrets.

    Returns:
        What makes lines of them, from its level on.
    """
    lines = _Lines(logging.WARNING)
    logging.getLogger().addHandler(lines)
    # The lines of tasks go with what tasks report.
    of_tasks = logging.getLogger(PARENT)
    of_tasks.addHandler(logging.NullHandler())
    of_tasks.propagate = False
    logging.captureWarnings(capture=True)
    threading.excepthook = _thread_ended
    return lines


class _Lines(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        """Says it. What cannot be formatted is told by logging itself."""
        try:
            trace = logging.Formatter().formatException(record.exc_info) if record.exc_info else ""
            said = Said(record.levelno, record.name, hide(record.getMessage()), record.threadName or "", hide(trace))
            out: IO[str] = sys.stderr
            out.write(f"{encode(said)}\n")
            out.flush()
        except Exception:
            self.handleError(record)


def _thread_ended(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_value is not None and not isinstance(ended.exc_value, SystemExit):
        name = ended.thread.name if ended.thread is not None else "unknown"
        logging.getLogger("threading").error("the thread %s ended with an error", name, exc_info=ended.exc_value)
