"""What encodes the records of a source: one by one, or many rows in a message."""

from collections.abc import Callable, Sequence

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.converters.arrow import ArrowConverter
from rocketconnect_sdk.source import SourceTask
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.source.encode import Encoder, Target
from services.executor.runtime.source.takeover import Found
from services.executor.runtime.task_runtime import TaskRuntime


def encoder(target: Target, incarnation: Callable[[str], int], found: Found) -> "Encoder":
    """What encodes for this target.

    Args:
        target: See Target.
        incarnation: Of a source partition.
        found: What is in the topic already.
    """
    if isinstance(target.value, ArrowConverter):
        from services.executor.runtime.source.encode_rows import RowsEncoder

        return RowsEncoder(target, incarnation, found)
    return Encoder(target, incarnation, found)


def target_of(
    runtime: TaskRuntime, task: SourceTask, context: TaskContext, queues: Callable[[str], Sequence[MessageQueue]]
) -> Target:
    """What the records of a task are encoded for.

    Args:
        runtime: What every task has.
        task: The source's task.
        context: Of it.
        queues: Of a topic.
    """
    spec, config = runtime.spec, runtime.config
    key, value = runtime.converters()
    return Target(
        connector=spec.connector,
        uid=spec.connector_uid,
        task=spec.task,
        epoch=spec.epoch,
        topic=config["topic"],
        queues=queues,
        source=task,
        key=key,
        value=value,
        policy=runtime.policy,
        batch_bytes=config["batch.bytes"],
        batch_records=config["batch.records"],
        record_bytes=context.max_record_bytes,
    )
