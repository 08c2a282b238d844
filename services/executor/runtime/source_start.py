"""How a source task begins: open, wait the old owner out, learn what is in the topic, say where to look next time."""

import time
from collections.abc import Mapping
from functools import partial

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.source import SourceTask
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.attempts import Stopped
from services.executor.runtime.marks import mark_key
from services.executor.runtime.positions import Opened
from services.executor.runtime.queues import read_tail, settle, wait_until
from services.executor.runtime.source_task import SourceRun
from services.executor.runtime.surroundings import Surroundings
from services.executor.runtime.takeover import ROW, Found, Row, row_name, rows, scan_from
from services.executor.runtime.task import State
from services.executor.runtime.topics import TopicMaker, dead_letter_queues


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
    queue_map = _queue_map(around, topics, known)
    starts, base = scan_from(known, spec.task, spec.generation)
    found, ends = _look(around, opened, starts)
    for queue in (queue for queues in queue_map.values() for queue in queues if queue not in ends):
        ends[queue] = insist("asking for the ends of the queues", partial(around.client.max_offset, queue))
    row = Row(spec.generation, spec.revision, queue_map, {**ends, **found.held()}, base, spec.tasks)
    insist("storing where the task begins", partial(around.positions.store, {row_name(spec.task): row.stored(spec.epoch)}))
    positions = _source_positions(opened)
    insist("starting the source", partial(task.start, positions))
    return SourceRun(around, task, context, opened=opened, found=found, row=row, ends=ends, topics=topics)


def _source_positions(opened: Opened) -> dict[str, Offset]:
    return {
        partition: stored.offset
        for partition, stored in opened.positions.items()
        if not partition.startswith(ROW) and stored.offset
    }


def _queue_map(around: Surroundings, topics: TopicMaker, known: Mapping[int, Row]) -> dict[str, tuple[MessageQueue, ...]]:
    """The queues of the configured topics, sorted.

    Invariant 4: the map is fixed for a revision: what any task of this revision has stored holds for all of them.
    """
    config, insist = around.config, around.attempts.insist
    stored: dict[str, tuple[MessageQueue, ...]] = {}
    for _, row in sorted(known.items()):
        if row.revision == around.spec.revision:
            stored = {**row.queues, **stored}
    topic: str = config["topic"]
    if topic not in stored:
        stored[topic] = tuple(insist(f"looking for topic {topic}", partial(topics.find, topic, writable=True)))
    dead: str = around.policy.dead_letter_topic
    if dead and dead not in stored:
        stored[dead] = tuple(dead_letter_queues(around, topics))
    return stored


def _look(around: Surroundings, opened: Opened, starts: Mapping[MessageQueue, int]) -> tuple[Found, dict[MessageQueue, int]]:
    """What earlier owners have sent beyond the positions, and the ends of the queues that were read for it."""
    control, client, insist = around.control, around.client, around.attempts.insist
    if wait := _wait(around, opened, starts):
        around.reporter.state(State.STARTING, f"waits {wait:.3g} s: what an earlier owner has sent last may be on its way")
    if wait_until(time.monotonic() + wait, control.wait):
        raise Stopped
    if not starts:
        return Found({}, {}), {}
    brokers = {queue.broker for queue in starts}
    insist("waiting until the broker has stored all that was sent before", partial(settle, client, brokers, control.wait))
    passed = {
        mark_key(around.spec.connector_uid, partition): (stored.incarnation, stored.offset)
        for partition, stored in opened.positions.items()
    }
    there: dict[MessageQueue, dict[str, tuple[int, Offset]]] = {}
    ends: dict[MessageQueue, int] = {}
    for queue, start in sorted(starts.items()):
        read = partial(read_tail, client, queue, start, around.spec.connector_uid, control.stopping.is_set)
        try:
            tail = insist("looking into the topic for what is there already", read)
        except InterruptedError:
            raise Stopped from None
        if tail.gap:
            around.reporter.log("WARNING", tail.gap)
        there[queue] = {key: place for key, place in tail.there.items() if place > passed.get(key, (-1, ()))}
        ends[queue] = tail.end
    return Found(there, starts), ends


def _wait(around: Surroundings, opened: Opened, starts: Mapping[MessageQueue, int]) -> float:
    """Seconds for which what an older owner wrote last may be on its way (invariant 1: it has to be there when it is looked for).

    The cluster service has waited for it when the lease of that owner had ended (`settled`). It knows nothing of one that the
    position service has confirmed for longer, which is waited for in any case; the lease is nothing to one that goes on without.
    """
    settled = around.spec.settled and around.config["on.isolation"] == "pause"
    return opened.wait if settled or not starts else max(opened.wait, around.endpoints.send_deadline)
