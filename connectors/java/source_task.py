"""The life of a source task in Java: its thread polls, and ours makes batches of what it has polled.

Where reading goes on is a map, stored with the end of each poll. Its offsets are (epoch, number): they say nothing to Java. Numbers
begin at the clock of the machine, which never goes back: a process that is begun again under the same epoch, on the same machine,
gives higher ones, and none of its records is taken for one that is there. Records may come again: at least once.
"""

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from connectors.java.log import JAVA_LOG
from connectors.java.machine import raised, reason
from connectors.java.polling import Entered, Poller
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.plugins.kafka_names import OFFSET
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import SourceTask

_COMMIT_SECONDS = 5.0
"""How often the task hears of what is stored, also when that is nothing new."""
_CLASS = "task.class"

JavaT = TypeVar("JavaT", bound=Entered)


class JavaSourceTask(SourceTask, Generic[JavaT]):
    """A SourceTask of a plugin in Java, beside its connector where it is the first of its tasks.

    Args:
        connector: The class of the connector.
        leaves: What a preview may leave behind, for people.
        told: The configuration that Java gets, with task.class.
        context: Of the task.
    """

    def __init__(self, connector: str, leaves: str, told: Mapping[str, str], context: TaskContext) -> None:
        self._name, self._leaves, self._told, self._context = connector, leaves, told, context
        self._java: JavaT | None = None
        self._task: Any = None
        self._connector: Any = None
        self._poller: Poller | None = None
        self._count = time.monotonic_ns()
        self._offsets: dict[str, Any] = {}
        self._unconfirmed: dict[str, deque[tuple[int, Any]]] = {}
        self._commit_at = 0.0

    @abstractmethod
    def _opened(self) -> JavaT:
        """Java, with all that records are read with."""

    @abstractmethod
    def _watched(self, java: JavaT, connector: Any, told: Mapping[str, str], positions: Mapping[str, Position]) -> None:
        """Starts the connector, which sees when another plan is due."""

    @abstractmethod
    def _begun(self, java: JavaT, task: Any, positions: Mapping[str, Position]) -> None:
        """Starts the task."""

    @abstractmethod
    def _batches(self, java: JavaT, polled: Any) -> Sequence[SourceBatch]:
        """What Java's poll gave, by partition; all of it waits to be confirmed."""

    @abstractmethod
    def _confirm(self, records: Any) -> None:
        """Tells the task that the topic has what waited."""

    def _check(self) -> None:  # most connectors tell nothing
        """Raises what the connector has told of."""

    def _ended(self) -> None:  # most have nothing more
        """Lets go of what _opened has made."""

    def start(self, positions: Mapping[str, Position]) -> None:
        """Starts Java's task, and with the first one the connector. See SourceTask."""
        if not self._context.stores:
            msg = f"{self._name} can't be previewed: it may leave {self._leaves}"
            raise PermanentError(msg)
        self.close()
        self._offsets = {partition: position.resume.get(OFFSET) for partition, position in positions.items()}
        java = self._java = self._opened()
        JAVA_LOG.follow(self._context.log)
        try:
            if self._context.task == 0:
                connector = java.new(self._name)
                told = {key: text for key, text in self._told.items() if key != _CLASS}
                self._watched(java, connector, told, positions)
                self._connector = connector
            self._task = java.new(self._told[_CLASS])
            self._begun(java, self._task, positions)
        except java.jpype.JException as error:
            raise raised(error) from error
        self._poller = Poller(java, self._task, self._context.log)

    def poll(self) -> Sequence[SourceBatch] | None:
        """What Java's poll gave, by partition. See SourceTask."""
        self.keep_alive()
        self._check()
        polled = self._poller.next() if self._poller is not None else None
        return None if polled is None else self._batches(self._entered(), polled)

    @property
    def keep_alive_seconds(self) -> float:
        """So that acknowledgements go on while nothing is polled. See SourceTask."""
        return _COMMIT_SECONDS

    def keep_alive(self) -> None:
        """Acknowledges, when that is due. See SourceTask."""
        java = self._entered()
        if self._task is not None and time.monotonic() >= self._commit_at:
            try:
                self._commit()
            except java.jpype.JException as error:
                raise raised(error) from error

    def committed(self, positions: Mapping[str, Position]) -> None:
        """Tells of each record that the topic has, then of all. See SourceTask."""
        java = self._entered()
        try:
            for partition, position in positions.items():
                waiting = self._unconfirmed.get(partition, deque())
                while waiting and (self._context.epoch, waiting[0][0]) <= position.offset:
                    self._confirm(waiting.popleft()[1])
            self._commit()
        except java.jpype.JException as error:
            raise raised(error) from error

    def close(self) -> None:
        """Stops Java's task. See SourceTask."""
        java, self._java = self._java, None
        if java is None:
            return
        poller, self._poller = self._poller, None
        if poller is not None:
            poller.end()
        task, self._task = self._task, None
        connector, self._connector = self._connector, None
        for each in (task, connector):
            try:
                if each is not None:
                    each.stop()
            except java.jpype.JException as error:
                self._context.log.warning("stopping %s: %s", self._name, reason(error))
        if poller is not None:
            poller.end()
        self._unconfirmed.clear()
        self._ended()
        JAVA_LOG.leave(self._context.log)

    def _waits(self, partition: str, number: int, records: Any) -> None:
        """They are confirmed when the topic has all up to this number of their partition."""
        self._unconfirmed.setdefault(partition, deque()).append((number, records))

    def _next(self) -> tuple[int, int]:
        self._count += 1
        return self._context.epoch, self._count

    def _entered(self) -> JavaT:
        if self._java is None:
            msg = "the task was not started"
            raise RuntimeError(msg)
        return self._java

    def _commit(self) -> None:
        self._commit_at = time.monotonic() + _COMMIT_SECONDS
        self._task.commit()
