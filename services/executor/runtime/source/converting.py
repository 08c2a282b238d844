"""Values of a source become the bytes and the properties of messages, each for the topic that it goes to."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rocketconnect_sdk.columns.compact import Column, Texts, picked
from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import Rejected, SourceBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.stages import Stage
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.rocketmq.properties import null_places

if TYPE_CHECKING:
    from services.executor.runtime.source.encode import Target


def convert_by_topic(
    target: "Target",
    converter: Converter,
    batch: SourceBatch,
    values: Sequence[object],
    schema: Schema | None,
    failures: dict[int, Failure],
) -> list[bytes]:
    """The bytes of each value, by a converter that knows where its messages go; empty for None and those added to the failures."""
    encoded = [b""] * len(values)
    for topic, indexes in by_topic(batch.topics if converter.by_topic else None, len(values), {}, target.topic):
        converter.for_topic(topic)
        if indexes is None:
            return _convert(converter, target.source, values, schema, failures)
        bad: dict[int, Failure] = {}
        for index, body in zip(indexes, _convert(converter, target.source, picked(values, indexes), schema, bad), strict=True):
            encoded[index] = body
        failures |= {indexes[number]: failure for number, failure in bad.items()}
    return encoded


def _convert(
    converter: Converter, source: object, values: Sequence[object], schema: Schema | None, failures: dict[int, Failure]
) -> list[bytes]:
    """The bytes of each value; empty for None and for those that are added to the failures."""
    if _are_all_values(values):
        nulls = null_places(values)
        try:
            return _runtime(nulls, len(values), converter.encode_many(_without(values, nulls), schema))
        except RecordError:
            # At least one is bad: found below, one by one.
            pass
    encoded = []
    for index, value in enumerate(values):
        body = b""
        if isinstance(value, Rejected):
            failures[index] = Failure.of_rejected(value, source)
        elif isinstance(value, Failure):
            failures[index] = value
        elif value is not None:
            try:
                body = converter.encode(value, schema)
            except RecordError as error:
                failures[index] = Failure.of_value(Stage.CONVERT, error, value, converter, schema)
        encoded.append(body)
    return encoded


def _are_all_values(values: Sequence[object]) -> bool:
    """Whether none of them is a bad one."""
    return isinstance(values, Texts | Column) or not {Rejected, Failure} & set(map(type, values))


def _without(values: Sequence[object], nulls: Sequence[int]) -> Sequence[object]:
    """Those that are there."""
    if not nulls:
        return values
    if isinstance(values, Column):
        return Column(values.array.drop_null())
    return [value for value in values if value is not None]


def _runtime(nulls: Sequence[int], count: int, bodies: list[bytes]) -> list[bytes]:
    """So many bodies: empty ones where there is no value."""
    if not nulls:
        return bodies
    there = iter(bodies)
    missing = set(nulls)
    return [b"" if index in missing else next(there) for index in range(count)]


def properties_by_topic(
    target: "Target", batch: SourceBatch, failures: Mapping[int, Failure]
) -> Sequence[Mapping[str, str]] | None:
    """The properties that the converter of values gives each message; None: it gives none."""
    converter = target.value
    if not converter.has_properties:
        return None
    told: list[Mapping[str, str]] = [{}] * len(batch)
    for topic, indexes in by_topic(batch.topics, len(batch), failures, target.topic):
        converter.for_topic(topic)
        for index in range(len(batch)) if indexes is None else indexes:
            if (value := batch.values[index]) is not None:
                told[index] = converter.properties_of(value, batch.schema)
    return told


def by_topic(
    topics: Sequence[str] | None, count: int, failures: Mapping[int, Failure], default: str
) -> list[tuple[str, list[int] | None]]:
    """The indexes of the records of each topic; None: all of them."""
    if topics is None or (count and topics.count(topics[0]) == len(topics)):
        topic = default if topics is None else topics[0] or default
        return [(topic, None if not failures else [index for index in range(count) if index not in failures])]
    dealt: dict[str, list[int]] = {}
    for index in range(count):
        if index not in failures:
            dealt.setdefault(topics[index] or default, []).append(index)
    return list(dealt.items())
