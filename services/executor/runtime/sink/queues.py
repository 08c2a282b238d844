"""Which queues a sink task reads.

The tasks of a connector share one list, kept with its positions in the row `~queues`, and each owns every n-th queue of it. Within
a plan generation the list only grows, so that a queue never has two readers, whatever each task sees when it starts; queues that
are added to a topic are taken up while the tasks go on.

With the list stands where the first queues of each topic ended when they were listed: a sink that is to begin at the end begins
there, whenever its tasks do. A queue that a topic gets later is begun at its beginning: all that it holds was sent since.

A queue of the list that no route shows, because its broker is away or the topic has fewer read queues, is not read; what is or may
be unread in it is told, until it is there again (invariant 5).
"""

import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import cast

from rocketmq_remoting.errors import RetriableError, TopicNotFound
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.positions.client import Opened, PositionsMoved
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq.queue_names import parse, text
from services.executor.runtime.rocketmq.topics import TopicMaker
from services.executor.runtime.task_runtime import TaskRuntime

ROW = "~queues"
LOOK_SECONDS = 15.0
"""How often it is looked whether there are more, or fewer."""
_NAMES = 5


class SinkQueues:
    """The queues of one sink task. Used by one thread."""

    def __init__(self, runtime: TaskRuntime) -> None:
        self._runtime = runtime
        self._listed: Sequence[str] = ()
        self._ends: Mapping[str, int] = {}
        self._own: frozenset[str] = frozenset()
        self._look_at = 0.0
        self._left_at: Mapping[MessageQueue, int | None] = {}
        self.absent: Sequence[MessageQueue] = ()
        """What is of its share and can't be read now."""
        self.trouble = ""
        """What is not read in those, for people; empty: nothing, or it is not to be waited for."""

    def own(self, opened: Opened) -> list[MessageQueue]:
        """The queues to read now; those that are new are added to the list first. May take as long as others are away.

        Raises:
            Stopped, Fenced, GaveUp, PermanentError: it cannot begin.
        """
        while True:
            stored = opened.positions.get(ROW)
            visible = self._visible()
            self._listed, is_stored = extended(stored, self._runtime.spec.generation, self._runtime.config["topics"], visible)
            self._ends = self._first_ends(stored)
            if is_stored or self._store(stored, opened.incarnation):
                break
            # Another task of the connector was quicker.
            opened = self._runtime.attempts.insist("opening the task again", self._runtime.positions.open)
        mine = self._share(visible)
        self._own = frozenset(mine)
        spec = self._runtime.spec
        self.absent = [parse(name) for name in self._listed[spec.task :: spec.tasks] if name not in self._own]
        self._look_at = time.monotonic() + LOOK_SECONDS
        return [parse(name) for name in mine]

    def begin(self, queue: MessageQueue) -> int:
        """The offset at which a queue is begun that has no position.

        Raises:
            RetriableError: the broker is away; call it again.
        """
        end = self.first_end(queue)
        return self._runtime.client.min_offset(queue) if end is None else end

    def first_end(self, queue: MessageQueue) -> int | None:
        """Where a queue is begun that has no position, if that is not its beginning."""
        return self._ends.get(text(queue))

    def watch(self, left_at: Mapping[MessageQueue, int | None]) -> None:
        """From now on it is told what is not read in queues that are absent.

        Args:
            left_at: For each of them where it goes on when it is there again; None: at its beginning.
        """
        self._left_at = left_at
        unread = self._unread()
        if unread and self._runtime.config["queues.absent"] == "skip":
            self._runtime.reporter.log("WARNING", f"{unread}; it goes on without them, as queues.absent=skip says")
        self._tell(unread)

    def changed(self) -> bool:
        """Whether this task has other queues to read by now: the topics have more than are listed, or than it reads, or fewer."""
        if time.monotonic() < self._look_at:
            return False
        self._look_at = time.monotonic() + LOOK_SECONDS
        try:
            queues = [queue for topic in self._runtime.config["topics"] for queue in self._runtime.client.queues(topic, fresh=True)]
        except (RetriableError, TopicNotFound):
            # Reading says so.
            return False
        self._tell(self._unread())
        visible = {text(queue) for queue in queues}
        share = set(self._share(visible))
        # Where a broker is away with all its queues, reading waits for it.
        there = {(queue.topic, queue.broker) for queue in queues}
        fewer = any((queue.topic, queue.broker) in there for queue in map(parse, self._own - share))
        return fewer or not visible <= set(self._listed) or not share <= self._own

    def _tell(self, unread: str) -> None:
        if self._runtime.config["queues.absent"] == "wait":
            self.trouble = unread and f"{unread}; if they are gone for good, set queues.absent=skip"

    def _unread(self) -> str:
        """What is or may be unread in queues that are absent, for people; empty: nothing."""
        away: list[str] = []
        found: list[str] = []
        for queue, position in self._left_at.items():
            try:
                end = self._runtime.client.max_offset(queue)
                start = self._runtime.client.min_offset(queue) if position is None else position
            except (RetriableError, TopicNotFound) as error:
                away.append(f"{text(queue)} ({error})" if not away else text(queue))
                continue
            if start != end:
                found.append(f"{text(queue)} from {start} to its end at {end}")
        said = [f"queues whose broker is away: {_some(away)}"] if away else []
        if found:
            said.append(f"queues that are not read, since the topic has fewer read queues than it had: {_some(found)}")
        return "; ".join(said)

    def _share(self, visible: Collection[str]) -> list[str]:
        spec = self._runtime.spec
        there = set(visible)
        return [name for name in self._listed[spec.task :: spec.tasks] if name in there]

    def _visible(self) -> list[str]:
        topics = TopicMaker.of(self._runtime.client, self._runtime.config)
        found: list[MessageQueue] = []
        for topic in self._runtime.config["topics"]:
            found += self._runtime.attempts.insist(f"looking for topic {topic}", partial(topics.find, topic, writable=False))
        return [text(queue) for queue in sorted(found)]

    def _first_ends(self, stored: Stored | None) -> Mapping[str, int]:
        """Where a sink that is to begin at the end begins: known for the first queues of each topic, asked when they are listed."""
        if self._runtime.config["consume.from.where"] != "CONSUME_FROM_LAST_OFFSET":
            return {}
        listed = set(self._listed)
        topics = {parse(name).topic for name in _names(stored)}
        ends = {} if stored is None else dict(cast("Mapping[str, int]", stored.resume.get("ends", {})))
        for queue in map(parse, self._listed):
            if queue.topic not in topics:
                ask = partial(self._runtime.client.max_offset, queue)
                ends[text(queue)] = self._runtime.attempts.insist(f"asking where queue {text(queue)} ends", ask)
        return {name: end for name, end in ends.items() if name in listed}

    def _store(self, before: Stored | None, incarnation: int) -> bool:
        generation = self._runtime.spec.generation
        row = Stored(
            (generation, len(self._listed)),
            incarnation if before is None else before.incarnation,
            {"generation": generation, "queues": list(self._listed), "ends": dict(self._ends)},
        )
        try:
            self._runtime.attempts.insist("storing the list of queues", partial(self._runtime.positions.store, {ROW: row}))
        except PositionsMoved:
            return False
        return True


def extended(stored: Stored | None, generation: int, topics: Sequence[str], visible: Sequence[str]) -> tuple[Sequence[str], bool]:
    """The list with what is visible, and whether it is stored so.

    With a new generation all tasks of the older ones have ended: what no topic of the configuration has any more is left out then.
    """
    before = _names(stored)
    same = stored is not None and stored.resume.get("generation") == generation
    known = before if same else [name for name in before if parse(name).topic in topics]
    listed = set(known)
    new = [name for name in visible if name not in listed]
    return [*known, *new], same and not new


def _names(stored: Stored | None) -> Sequence[str]:
    return [] if stored is None else cast("Sequence[str]", stored.resume.get("queues", ()))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more
