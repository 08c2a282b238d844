"""The thread in which a source task in Java polls: that may wait long, and ours must not."""

import queue
import threading
from logging import Logger
from typing import Any, Protocol

from connectors.java.machine import raised
from rocketconnect_sdk.errors import ConnectorError, RetriableError

_STOP_SECONDS = 5.0
"""How long a poll may take to end by itself before the task is stopped under it, and then again."""


class Entered(Protocol):
    """A plugin in Java.

    Attributes:
        jpype: The module.
    """

    jpype: Any

    def enter(self) -> None:
        """What this thread calls from now on finds the classes of the plugin."""

    def new(self, name: str) -> Any:
        """An object of a class of the plugin, made without arguments."""


class Poller:
    """Polls a task that was started, until it is stopped.

    Args:
        java: Its Java.
        task: A SourceTask of Java, whose poll gives a list, or null.
        log: Is told why it polls again.
    """

    def __init__(self, java: Entered, task: Any, log: Logger) -> None:
        self._java, self._task, self._log = java, task, log
        self._closing = threading.Event()
        self._polled: queue.Queue[Any] = queue.Queue(maxsize=1)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def next(self) -> Any:
        """What it has polled, at least one record; None: nothing, within a tenth of a second. Raises what ended it."""
        try:
            polled = self._polled.get(timeout=0.1)
        except queue.Empty:
            return None
        if isinstance(polled, ConnectorError):
            raise polled
        return polled

    def end(self) -> None:
        """Polls no more, when the poll that is under way ends in time: call it again behind the stop of the task."""
        self._closing.set()
        self._thread.join(_STOP_SECONDS)

    def _read(self) -> None:
        java, closing = self._java, self._closing
        java.enter()
        while not closing.is_set():
            try:
                found = self._task.poll()
            except java.jpype.JException as error:
                found = raised(error)
                if isinstance(found, RetriableError):
                    # As there: the task polls again.
                    self._log.warning("polls again: %s", found)
                    closing.wait(1)
                    continue
            if found is None or (not isinstance(found, ConnectorError) and found.isEmpty()):
                closing.wait(0.01)
                continue
            while not closing.is_set():
                try:
                    self._polled.put(found, timeout=0.1)
                    break
                except queue.Full:
                    continue
            if isinstance(found, ConnectorError):
                return
