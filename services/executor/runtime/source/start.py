"""How a source task begins: open, wait the old owner out, learn what is in the topic, say where to look next time."""

import time
from collections.abc import Mapping
from functools import partial

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.record import Offset, Position
from rocketconnect_sdk.source import SourceTask
from rocketmq_remoting.model import MessageQueue
from services.executor.contract.task import State
from services.executor.runtime.errors.attempts import Stopped
from services.executor.runtime.positions.client import Opened
from services.executor.runtime.rocketmq.settling import settle, settled_end, wait_until
from services.executor.runtime.rocketmq.source_marks import mark_key
from services.executor.runtime.rocketmq.tail import Sent, read_tail
from services.executor.runtime.rocketmq.topics import TopicMaker, dead_letter_queues
from services.executor.runtime.source.loop import SourceRun
from services.executor.runtime.source.lost_tails import LostTails
from services.executor.runtime.source.queues import SourceQueues
from services.executor.runtime.source.takeover import Found, Row, Search, row_name, rows, scan_from
from services.executor.runtime.surroundings import Surroundings

OWN = "~"
"""Begins the partitions of the rows that the runtime keeps for itself among the positions of a connector."""


def begin(around: Surroundings, task: SourceTask, context: TaskContext) -> SourceRun:
    """Starts a source task; it may take as long as the other sides are away.

    Raises:
        Stopped, Fenced, GaveUp, PermanentError: it cannot begin.
    """
    insist = around.attempts.insist
    spec = around.spec
    around.reporter.state(State.STARTING)
    opened = insist("opening the task at the position service", around.positions.open)
    known = rows(opened.positions)
    topics = TopicMaker.of(around.client, around.config)
    queues = _queues(around, topics, opened)
    search = scan_from(known, spec.task, spec.generation, spec.revision)
    tails = LostTails(around.reporter, skip=around.config["on.gap"] == "skip", ends=search.ends, lost=search.lost)
    found, ends = _look(around, opened, search)
    for queue in (queue for each in queues.known.values() for queue in each if queue not in ends):
        ask = partial(settled_end, around.client, queue, tails.known_end(queue), around.control.wait)
        ends[queue] = insist("asking for the ends of the queues", ask)
    for queue, end in ends.items():
        tails.meet(queue, end)
    row = Row(
        spec.generation,
        spec.revision,
        {},
        search.base,
        spec.tasks,
        found.mixed,
        search.base_mixed,
        {**tails.unmet, **ends},
        tails.lost,
        search.epochs,
        search.base_epochs,
    ).above({**ends, **found.held()}, found.held(), spec.epoch)
    insist("storing where the task begins", partial(around.positions.store, {row_name(spec.task): row.stored(spec.epoch)}))
    if (refusal := tails.refusal) is not None:
        raise refusal
    positions = _source_positions(opened)
    insist("starting the source", partial(task.start, positions))
    return SourceRun(
        around, task, context, opened=opened, found=found, row=row, ends=ends, topics=topics, queues=queues, tails=tails
    )


def _source_positions(opened: Opened) -> dict[str, Position]:
    return {
        partition: stored.of_source
        for partition, stored in opened.positions.items()
        if not partition.startswith(OWN) and stored.offset
    }


def _queues(around: Surroundings, topics: TopicMaker, opened: Opened) -> SourceQueues:
    """The queue map, with the configured topics in it."""
    queues = SourceQueues(around, opened)
    topic: str = around.config["topic"]
    queues.of(topic, partial(around.attempts.insist, f"looking for topic {topic}", partial(topics.find, topic, writable=True)))
    if dead := around.policy.dead_letter_topic:
        queues.of(dead, partial(dead_letter_queues, around, topics))
    return queues


def _look(around: Surroundings, opened: Opened, search: Search) -> tuple[Found, dict[MessageQueue, int]]:
    """What earlier owners have sent beyond the positions, and the ends of the queues that were read for it."""
    control, client, insist = around.control, around.client, around.attempts.insist
    starts = search.starts
    if wait := _wait(around, opened, starts):
        around.reporter.state(State.STARTING, f"waits {wait:.3g} s: what an earlier owner has sent last may be on its way")
    if wait_until(time.monotonic() + wait, control.wait):
        raise Stopped
    if not starts:
        return Found({}, {}), {}
    brokers = {queue.broker for queue in starts}
    insist("waiting until the broker has stored all that was sent before", partial(settle, client, brokers, control.wait))
    uid = around.spec.connector_uid
    passed = {
        mark_key(uid, partition): (stored.incarnation, stored.offset)
        for partition, stored in opened.positions.items()
        if not partition.startswith(OWN)
    }
    there: dict[MessageQueue, dict[str, tuple[int, Offset]]] = {}
    ends: dict[MessageQueue, int] = {}
    looked: dict[MessageQueue, int] = {}
    sent = Sent(passed) if search.mixed else None
    for queue, start in sorted(starts.items()):
        read = partial(read_tail, client, queue, start, uid, control.stopping.is_set, sent, search.epochs.get(queue, 0))
        try:
            tail = insist("looking into the topic for what is there already", read)
        except InterruptedError:
            raise Stopped from None
        if tail.gap:
            around.reporter.log("WARNING", tail.gap)
        there[queue] = {key: place for key, place in tail.there.items() if place > passed.get(key, (-1, ()))}
        looked[queue], ends[queue] = tail.start, tail.end
    return Found(there, looked, None if sent is None else sent.offsets), ends


def _wait(around: Surroundings, opened: Opened, starts: Mapping[MessageQueue, int]) -> float:
    """Seconds for which what an older owner wrote last may be on its way (invariant 1: it has to be there when it is looked for).

    The cluster service has waited for it when the lease of that owner had ended (`settled`). It knows nothing of one that the
    position service has confirmed for longer, which is waited for in any case; the lease is nothing to one that goes on without.
    """
    settled = around.spec.settled and around.config["on.isolation"] == "pause"
    return opened.wait if settled or not starts else max(opened.wait, around.endpoints.send_deadline)
