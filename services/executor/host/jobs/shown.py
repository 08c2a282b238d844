"""Records as people read them. Pure."""

import base64
import json
from collections.abc import Iterator

from rocketconnect_sdk.converters.json.schema import to_json
from rocketconnect_sdk.converters.text import leaf_text
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import NO_HEADERS, SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.transforms.base import Record
from services.executor.contract import answers
from services.executor.secrets.resolving import hide

LONGEST = 10_000
"""Characters of a value that are shown."""


def of_sink(batch: SinkBatch) -> Iterator[tuple[tuple[int, int], Record]]:
    """Each record with the offset of its message, and its number in it."""
    for index, offset in enumerate(batch.offsets):
        yield (
            (offset, 0 if batch.rows is None else batch.rows[index]),
            Record(
                batch.values[index],
                batch.schema,
                None if batch.keys is None else batch.keys[index],
                None,
                batch.topic,
                None if batch.timestamps_ms is None else batch.timestamps_ms[index],
                NO_HEADERS if batch.headers is None else batch.headers[index],
            ),
        )


def shown(record: Record) -> answers.ShownRecord:
    """A record, without any secret that this process has resolved."""
    return answers.ShownRecord(
        value=None if record.value is None else written(record.value),
        schema=_schema(record.schema),
        key=None if record.key is None else written(record.key),
        topic=record.topic,
        time_ms=record.timestamp_ms,
        headers=dict(record.headers),
    )


def _leaf(value: object) -> str:
    """What people read in the place of a value that JSON has not."""
    try:
        return leaf_text(value)
    except TypeError:
        return str(value)


def _schema(schema: Schema | None) -> str:
    try:
        return "" if schema is None else json.dumps(to_json(schema), ensure_ascii=False)[:LONGEST]
    except (RecordError, TypeError, ValueError):
        return str(schema)[:LONGEST]


def text_of(body: bytes) -> str:
    """Text as it is, other bytes as base64."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return f"base64:{base64.b64encode(body).decode()}"


def written(value: object) -> str:
    """As people read it."""
    if isinstance(value, bytes):
        return text_of(value)[:LONGEST]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_leaf)
    return hide(text[:LONGEST])
