"""Runs dead letters through what will read them, before anybody sends them. Nothing is written.

Runs in a process of its own, which ends with the answer.
"""

import time
import traceback
from contextlib import ExitStack

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.declared import given_columns
from rocketconnect_sdk.columns.objects import rows_of_array, rows_of_values
from rocketconnect_sdk.configuration.connector_options import parse_sink, parse_source
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.errors import ConnectorError, RecordError
from rocketconnect_sdk.plugins.loader import find
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.source import Source
from rocketconnect_sdk.stages import Stage
from rocketconnect_sdk.transforms.chain import Chain, make
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import encode_properties
from services.executor.contract import answers, questions
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.sink.decode.decoder import Decoder
from services.executor.runtime.sink.decode.decoders import decoder
from services.executor.runtime.sink.decode.part import DecodeSettings
from services.executor.runtime.task_runtime import converters_of
from services.executor.secrets.resolving import hide, resolve

_COLUMNS = "columns"


def check_letters(order: questions.CheckLetters) -> answers.LettersChecked:
    """Say of each letter what becomes of it, or why nobody can know."""
    trouble = ""
    checked: list[answers.CheckedLetter] = []
    try:
        with ExitStack() as held:
            reader, columns = _reader(order, held)
            checked += [_checked(reader, columns, order.topic, letter) for letter in order.letters]
    except ConnectorError as error:
        trouble = str(error)
    except Exception:
        trouble = f"a defect of the plugin: {traceback.format_exc()}"
    return answers.LettersChecked([] if trouble else checked, hide(trouble))


def _reader(order: questions.CheckLetters, held: ExitStack) -> tuple[Decoder, Schema | None]:
    """What the letters have to pass: of a sink its converters and transforms, and the columns that it makes of untyped values.

    A source's edited letter goes past its transforms and converter to the readers of its topic: what its own converter would not
    read, it would not have written.
    """
    plugin = find(order.config[CLASS.key].strip())
    if isinstance(plugin, Source):
        key, value = converters_of(resolve(parse_source(plugin, order.config)))
        return decoder(key, value, ErrorPolicy.of_nobody(), DecodeSettings(keys=False, timestamps=False), Chain(())), None
    config = resolve(parse_sink(plugin, order.config))
    chain = make(config.raw)
    held.callback(chain.close)
    key, value = converters_of(config)
    columns = given_columns(config[_COLUMNS]) if _COLUMNS in config else None
    return decoder(key, value, ErrorPolicy.of_nobody(), DecodeSettings(headers=True), chain), columns


def _checked(reader: Decoder, columns: Schema | None, topic: str, letter: questions.LetterToCheck) -> answers.CheckedLetter:
    """Each alone: the fate of one says nothing of another."""
    queue = MessageQueue(topic, "", 0)
    batch = DecodedBatch.unsent(queue, 0, letter.body, encode_properties(letter.properties))
    parts = reader.decode(batch, None, 0, {}, time.monotonic(), {})
    bad = [each.failure for part in parts for each in part.bad]
    if bad:
        return answers.CheckedLetter(hide(f"{bad[0].stage.value}: {bad[0].error}: {bad[0].message}"))
    for records in (part.records for part in parts):
        if columns is not None:
            try:
                if records.schema is None or records.schema.type is not Type.STRUCT:
                    rows_of_values(records.values, columns)
                else:
                    rows_of_array(to_array(records.values, records.schema), columns)
            except RecordError as error:
                return answers.CheckedLetter(hide(f"{Stage.CONVERT.value}: {type(error).__name__}: {error}"))
    return answers.CheckedLetter("", is_dropped=not any(len(part.records) for part in parts))
