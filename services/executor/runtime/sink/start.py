"""How a sink task begins: open, start the sink, choose the positions, and store those of new queues."""

from collections.abc import Mapping, Sequence
from functools import partial

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.sink import FlushPolicy, QueuePosition, SinkTask
from rocketconnect_sdk.targets.by_topic import ByTopic
from rocketmq_remoting.model import MessageQueue
from services.executor.contract.task import State
from services.executor.runtime.errors.attempts import FORMER_OWNER
from services.executor.runtime.positions.client import Opened
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq import gaps as continuity
from services.executor.runtime.rocketmq.filters import MessageFilter, ask_brokers, filter_of, refuse_unfilterable
from services.executor.runtime.rocketmq.message_trace import MessageTrace
from services.executor.runtime.rocketmq.queue_names import parse, text
from services.executor.runtime.rocketmq.topics import TopicMaker, clusters, dead_letter_queues, replay_queues
from services.executor.runtime.sink.batcher import Batcher, Limits
from services.executor.runtime.sink.buffered.engine import BufferedEngine
from services.executor.runtime.sink.buffered.loop import BufferedRun
from services.executor.runtime.sink.dead_letters import InQueue, SinkDeadLetters
from services.executor.runtime.sink.decode.claims import parting
from services.executor.runtime.sink.decode.decoders import decoder
from services.executor.runtime.sink.decode.noting import Decodes, NotingDecoder
from services.executor.runtime.sink.engines import Engine
from services.executor.runtime.sink.loop import SinkRun, Started
from services.executor.runtime.sink.positions import choose, from_stored, to_stored
from services.executor.runtime.sink.query.engine import QueryEngine
from services.executor.runtime.sink.query.start import begin_query
from services.executor.runtime.sink.queues import SinkQueues
from services.executor.runtime.sink.read_again import messages
from services.executor.runtime.sink.reader import SinkReader
from services.executor.runtime.sink.traces import SinkTraces
from services.executor.runtime.task_runtime import TaskRuntime

_HOLD_SECONDS = 15.0
_FOLLOWING_SECONDS = 1.0
"""A pull that a broker still holds for a task that has ended may be the one that it tells of a reset, once."""


def begin(runtime: TaskRuntime, task: SinkTask, engine: Engine, context: TaskContext, at: str = "") -> SinkRun:
    """Starts a sink task, which writes to `at`, for people; it may take as long as the other sides are away.

    Raises:
        Stopped, Fenced, GaveUp, PermanentError: it cannot begin.
    """
    config, insist = runtime.config, runtime.attempts.insist
    runtime.reporter.state(State.STARTING)
    opened = insist("opening the task at the position service", runtime.positions.open)
    runtime.attempts.wait_out(opened.wait, FORMER_OWNER)
    share = SinkQueues(runtime)
    queues = share.own(opened)
    topics = TopicMaker.of(runtime.client, config)
    group = config["task.group.id"] or f"connect-{runtime.spec.connector}"
    filters = _filters(runtime, queues, group)
    dead = dead_letter_queues(runtime, topics)
    replayed = replay_queues(runtime, topics, dead)
    in_sink = insist("starting the sink", partial(_start, runtime, task), at=at)
    positions = _positions(runtime, opened, in_sink, share, queues, replayed)
    share.watch({queue: _left_at(opened, in_sink, share, queue) for queue in share.absent})
    limits = Limits(config["buffer.bytes"], config["batch.bytes"], config["batch.records"])
    # What a buffered sink is given it is given at once; its limits are of what it has.
    policy = FlushPolicy() if isinstance(engine, BufferedEngine) else task.flush
    batcher = Batcher(policy, limits, engine.gather_seconds, topics_apart=isinstance(task, ByTopic))
    key, value = runtime.converters()
    traces = SinkTraces.of(runtime)
    own = decoder(key, value, runtime.policy, engine.wanted, runtime.chain)
    message_trace = MessageTrace.of(runtime, group)
    decodes: Decodes = own if message_trace is None else NotingDecoder(own, message_trace)
    reader = SinkReader(
        runtime.client,
        runtime.spec.connector,
        group,
        positions,
        decoder=decodes,
        finish=engine.finish,
        batcher=batcher,
        limit=runtime.limit(),
        control=runtime.control,
        skip_gaps=config["on.gap"] == "skip",
        log=runtime.reporter.log,
        attempts=runtime.attempts,
        buffer_bytes=limits.buffer_bytes,
        traces=traces,
        filters=filters,
        resets=runtime.resets,
        hold_seconds=_FOLLOWING_SECONDS if config["on.group.reset"] == "follow" else _HOLD_SECONDS,
        parted=parting(config, whole=engine.wanted.whole),
    )
    origin = InQueue(clusters(runtime, {queue.topic for queue in (*queues, *replayed)}) if dead else {})
    letters = SinkDeadLetters(
        runtime,
        dead,
        context.max_record_bytes,
        origin,
        lambda name, offsets: messages(runtime.client, parse(name), offsets, reader.was_reset),
        value.alone,
    )
    if isinstance(engine, QueryEngine):
        begin_query(runtime, engine, positions, in_sink, [*queues, *share.absent])
    runtime.attempts.beginning = False
    run = BufferedRun if isinstance(engine, BufferedEngine) else SinkRun
    return run(Started(runtime, engine, reader, batcher, letters, share, positions, group, traces, message_trace))


