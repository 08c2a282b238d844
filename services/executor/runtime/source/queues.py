"""The queue map of a source: which queues each of its topics has, for all of its tasks and for a whole revision (invariant 4).

It is kept with the positions of the connector in the row `~map` and changed only by compare-and-set, so that what the first task
has seen of a topic holds for all of them, whatever others see when they start, or when they meet the topic. A new revision begins
a new map: its tasks run in a new generation, whose first open has shut out all tasks of the one before.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast

from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.positions.client import Opened, PositionsMoved
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq.queue_names import parse, text
from services.executor.runtime.task_runtime import TaskRuntime

ROW = "~map"

QueueMap = Mapping[str, Sequence[MessageQueue]]


class SourceQueues:
    """The queue map as one task knows it. Used by its thread alone, while no commit is under way.

    Args:
        runtime: What every task has.
        opened: What the position service told.
    """

    def __init__(self, runtime: TaskRuntime, opened: Opened) -> None:
        self._runtime = runtime
        self._map = stored_map(opened.positions.get(ROW), runtime.spec.revision)

    @property
    def known(self) -> QueueMap:
        """The queues of each topic that any task has met so far, and this one has heard of."""
        return self._map

    def of(self, topic: str, look: Callable[[], Sequence[MessageQueue]]) -> Sequence[MessageQueue]:
        """The queues of a topic; one that is new is added to the map first. May take as long as others are away.

        Args:
            topic: The topic.
            look: Returns its queues as this task sees them.

        Raises:
            Stopped, Fenced, GaveUp, PermanentError: it cannot go on.
        """
        while topic not in self._map:
            wanted = {**self._map, topic: look()}
            if self._store(wanted):
                self._map = wanted
            else:
                # Another task of the connector was quicker.
                opened = self._runtime.attempts.insist("opening the task again", self._runtime.positions.open)
                self._map = stored_map(opened.positions.get(ROW), self._runtime.spec.revision)
        return self._map[topic]

    def _store(self, wanted: QueueMap) -> bool:
        row = map_row(wanted, self._runtime.spec.revision)
        try:
            self._runtime.attempts.insist("storing the queue map", partial(self._runtime.positions.store, {ROW: row}))
        except PositionsMoved:
            return False
        return True


def stored_map(stored: Stored | None, revision: int) -> dict[str, Sequence[MessageQueue]]:
    """The map of a revision; empty: it has none yet."""
    if stored is None or stored.resume.get("revision") != revision:
        return {}
    topics = cast("Mapping[str, Sequence[str]]", stored.resume["queues"])
    return {topic: tuple(map(parse, names)) for topic, names in topics.items()}


def map_row(wanted: QueueMap, revision: int) -> Stored:
    """A map as it is stored. Its offset is another one with each topic that is added: the position service compares it."""
    queues = {topic: [text(queue) for queue in each] for topic, each in wanted.items()}
    return Stored((revision, len(wanted)), 0, {"revision": revision, "queues": queues})
