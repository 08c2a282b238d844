"""How a source task begins: open, wait the old owner out, learn what is in the topic, say where to look next time."""

from collections.abc import Mapping
from functools import partial

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.record import Offset, Position
from rocketconnect_sdk.source import SourceTask
from rocketmq_remoting.model import MessageQueue
from services.executor.contract.task import State
from services.executor.runtime.errors.attempts import Stopped
from services.executor.runtime.positions.client import Opened
from services.executor.runtime.rocketmq.message_trace import SendTrace
from services.executor.runtime.rocketmq.settling import settle, settled_end
from services.executor.runtime.rocketmq.source_marks import mark_key
from services.executor.runtime.rocketmq.tail import Sent, Tail, read_tail
from services.executor.runtime.rocketmq.topics import TopicMaker, dead_letter_queues
from services.executor.runtime.source.gone_back import beyond, newest_epoch, next_count, told
from services.executor.runtime.source.loop import SourceRun
from services.executor.runtime.source.lost_tails import LostTails
from services.executor.runtime.source.queues import SourceQueues
from services.executor.runtime.source.sender import Sender
from services.executor.runtime.source.takeover import Found, Row, Search, row_name, rows, scan_from
from services.executor.runtime.task_runtime import TaskRuntime

OWN = "~"
"""Begins the partitions of the rows that the runtime keeps for itself among the positions of a connector."""


def begin(runtime: TaskRuntime, task: SourceTask, context: TaskContext, at: str = "") -> SourceRun:
    """Starts a source task, which asks `at`, for people; it may take as long as the other sides are away.

    Raises:
        Stopped, Fenced, GaveUp, PermanentError: it cannot begin.
    """
    insist = runtime.attempts.insist
    spec = runtime.spec
    runtime.reporter.state(State.STARTING)
    opened = insist("opening the task at the position service", runtime.positions.open)
    known = rows(opened.positions)
    topics = TopicMaker.of(runtime.client, runtime.config)
    queues = _queues(runtime, topics, opened)
    search = scan_from(known, spec.task, spec.generation, spec.revision)
    tails = LostTails(
        runtime.reporter, runtime.spec.connector, skip=runtime.config["on.gap"] == "skip", ends=search.ends, lost=search.lost
    )
    found, ends = _look(runtime, opened, search)
    for queue in (queue for each in queues.known.values() for queue in each if queue not in ends):
        ask = partial(settled_end, runtime.client, queue, tails.known_end(queue), runtime.control.wait)
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
        next_count(opened.positions.get(row_name(spec.task)), spec.epoch),
    ).above({**ends, **found.held()}, found.held(), spec.epoch)
    insist("storing where the task begins", partial(runtime.positions.store, {row_name(spec.task): row.stored(spec.epoch)}))
    if (refusal := tails.refusal) is not None:
        raise refusal
    positions = _source_positions(opened)
    insist("starting the source", partial(task.start, positions), at=at)
    runtime.attempts.beginning = False
    return SourceRun(
        runtime,
        task,
        context,
        opened=opened,
        found=found,
        row=row,
        ends=ends,
        topics=topics,
        queues=queues,
        tails=tails,
        sender=_sender(runtime),
    )


def _sender(runtime: TaskRuntime) -> Sender:
    return Sender(
        runtime.client,
        runtime.spec.connector_uid,
        runtime.spec.epoch,
        runtime.lease,
        runtime.control,
        runtime.reporter.metrics,
        batch_bytes=runtime.config["batch.bytes"],
        linger=runtime.config["linger"],
        trace=SendTrace.of(runtime),
    )


def _source_positions(opened: Opened) -> dict[str, Position]:
    return {
        partition: stored.of_source
        for partition, stored in opened.positions.items()
        if not partition.startswith(OWN) and stored.offset
    }


def _queues(runtime: TaskRuntime, topics: TopicMaker, opened: Opened) -> SourceQueues:
    """The queue map, with the configured topics in it."""
    queues = SourceQueues(runtime, opened)
    topic: str = runtime.config["topic"]
    queues.of(topic, partial(runtime.attempts.insist, f"looking for topic {topic}", partial(topics.find, topic, writable=True)))
    if dead := runtime.policy.dead_letter_topic:
        queues.of(dead, partial(dead_letter_queues, runtime, topics))
    return queues


def _look(runtime: TaskRuntime, opened: Opened, search: Search) -> tuple[Found, dict[MessageQueue, int]]:
    """What earlier owners have sent beyond the positions, and the ends of the queues that were read for it."""
    control, client, insist = runtime.control, runtime.client, runtime.attempts.insist
    starts = search.starts
    runtime.attempts.wait_out(_wait(runtime, opened, starts), "what an earlier owner has sent last may be on its way")
    if not starts:
        return Found({}, {}), {}
    brokers = {queue.broker for queue in starts}
    insist("waiting until the broker has stored all that was sent before", partial(settle, client, brokers, control.wait))
    uid = runtime.spec.connector_uid
    passed = {
        mark_key(uid, partition): (stored.incarnation, stored.offset)
        for partition, stored in opened.positions.items()
        if not partition.startswith(OWN)
    }

    def known(key: str) -> tuple[int, Offset]:
        return passed.get(key, (opened.incarnation, ()))

    sent = Sent(known) if search.mixed else None
    tails = _read_tails(runtime, search, sent)
    newest = max(tail.epoch for tail in tails.values())
    # Who began since this task was opened has stored that before it sent anything.
    gone_back = newest > newest_epoch(opened.positions) and newest > newest_epoch(
        insist("asking who began since", runtime.positions.look).positions
    )
    if gone_back and sent is None:
        # By which queue map that went is forgotten, too.
        sent = Sent(known)
        tails = _read_tails(runtime, search, sent)
    for tail in tails.values():
        if tail.gap:
            runtime.reporter.log("WARNING", tail.gap)
    found = beyond(tails, known)
    if gone_back or found.raised:
        runtime.reporter.log("WARNING", told(found.raised))
    looked = {queue: tail.start for queue, tail in tails.items()}
    ends = {queue: tail.end for queue, tail in tails.items()}
    return Found(found.there, looked, None if sent is None else sent.offsets, found.raised), ends


def _read_tails(runtime: TaskRuntime, search: Search, sent: Sent | None) -> dict[MessageQueue, Tail]:
    client, uid, stopping = runtime.client, runtime.spec.connector_uid, runtime.control.stopping.is_set
    tails: dict[MessageQueue, Tail] = {}
    for queue, start in sorted(search.starts.items()):
        read = partial(read_tail, client, queue, start, uid, stopping, sent, search.epochs.get(queue, 0))
        try:
            tails[queue] = runtime.attempts.insist("looking into the topic for what is there already", read)
        except InterruptedError:
            raise Stopped from None
    return tails


def _wait(runtime: TaskRuntime, opened: Opened, starts: Mapping[MessageQueue, int]) -> float:
    """Seconds for which what an older owner wrote last may be on its way (invariant 1: it has to be there when it is looked for).

    The cluster service has waited for it when the lease of that owner had ended (`settled`). It knows nothing of one that the
    position service has confirmed for longer, which is waited for in any case; the lease is nothing to one that goes on without.
    """
    settled = runtime.spec.settled and runtime.config["on.isolation"] == "pause"
    return opened.wait if settled or not starts else max(opened.wait, runtime.endpoints.send_deadline)
