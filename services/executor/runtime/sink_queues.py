"""Which queues a sink task reads.

The tasks of a connector share one list, kept with its positions in the row `~queues`, and each owns every n-th queue of it. Within
a plan generation the list only grows, so that a queue never has two readers, whatever each task sees when it starts; queues that
are added to a topic are taken up while the tasks go on.

With the list stands where the first queues of each topic ended when they were listed: a sink that is to begin at the end begins
there, whenever its tasks do. A queue that a topic gets later is begun at its beginning: all that it holds was sent since.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import cast

from rocketmq_remoting.errors import RetriableError, TopicNotFound
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.positions import Opened, PositionsMoved, Stored
from services.executor.runtime.queues import parse, text
from services.executor.runtime.surroundings import Surroundings
from services.executor.runtime.topics import TopicMaker

ROW = "~queues"
LOOK_SECONDS = 15.0
"""How often it is looked whether there are more."""


class SinkQueues:
    """The queues of one sink task. Used by one thread."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._listed: Sequence[str] = ()
        self._ends: Mapping[str, int] = {}
        self._own: frozenset[str] = frozenset()
        self._look_at = 0.0

    def own(self, opened: Opened) -> list[MessageQueue]:
        """The queues to read now; those that are new are added to the list first. May take as long as others are away.

        Raises:
            Stopped, Fenced, GaveUp, PermanentError: it cannot begin.
        """
        while True:
            stored = opened.positions.get(ROW)
            visible = self._visible()
            self._listed, is_stored = extended(stored, self._around.spec.generation, self._around.config["topics"], visible)
            self._ends = self._first_ends(stored)
            if is_stored or self._store(stored, opened.incarnation):
                break
            # Another task of the connector was quicker.
            opened = self._around.attempts.insist("opening the task again", self._around.positions.open)
        mine = self._share(visible)
        self._own = frozenset(mine)
        self._look_at = time.monotonic() + LOOK_SECONDS
        return [parse(name) for name in mine]

    def begin(self, queue: MessageQueue) -> int:
        """The offset at which a queue is begun that has no position.

        Raises:
            RetriableError: the broker is away; call it again.
        """
        end = self._ends.get(text(queue))
        return self._around.client.min_offset(queue) if end is None else end

    def grown(self) -> bool:
        """Whether the topics have queues by now that are not in the list, or that this task owns and does not read."""
        if time.monotonic() < self._look_at:
            return False
        self._look_at = time.monotonic() + LOOK_SECONDS
        try:
            queues = [queue for topic in self._around.config["topics"] for queue in self._around.client.queues(topic, fresh=True)]
        except (RetriableError, TopicNotFound):
            # Reading says so.
            return False
        visible = {text(queue) for queue in queues}
        return not visible <= set(self._listed) or not set(self._share(visible)) <= self._own

    def _share(self, visible: Collection[str]) -> list[str]:
        spec = self._around.spec
        there = set(visible)
        return [name for name in self._listed[spec.task :: spec.tasks] if name in there]

    def _visible(self) -> list[str]:
        topics = TopicMaker.of(self._around.client, self._around.config)
        found: list[MessageQueue] = []
        for topic in self._around.config["topics"]:
            found += self._around.attempts.insist(f"looking for topic {topic}", partial(topics.find, topic, writable=False))
        return [text(queue) for queue in sorted(found)]

    def _first_ends(self, stored: Stored | None) -> Mapping[str, int]:
        """Where a sink that is to begin at the end begins: known for the first queues of each topic, asked when they are listed."""
        if self._around.config["consume.from.where"] != "CONSUME_FROM_LAST_OFFSET":
            return {}
        listed = set(self._listed)
        topics = {parse(name).topic for name in _names(stored)}
        ends = {} if stored is None else dict(cast("Mapping[str, int]", stored.resume.get("ends", {})))
        for queue in map(parse, self._listed):
            if queue.topic not in topics:
                ask = partial(self._around.client.max_offset, queue)
                ends[text(queue)] = self._around.attempts.insist(f"asking where queue {text(queue)} ends", ask)
        return {name: end for name, end in ends.items() if name in listed}

    def _store(self, before: Stored | None, incarnation: int) -> bool:
        generation = self._around.spec.generation
        row = Stored(
            (generation, len(self._listed)),
            incarnation if before is None else before.incarnation,
            {"generation": generation, "queues": list(self._listed), "ends": dict(self._ends)},
        )
        try:
            self._around.attempts.insist("storing the list of queues", partial(self._around.positions.store, {ROW: row}))
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
