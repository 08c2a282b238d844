"""Looks at the newest messages of a source's topic while its configuration is checked. Nothing is written."""

import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import partial

from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.errors import ConfigError, ConnectorError, Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.plugins.loader import DIRECT, find
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.source import Source
from rocketconnect_sdk.transforms import chain
from rocketconnect_sdk.transforms.chain import Chain
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.questions import Neighbour
from services.executor.host.jobs.chosen import Message
from services.executor.host.jobs.newest import PULLING, READING, known_secrets, looked, newest_of, read_all, read_body
from services.executor.host.jobs.sources.comparing import Around, There, compare
from services.executor.host.jobs.sources.written import Written, written_of
from services.executor.host.jobs.tried import is_simple
from services.executor.runtime.rocketmq.connect import connect, with_user_of
from services.executor.runtime.rocketmq.source_marks import parse
from services.executor.runtime.rocketmq.topic_reader import RocketMQTopics
from services.executor.runtime.task_runtime import converters_of


def of_topic(
    config: Mapping[str, str], problems: Sequence[Problem], endpoints: Endpoints, name: str, neighbours: Sequence[Neighbour]
) -> list[Problem]:
    """Warnings of what is in the topic of a source beside what it would write; none where there is nothing to compare.

    Args:
        config: As people gave it.
        problems: What is known to be wrong; where something is, nobody looks.
        endpoints: Where the topic is.
        name: Of the connector.
        neighbours: The connectors that there are.
    """
    given = config.get(CLASS.key, "").strip()
    if not given or given == DIRECT or any(not problem.is_warning for problem in problems):
        return []
    # What can't be read is among the problems already.
    with suppress(ConfigError):
        plugin = find(given)
        # What sends whole messages sends those of others, of any form.
        if isinstance(plugin, Source) and not plugin.whole_messages:
            parsed = parse_source(plugin, config)
            readers = [each.name for each in neighbours if each.reads]
            around = Around(name, {each.uid: each.name for each in neighbours}, readers)
            return looked("topic", [parsed["topic"]], partial(_look, plugin, parsed, endpoints, around))
    return []


def _look(plugin: Source, config: Config, endpoints: Endpoints, around: Around) -> list[Problem]:
    began = time.monotonic()
    resolved = known_secrets(config)
    if resolved is None:
        return []
    topic = resolved["topic"]
    with connect(with_user_of(resolved, endpoints), "rocketconnect_check") as client, closing(RocketMQTopics(client)) as topics:
        newest = newest_of(topics, [topic], began + PULLING)[topic]
    if not newest:
        return []
    _, converter = converters_of(resolved)
    written = _written(plugin, resolved, converter)
    there = _there(converter, newest, began + READING)
    found = compare(
        topic,
        there,
        written,
        around,
        [
            read
            for body, properties in zip(written.bodies, written.properties, strict=True)
            if body and (read := read_body(converter, body, properties)) is not None
        ],
    )
    return [] if found is None else [found]


def _written(plugin: Source, config: Config, converter: Converter) -> Written:
    transforms = chain_of(config)
    sample = None if transforms is None else sample_of(plugin, config)
    try:
        return written_of(config, converter, sample, transforms)
    except ConnectorError:
        # A registry or a transform that can't answer now: the form alone is known.
        return written_of(config, converter, None, None)


def chain_of(config: Config) -> Chain | None:
    """The transforms, where they can be tried in passing."""
    if chain.problems(config.raw):
        return None
    made = chain.make(config.raw)
    return made if is_simple(made) else None


def sample_of(plugin: Source, config: Config) -> SourceBatch | None:
    """Some of the first records of a source; None: they are not known."""
    try:
        return plugin.sample(config)
    except Exception as error:
        # Whoever only looks refuses nothing for a plugin of somebody else; what it lacks its check has told.
        if not isinstance(error, ConnectorError | OSError | ValueError):
            traceback.print_exception(error)
        return None


def _there(converter: Converter, messages: Sequence[Message], until: float) -> list[There]:
    read = read_all(converter, messages, until)
    newest = messages[len(messages) - len(read) :]
    return [There(each, _uid(message)) for each, message in zip(read, newest, strict=True)]


def _uid(message: Message) -> str:
    place = parse(message.batch.raw_properties[message.index])
    return "" if place is None else place.key.partition("/")[0]
