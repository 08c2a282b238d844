"""Tries the converters of a source on its first records while its configuration is checked. Nothing is written."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from rocketconnect_sdk.configuration.connector_options import parse_source
from rocketconnect_sdk.configuration.runtime_options import CLASS, KEY_CONVERTER, VALUE_CONVERTER
from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.converters.registered import RegisteredConverter
from rocketconnect_sdk.errors import ConfigError, ConnectorError, Problem, RecordError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.plugins.loader import DIRECT, find
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.source import Source
from rocketconnect_sdk.transforms.base import Record
from rocketconnect_sdk.wording.counts import counted
from services.executor.host.jobs.newest import known_secrets
from services.executor.host.jobs.sources.preflight import chain_of, sample_of
from services.executor.host.jobs.sources.written import records_of
from services.executor.runtime.task_runtime import converters_of

_SHOWN = 300
_TEXT = "Leave it out for text, or set it to json, which takes anything"


def unwritten(config: Mapping[str, str], problems: Sequence[Problem]) -> list[Problem]:
    """Warnings of converters that cannot write what a source gives; none where something is wrong, or its records are not known.

    Args:
        config: As people gave it.
        problems: What is known; of a converter that is told of already nothing more is.
    """
    given = config.get(CLASS.key, "").strip()
    if not given or given == DIRECT or any(not problem.is_warning for problem in problems):
        return []
    told = {problem.key for problem in problems}
    # What can't be read is among the problems already.
    with suppress(ConfigError):
        plugin = find(given)
        if isinstance(plugin, Source) and not plugin.whole_messages:
            parsed = known_secrets(parse_source(plugin, config))
            return [] if parsed is None else [each for each in _tried(plugin, parsed) if each.key not in told]
    return []


def _tried(plugin: Source, config: Config) -> Iterable[Problem]:
    chain = chain_of(config)
    sample = None if chain is None else sample_of(plugin, config)
    if chain is None or sample is None:
        return
    try:
        records = records_of(config, sample, chain)
    except ConnectorError:
        # A transform that can't answer now.
        return
    key, value = converters_of(config)
    for option, converter, part in ((KEY_CONVERTER.key, key, _key), (VALUE_CONVERTER.key, value, _value)):
        # A registry is asked for nothing that nobody has sent.
        if not isinstance(converter, RegisteredConverter):
            yield from _refusals(option, config, converter, [part(record) for record in records])


def _key(record: Record) -> tuple[object, Schema | None]:
    return record.key, record.key_schema


def _value(record: Record) -> tuple[object, Schema | None]:
    return record.value, record.schema


def _refusals(
    option: str, config: Config, converter: Converter, given: Sequence[tuple[object, Schema | None]]
) -> Iterable[Problem]:
    converter.for_topic(config["topic"])
    present = [(value, schema) for value, schema in given if value is not None]
    refused = [said for value, schema in present if (said := _refusal(converter.encode_dry, value, schema))]
    if refused:
        which = "the only record" if len(present) == 1 else f"{len(refused):,} of the first {counted(present, 'record')}"
        reason = f"cannot write {which}: {refused[0][:_SHOWN]}"
        fix = f"{_TEXT}; or let transforms make of the records what it takes. Else errors.tolerance decides of them."
        yield Problem(option, config[option], reason, fix, is_warning=True)


def _refusal(encode: Callable[[object, Schema | None], bytes], value: object, schema: Schema | None) -> str:
    try:
        encode(value, schema)
    except RecordError as error:
        return str(error)
    return ""
