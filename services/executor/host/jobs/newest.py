"""Looks at the newest messages of topics while a configuration is checked. Nothing is written, and no position moves."""

import queue
import re
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from threading import Thread

from rocketconnect_sdk.columns.declared import INFER, given_columns
from rocketconnect_sdk.columns.rows import Rows, unpack
from rocketconnect_sdk.configuration.connector_options import parse_sink
from rocketconnect_sdk.configuration.nearest import did_you_mean, nearest
from rocketconnect_sdk.configuration.references import REFERENCE
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.converters.arrow import ArrowConverter
from rocketconnect_sdk.errors import ConfigError, ConnectorError, PermanentError, Problem, RecordError
from rocketconnect_sdk.options import Config, run_checks
from rocketconnect_sdk.plugins.loader import DIRECT, find
from rocketconnect_sdk.queries.options import QUERY, column_problems
from rocketconnect_sdk.record import NO_HEADERS
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import Sink
from rocketconnect_sdk.transforms import chain
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import InvalidFilter, RocketMQError
from rocketmq_remoting.model import SqlFilter
from rocketmq_remoting.protocol.properties import decode_properties
from services.executor.contract.endpoints import Endpoints
from services.executor.host.jobs.chosen import Message, last, shared
from services.executor.host.jobs.judging import Given, Read, judge
from services.executor.host.jobs.tried import failures, is_simple
from services.executor.runtime.rocketmq.connect import connect, with_user_of
from services.executor.runtime.rocketmq.filters import MessageFilter, ask_brokers, filter_of, option_of, refuse_unfilterable
from services.executor.runtime.rocketmq.internal_topics import is_internal
from services.executor.runtime.rocketmq.properties import TOMBSTONE
from services.executor.runtime.rocketmq.source_marks import PROPERTY
from services.executor.runtime.rocketmq.topic_reader import RocketMQTopics
from services.executor.runtime.sink.decode.headers import headers_of
from services.executor.runtime.task_runtime import converters_of
from services.executor.secrets.resolving import resolve_known

_COLUMNS = "columns"
_UNCHECKED = {
    "topics": "Whether the converter reads what is in there",
    "topic": "Whether what is in there has the form that the source writes",
}
MESSAGES = 1000
"""So many of each topic are looked at."""
TOPICS = 10
"""So many topics are looked at."""
SECONDS = 3.0
"""A check waits no longer for the brokers."""
_BYTES = 16 << 20
"""Invariant 7: of the bodies of all topics that are held; what is larger is left out."""
_STEPS = (16, 128, MESSAGES)
"""So far back from its end a queue is read, one step after the other."""
_NUMBER = re.compile(r"\d+")
_NEEDED = ("rocketmq.", "key.converter.", "value.converter.", "transforms.", "predicates.")
"""What begins so has to be known before anybody can look."""
PULLING = SECONDS / 2
"""So long after its begin messages are pulled."""
READING = SECONDS * 0.8
"""So long after its begin what has come is read; the rest of the time is for what is said of it."""


