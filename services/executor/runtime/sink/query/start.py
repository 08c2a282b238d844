"""How the query of a sink task begins."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from rocketconnect_sdk.queries.options import QuerySettings
from rocketconnect_sdk.sink import QueuePosition
from rocketmq_remoting.errors import RocketMQError
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.errors.left_out import leave_out
from services.executor.runtime.rocketmq.queue_names import parse, text
from services.executor.runtime.sink.decode.part import BadRecord
from services.executor.runtime.sink.engines import Engine
from services.executor.runtime.sink.query.engine import QueryEngine
from services.executor.runtime.sink.query.state import StateFolder
from services.executor.runtime.task_runtime import TaskRuntime


def query_engine(inner: Engine, settings: QuerySettings, runtime: TaskRuntime) -> QueryEngine:
    """An engine that writes what a query makes, with the engine of the sink."""
    spec, metrics = runtime.spec, runtime.reporter.metrics
    # What is late goes nowhere.
    dropping = replace(runtime.policy, dead_letter_topic="")

    def leave(record: BadRecord) -> None:
        leave_out(dropping, runtime.reporter, record.failure, record.place)

    def count(duplicates: int) -> None:
        metrics.duplicates_skipped += duplicates

    folder = None
    if settings.keeps:
        folder = StateFolder(settings.state, f"{spec.connector_uid}/{spec.task}", spec.epoch, settings.meaning)
    return QueryEngine(inner, settings, folder, leave_out=leave, duplicates=count, tolerant=runtime.policy.tolerant)


def begin_query(
    runtime: TaskRuntime,
    engine: QueryEngine,
    positions: Mapping[MessageQueue, QueuePosition],
    in_sink: Mapping[str, QueuePosition],
    waited: Iterable[MessageQueue],
) -> None:
    """Takes up the state behind the positions.

    Args:
        runtime: What every task has.
        engine: That of the query.
        positions: Where each queue is begun.
        in_sink: What is stored with the data.
        waited: The queues whose watermarks count: not those of letters that are replayed.

    Raises:
        Stopped, GaveUp, PermanentError: it cannot.
    """

    def end_of(queue: str) -> int | None:
        try:
            return runtime.client.max_offset(parse(queue))
        except (RocketMQError, OSError):
            # Then it is waited for.
            return None

    named = {text(queue): position for queue, position in positions.items()}
    begin = partial(engine.begin, named, begun(named, in_sink), [text(queue) for queue in waited], end_of)
    said = runtime.attempts.insist("reading the state of the query", begin)
    if said:
        runtime.reporter.log("INFO", f"the query {said}")


def begun(positions: Mapping[str, QueuePosition], in_sink: Mapping[str, QueuePosition]) -> set[str]:
    """The queues whose position is behind a record that was written, and not where a task or a person has put it.

    A position that was put somewhere has neither marks nor the time of a message before it, and is in no sink.
    """
    return {
        queue
        for queue, position in positions.items()
        if position.stored_ms or position.marks or (queue in in_sink and in_sink[queue].place == position.place)
    }