def _filters(runtime: TaskRuntime, queues: Sequence[MessageQueue], group: str) -> Mapping[MessageQueue, MessageFilter]:
    """Of the queues of its topics, if it has a filter: what comes back from the dead letters is read whole.

    Raises:
        PermanentError, InvalidFilter: not all that it reads can be filtered, or brokers don't take the filter.
    """
    only = filter_of(runtime.config)
    if only is None:
        return {}
    for topic in sorted({queue.topic for queue in queues}):
        refuse = partial(refuse_unfilterable, runtime.client, topic, only)
        runtime.attempts.insist(f"asking whether topic {topic} can be filtered", refuse)
    ask = partial(ask_brokers, runtime.client, queues, only, group)
    runtime.attempts.insist("asking brokers whether they take the filter", ask)
    return dict.fromkeys(queues, only)


def _positions(
    runtime: TaskRuntime,
    opened: Opened,
    in_sink: Mapping[str, QueuePosition],
    share: SinkQueues,
    queues: Sequence[MessageQueue],
    replayed: Sequence[MessageQueue],
) -> dict[MessageQueue, QueuePosition]:
    """Where each queue is begun, those of the replay topic always at their beginning: all that is there is for this connector.

    What is decided here for a queue without a position is stored before anything is read.
    """
    client, insist = runtime.client, runtime.attempts.insist
    positions: dict[MessageQueue, QueuePosition] = {}
    fresh: dict[str, Stored] = {}
    for queue in (*queues, *replayed):
        name = text(queue)
        stored = opened.positions.get(name)
        position = _known(opened, in_sink, name)
        if position is not None and (further := _behind_gap(runtime, queue, position)) is not None:
            position = further
            fresh[name] = to_stored(position)
        if position is None:
            ask = client.min_offset if queue in replayed else share.begin
            until = insist(f"asking where queue {name} begins", partial(ask, queue))
            position = QueuePosition(until, stored.incarnation if stored is not None else opened.incarnation)
            fresh[name] = to_stored(position)
        positions[queue] = position
    if fresh:
        insist("storing where the task begins", partial(_store, runtime, fresh))
    return positions


def _known(opened: Opened, in_sink: Mapping[str, QueuePosition], name: str) -> QueuePosition | None:
    stored = opened.positions.get(name)
    known = from_stored(stored) if stored is not None and stored.offset else None
    return choose(known, in_sink.get(name), opened.incarnation)


def _left_at(opened: Opened, in_sink: Mapping[str, QueuePosition], share: SinkQueues, queue: MessageQueue) -> int | None:
    position = _known(opened, in_sink, text(queue))
    return share.first_end(queue) if position is None else position.until


def _behind_gap(runtime: TaskRuntime, queue: MessageQueue, position: QueuePosition) -> QueuePosition | None:
    """Where to go on when the queue no longer holds what was read from it; None: it does.

    Raises:
        PermanentError: on.gap=fail.
    """
    compare = partial(continuity.find_gap, runtime.client, queue, position.until, position.stored_ms)
    gap = runtime.attempts.insist(f"comparing queue {text(queue)} with what was read", compare)
    if gap is None:
        return None
    if runtime.config["on.gap"] != "skip":
        raise PermanentError(continuity.refusal(gap, runtime.spec.connector))
    runtime.reporter.log("WARNING", f"{gap.lost}; skipped, as on.gap=skip says")
    runtime.reporter.metrics.gap_messages += gap.end - gap.start
    return continuity.behind(position, gap)


def _start(runtime: TaskRuntime, task: SinkTask) -> Mapping[str, QueuePosition]:
    # Invariant 3: what it mends or creates in the target is a change of it.
    runtime.lease.check()
    return task.start()


def _store(runtime: TaskRuntime, positions: Mapping[str, Stored]) -> None:
    runtime.lease.check()
    runtime.positions.store(positions)
