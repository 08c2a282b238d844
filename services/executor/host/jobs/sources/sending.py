"""The messages that a source would send, made as it makes them. Nothing is sent, and no schema is registered."""

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace

from rocketconnect_sdk.configuration.connector_options import check_connector, parse_source
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.context import MAX_RECORD_BYTES, TaskContext
from rocketconnect_sdk.converters.registered import RegisteredConverter
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.plugins.loader import find
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.source import Source
from rocketconnect_sdk.transforms.chain import make
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import UNIQUE_KEY, encode_properties
from services.executor.host.jobs.plugins import TASKS
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.rocketmq.properties import extras_of
from services.executor.runtime.source.encode import Target, keys_of, properties_by_topic
from services.executor.runtime.source.encoders import encoder
from services.executor.runtime.source.takeover import Found
from services.executor.runtime.task_runtime import converters_of
from services.executor.runtime.transforms import of_source
from services.executor.secrets.resolving import resolve, resolve_known

_PAUSE = 0.05
_NOT_SENT = encode_properties({UNIQUE_KEY: "not-sent"})
"""In the place of the id that a broker gives a message."""


@dataclass(frozen=True, slots=True)
class EncodedMessage:
    """The message of a record.

    Attributes:
        body: Its bytes.
        properties: Encoded.
        topic: Where it goes.
        failure: Why there is none; then the rest is empty.
    """

    body: bytes = b""
    properties: bytes = b""
    topic: str = ""
    failure: Failure | None = None


def written(batch: SourceBatch, target: Target) -> EncodedMessage:
    """The message of the one record of a batch."""
    encoded = encoder(target, lambda _: 0, Found({}, {})).encode(batch, time.monotonic())
    if encoded.failures:
        return EncodedMessage(failure=encoded.failures[0])
    bodies = [body for piece in encoded.pieces for body in piece.bodies]
    extras, _ = extras_of(batch, keys_of(target, batch, bodies, {}), properties_by_topic(target, batch, {}))
    return EncodedMessage(bodies[0], b"" if extras is None else extras[0], encoded.pieces[0].queue.topic)


def target_of(plugin: Source, config: Config) -> Target:
    """How a source converts that sends nothing."""
    key, value = converters_of(config)
    return Target(
        connector="",
        uid="",
        task=0,
        epoch=0,
        topic=config["topic"],
        queues=lambda topic: [MessageQueue(topic, "", 0)],
        source=plugin,
        key=key,
        value=value,
        policy=ErrorPolicy.of_nobody(),
        batch_bytes=config["batch.bytes"],
        batch_records=config["batch.records"],
        record_bytes=MAX_RECORD_BYTES,
    )


def polled(source: Source, config: Config, connector: str, records: int, until: float, held: ExitStack) -> Iterator[SourceBatch]:
    """The first batches of a source, those that are there, until a time on the monotonic clock."""
    plan = source.plan(config, 1, {})
    context = TaskContext(connector=connector, connector_uid="preview", task=0, generation=0, epoch=0)
    context.batch_records = records
    task = source.open(config, {**plan.tasks[0], TASKS: str(len(plan.tasks))}, context)
    held.callback(task.close)
    task.start({})
    is_begun = False
    while time.monotonic() < until and not task.finished:
        batches = batches_of(task.poll())
        if any(map(len, batches)):
            is_begun = True
            yield from batches
        elif is_begun and task.caught_up:
            # What is there has been given; that there will be more is not worth waiting for. Nothing yet is.
            return
        else:
            time.sleep(min(_PAUSE, task.idle_seconds))


def sent(
    raw: Mapping[str, str], topics: Collection[str], connector: str, records: int, until: float, held: ExitStack
) -> Iterator[DecodedBatch]:
    """The first messages of a source to these topics, as a sink would pull them; one that cannot be made is passed over.

    Args:
        raw: The configuration of the source.
        topics: Which of its messages.
        connector: For whom.
        records: How many at most.
        until: Until when it is polled, on the monotonic clock.
        held: What is to be closed at the end.

    Raises:
        PermanentError: the configuration is wrong, or its messages cannot be made without changing something.
        ConnectorError: what the source, its transforms or its converters raise.
    """
    if problems := [each for each in check_connector(raw, resolve_known).problems if not each.is_warning]:
        msg = f"the configuration of the source is wrong: {problems[0]}"
        raise PermanentError(msg)
    plugin = find(raw[CLASS.key].strip())
    if not isinstance(plugin, Source):
        msg = f"{plugin.name} is no source"
        raise PermanentError(msg)
    config = resolve(parse_source(plugin, raw))
    target, chain = target_of(plugin, config), make(config.raw)
    held.callback(chain.close)
    for converter in (target.key, target.value):
        if isinstance(converter, RegisteredConverter):
            msg = f"converter {converter.name} would register the schemas of its messages; there are some when the source runs"
            raise PermanentError(msg)
    count = 0
    for batch in polled(plugin, config, connector, records, until, held):
        for made in of_source(chain, replace(batch, resume=None), config["topic"]):
            for index in range(len(made)):
                message = written(made.slice(index, index + 1), target)
                if message.failure is not None or message.topic not in topics:
                    continue
                queue = MessageQueue(message.topic, "", 0)
                now = time.time_ns() // 1_000_000
                yield DecodedBatch.unsent(queue, count, message.body, message.properties + _NOT_SENT, now)
                count += 1
                if count == records:
                    return
