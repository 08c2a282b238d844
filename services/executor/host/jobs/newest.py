"""Looks at the newest messages of a sink's topics while its configuration is checked. Nothing is written, and no position moves."""

import queue
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from threading import Thread

from rocketconnect_sdk.columns.declared import parse_columns
from rocketconnect_sdk.columns.rows import Rows, unpack
from rocketconnect_sdk.configuration.connector_options import parse_sink
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.converters.arrow import ArrowConverter
from rocketconnect_sdk.errors import ConfigError, ConnectorError, Problem, RecordError
from rocketconnect_sdk.options import Config, run_checks
from rocketconnect_sdk.plugins.loader import DIRECT, find
from rocketconnect_sdk.sink import Sink
from rocketmq_remoting.errors import RocketMQError
from rocketmq_remoting.protocol.properties import decode_properties
from services.executor.contract.endpoints import Endpoints
from services.executor.host.jobs.chosen import Message, last
from services.executor.host.jobs.judging import Given, Read, judge
from services.executor.runtime.rocketmq.connect import connect, with_user_of
from services.executor.runtime.rocketmq.properties import TOMBSTONE
from services.executor.runtime.rocketmq.topic_reader import RocketMQTopics
from services.executor.runtime.task_runtime import converters_of
from services.executor.secrets.resolving import resolve

MESSAGES = 20
"""So many of each topic are looked at."""
TOPICS = 10
"""So many topics are looked at."""
SECONDS = 3.0
"""A check waits no longer for the brokers."""
_BYTES = 16 << 20
"""Invariant 7: of bodies that are held; what is larger is left out."""


def with_topics(config: Mapping[str, str], problems: Sequence[Problem], endpoints: Endpoints) -> list[Problem]:
    """What is wrong with a configuration, and what the newest messages of its topics say of it.

    Of other connectors than sinks that take rows it is what was given, and also where it can't be looked before something else
    is mended.

    Args:
        config: As people gave it.
        problems: What is known to be wrong.
        endpoints: Where the topics are.
    """
    known = list(problems)
    name = config.get(CLASS.key, "").strip()
    # What can't be read is among the problems already.
    with suppress(ConfigError):
        plugin = find(name) if name and name != DIRECT else None
        if not isinstance(plugin, Sink):
            return known
        parsed = parse_sink(plugin, config)
        if not plugin.takes_rows(parsed):
            return known
        without_types = [problem for problem in run_checks(parsed, plugin.without_rows) if problem in known]
        given = Given(
            config,
            parsed["value.converter"],
            parse_columns(parsed["columns"]) if parsed.raw.get("columns") else None,
            needs_types=bool(without_types),
            may_change=bool(parsed["transforms"]),
            is_tolerant=parsed["errors.tolerance"] == "all",
            takes=plugin.takes_column,
        )
        found = _looked(parsed, given, endpoints)
        if any(not problem.is_warning for problem in found):
            # They say the same, and which options there would be rows with.
            known = [problem for problem in known if problem not in without_types]
        return [*known, *found]
    return known


def _looked(config: Config, given: Given, endpoints: Endpoints) -> list[Problem]:
    """What there is to say within SECONDS."""
    told: queue.SimpleQueue[list[Problem] | Exception] = queue.SimpleQueue()

    def look() -> None:
        try:
            told.put(_look(config, given, endpoints))
        except Exception as error:
            told.put(error)

    # A call of a client may take longer than there is time; this process ends with its answer, and the thread with it.
    Thread(target=look, daemon=True).start()
    try:
        found = told.get(timeout=SECONDS)
    except queue.Empty:
        return [_not_looked(config, f"no answer came within {SECONDS:g} s")]
    if isinstance(found, ConnectorError | RocketMQError | OSError):
        return [_not_looked(config, str(found))]
    if isinstance(found, Exception):
        raise found
    return found


def _not_looked(config: Config, reason: str) -> Problem:
    fix = "Whether the converter reads what is in there was not checked; validate again to have it checked."
    return Problem("topics", ",".join(config["topics"])[:200], f"cannot be looked at now: {reason}", fix, is_warning=True)


def _look(config: Config, given: Given, endpoints: Endpoints) -> list[Problem]:
    resolved = resolve(config)
    _, value = converters_of(resolved)
    value.patience = SECONDS
    with connect(with_user_of(resolved, endpoints), "rocketconnect_check") as client, closing(RocketMQTopics(client)) as topics:
        newest = {topic: _newest(topics, topic) for topic in resolved["topics"][:TOPICS]}
    return judge({topic: [_read(value, body) for body in bodies] for topic, bodies in newest.items()}, given)


def _newest(topics: RocketMQTopics, topic: str) -> list[bytes]:
    """The newest messages that have a value; of a topic that is not there none."""
    until = time.monotonic() + SECONDS / 2
    room = _BYTES
    read: list[list[Message]] = []
    for name in topics.queues(topic):
        begin, end = topics.ends(name)
        position = max(begin, end - MESSAGES)
        messages: list[Message] = []
        while position < end and room > 0 and time.monotonic() < until:
            batch, position = topics.pull(name, position, end)
            if batch is None:
                continue
            room -= sum(map(len, batch.bodies))
            times = batch.store_timestamps_ms
            messages += [Message(name, offset, times[index], batch, index) for index, offset in enumerate(batch.offsets)]
        read.append(messages)
    found = last(read, MESSAGES)
    return [bytes(message.batch.bodies[message.index]) for message in found if not _is_tombstone(message)]


def _is_tombstone(message: Message) -> bool:
    is_empty = not message.batch.bodies[message.index]
    return is_empty or TOMBSTONE in decode_properties(message.batch.raw_properties[message.index])


def _read(converter: Converter, body: bytes) -> Read:
    """A message, as the converter takes it."""
    try:
        if isinstance(converter, ArrowConverter):
            rows: Rows = unpack(body)
            return Read(body, schema=rows.schema)
        value, schema = converter.decode(body)
    except RecordError as error:
        return Read(body, refusal=str(error))
    return Read(body, value, schema)