def with_topics(config: Mapping[str, str], problems: Sequence[Problem], endpoints: Endpoints) -> list[Problem]:
    """What is wrong with a configuration, and what the newest messages of its topics say of it.

    Of a connector that is no sink it is what was given, and also where it can't be looked before something else is mended.

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
        # No sink infers; what it could name is proposed as if nothing were said.
        infers = config.get(_COLUMNS, "").strip() == INFER
        config = {key: value for key, value in config.items() if not (infers and key == _COLUMNS)}
        parsed = parse_sink(plugin, config)
        needing = list(run_checks(parsed, plugin.without_rows))
        without_types = [problem for problem in needing if problem in known]
        given = Given(
            config,
            parsed["value.converter"],
            given_columns(parsed[_COLUMNS]) if _COLUMNS in parsed else None,
            takes_rows=plugin.takes_rows(parsed),
            needs_types=bool(needing) or infers,
            may_change=bool(parsed["transforms"] or parsed[QUERY.key]),
            is_tolerant=parsed["errors.tolerance"] == "all",
            takes=plugin.takes_column,
        )
        found = looked("topics", parsed["topics"], partial(_look, parsed, given, plugin, endpoints))
        if infers:
            named = next((problem.fix for problem in found if problem.key == _COLUMNS), "")
            known = [replace(each, fix=named) if named and each.key == _COLUMNS else each for each in known]
            return [*known, *(problem for problem in found if problem.key != _COLUMNS)]
        if any(not problem.is_warning for problem in found):
            # They say the same, and which options there would be rows with.
            known = [problem for problem in known if problem not in without_types]
        return [*known, *found]
    return known


def looked(option: str, topics: Sequence[str], look: Callable[[], list[Problem]]) -> list[Problem]:
    """What there is to say within SECONDS of topics that an option names; why nothing can be said is a warning."""
    told: queue.SimpleQueue[list[Problem] | Exception] = queue.SimpleQueue()

    def tell() -> None:
        try:
            told.put(look())
        except Exception as error:
            told.put(error)

    def not_looked(reason: str) -> list[Problem]:
        fix = f"{_UNCHECKED[option]} was not checked; validate again to have it checked."
        return [Problem(option, ",".join(topics)[:200], f"cannot be looked at now: {reason}", fix, is_warning=True)]

    # A call of a client may take longer than there is time; this process ends with its answer, and the thread with it.
    Thread(target=tell, daemon=True).start()
    try:
        found = told.get(timeout=SECONDS)
    except queue.Empty:
        return not_looked(f"no answer came within {SECONDS:g} s")
    if isinstance(found, ConnectorError | RocketMQError | OSError):
        return not_looked(str(found))
    if isinstance(found, Exception):
        # A converter of somebody else may raise anything: whoever only looks refuses nothing for it.
        traceback.print_exception(found)
        return not_looked(f"{type(found).__name__}: {found}; the executor's log has the traceback")
    return found


def known_secrets(config: Config) -> Config | None:
    """The configuration with its secrets, as far as they are known here; None: what somebody needs to look is not."""
    resolved = resolve_known(config)
    # It is told under the option that holds it.
    is_missing = any(key.startswith(_NEEDED) and REFERENCE.search(text) for key, text in resolved.raw.items())
    return None if is_missing else resolved


def _look(config: Config, given: Given, plugin: Sink, endpoints: Endpoints) -> list[Problem]:
    began = time.monotonic()
    resolved = known_secrets(config)
    if resolved is None:
        return []
    converters = converters_of(resolved)
    for each in converters:
        each.patience = SECONDS
    only = filter_of(resolved)
    with (
        connect(with_user_of(resolved, endpoints), "rocketconnect_check") as client,
        closing(RocketMQTopics(client, only)) as topics,
    ):
        if only is not None and (refused := _unfiltered(client, resolved["topics"][:TOPICS], only)):
            return refused
        newest = newest_of(topics, resolved["topics"][:TOPICS], began + PULLING)
        mistyped = _mistyped(client, [name for name, messages in newest.items() if not messages], resolved)
    until = began + READING
    read = {topic: read_all(converters[1], messages, until) for topic, messages in newest.items()}
    found = judge(read, given)
    if not given.may_change and (rows := _newest_rows(read)):
        found += plugin.check_rows(resolved, rows)
    if resolved[QUERY.key] and not resolved["transforms"] and (rows := _newest_rows(read)):
        found += column_problems(resolved, rows)
    # What is wrong with them otherwise is among the problems already.
    if resolved["transforms"] and not chain.problems(resolved.raw):
        made = chain.make(resolved.raw)
        found += failures(made, converters, newest, until) if is_simple(made) else ()
    return [*found, *mistyped]


def _unfiltered(client: Client, topics: Sequence[str], only: MessageFilter) -> list[Problem]:
    """Topics that can't be filtered, and brokers that do not take the filter."""
    given = only.expression if isinstance(only, SqlFilter) else ",".join(sorted(only.tags))
    found = []
    for topic in filter(client.topic_exists, topics):
        try:
            refuse_unfilterable(client, topic, only)
            ask_brokers(client, client.queues(topic), only, client.group)
        except (PermanentError, InvalidFilter) as error:
            fix = "Correct it, or leave it out: see docs/messages.md."
            found.append(Problem(option_of(only), given[:200], f"cannot be: {error}", fix))
    return found


def _mistyped(client: Client, names: Sequence[str], config: Config) -> list[Problem]:
    """Warnings of topics that are not there while others have nearly the same name."""
    there: list[str] = []
    if names:
        # Who may read the topics of a sink need not see all others.
        with suppress(RocketMQError):
            there = [name for name in client.topics() if not is_internal(name)]
    found = []
    for name in names:
        near = [] if not there or name in there else nearest(name, there)
        # Whoever numbers topics begins a new one.
        meant = did_you_mean(each for each in near if _NUMBER.sub("", each) != _NUMBER.sub("", name))
        if meant:
            then = "is created when the sink starts" if config["topic.auto.create"] else "has to be created before the sink starts"
            fix = f"{meant[0].upper()}{meant[1:]} If not, the topic {then}."
            found.append(Problem("topics", name, "is a topic that is not there", fix, is_warning=True))
    return found


def _newest_rows(read: Mapping[str, Sequence[Read]]) -> dict[str, Schema]:
    """The schema of the newest row with types of each topic that has one."""
    found = {}
    for topic, reads in read.items():
        schema = next((each.schema for each in reversed(reads) if each.is_row), None)
        if schema is not None:
            found[topic] = schema
    return found


def newest_of(topics: RocketMQTopics, names: Sequence[str], until: float) -> dict[str, list[Message]]:
    """The newest messages of each topic that have a value; of a topic that is not there none."""
    found = {}
    for place, name in enumerate(names):
        now = time.monotonic()
        # What one topic leaves of the time is for those behind it.
        found[name] = _of_topic(topics, name, now + (until - now) / (len(names) - place), _BYTES // len(names))
    return found


def _of_topic(topics: RocketMQTopics, topic: str, until: float, room: int) -> list[Message]:
    ends = {name: topics.ends(name) for name in topics.queues(topic)}
    shares = shared([end - begin for begin, end in ends.values()], MESSAGES)
    read: dict[str, list[Message]] = {name: [] for name in ends}
    near = 0
    # The newest of every queue first: for what is before them there may be no room, or no time.
    for far in _STEPS:
        for share, (name, (_, end)) in zip(shares, ends.items(), strict=True):
            found = _between(topics, name, end - min(share, far), end - min(share, near), until, room)
            room -= sum(len(message.batch.bodies[message.index]) for message in found)
            read[name] = found + read[name]
        near = far
    return [message for message in last(list(read.values()), MESSAGES) if not _is_tombstone(message)]


def _between(topics: RocketMQTopics, name: str, position: int, end: int, until: float, room: int) -> list[Message]:
    """The messages of a queue from one offset to another, as far as there are time and room for them."""
    messages: list[Message] = []
    while position < end and room > 0 and time.monotonic() < until:
        batch, position = topics.pull(name, position, end)
        if batch is None:
            continue
        room -= sum(map(len, batch.bodies))
        times = batch.store_timestamps_ms
        messages += [Message(name, offset, times[index], batch, index) for index, offset in enumerate(batch.offsets)]
    return messages


def _is_tombstone(message: Message) -> bool:
    is_empty = not message.batch.bodies[message.index]
    return is_empty or TOMBSTONE in decode_properties(message.batch.raw_properties[message.index])


def read_all(converter: Converter, messages: Sequence[Message], until: float) -> list[Read]:
    """The messages, as the converter takes them: the newest of them, as many as there is time for."""
    read: list[Read] = []
    for message in reversed(messages):
        if read and time.monotonic() > until:
            break
        if (one := _read_one(converter, message)) is not None:
            read.append(one)
    return read[::-1]


def _read_one(converter: Converter, message: Message) -> Read | None:
    body = bytes(message.batch.bodies[message.index])
    properties = decode_properties(message.batch.raw_properties[message.index])
    is_ours = PROPERTY in properties
    read = read_body(converter, body, headers_of(properties, ""))
    return None if read is None else replace(read, is_ours=is_ours)


def read_body(converter: Converter, body: bytes, headers: Mapping[str, str] = NO_HEADERS) -> Read | None:
    """What a converter makes of the bytes of a message, at least one, and its headers. None: there is no record in it."""
    try:
        if isinstance(converter, ArrowConverter):
            rows: Rows = unpack(body)
            return Read(body, schema=rows.schema, packed=rows.values)
        if converter.several:
            records, schema = converter.records_of(body, headers) if converter.reads_headers else converter.records(body)
            if not records:
                return None
            value = next((each.value for each in records if not isinstance(each.value, RecordError)), None)
        else:
            value, schema = converter.decode(body)
    except RecordError as error:
        return Read(body, refusal=str(error))
    return Read(body, value, schema)
