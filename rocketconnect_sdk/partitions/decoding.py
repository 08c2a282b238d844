"""Records of a log as batches: headers, keys, and values in the form that the configuration names. Pure but for registries."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Protocol

from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.partitions.log import Entries, Headers
from rocketconnect_sdk.partitions.options import HeaderForm, format_settings
from rocketconnect_sdk.record import NO_HEADERS, Rejected, SourceBatch
from rocketconnect_sdk.resume import JSON
from rocketconnect_sdk.schema import Schema

_KEPT_BYTES = 4096
_HEADERS_FIX = "headers=json keeps all of them as they are, headers=none leaves them out"
HEADERS = "headers"
"""The header that has all of them, with headers=json."""


class Batches(Protocol):
    """Makes batches."""

    def batches(self, partition: str, entries: Entries, note: Mapping[str, JSON] | None = None) -> Iterator[SourceBatch]:
        """The records as batches of one schema each; the last one has the end, and what is stored with it."""


class WholeMessages:
    """Makes batches of messages that go on as they are."""

    def batches(self, partition: str, entries: Entries, note: Mapping[str, JSON] | None = None) -> Iterator[SourceBatch]:
        """See Batches."""
        if not entries.values:
            if entries.end:
                yield SourceBatch(partition, [], [], end=entries.end, resume=note)
            return
        yield SourceBatch(
            partition,
            entries.values,
            entries.offsets,
            timestamps_ms=entries.timestamps_ms,
            topics=[entries.topic] * len(entries.values) if entries.topic else None,
            properties=entries.properties,
            size=sum(len(value) for value in entries.values if isinstance(value, bytes)) + entries.size,
            end=entries.end,
            resume=note,
            queue=entries.queue,
        )


class Decoder:
    """Makes batches.

    Args:
        config: The configuration, with references resolved.
    """

    def __init__(self, config: Config) -> None:
        self._value = _converter(config, "value.format", is_key=False)
        self._key = _converter(config, "key.format", is_key=True)
        self._headers = HeaderForm(config["headers"])

    def batches(self, partition: str, entries: Entries, note: Mapping[str, JSON] | None = None) -> Iterator[SourceBatch]:
        """The records as batches of one schema each; the last one has the end, and what is stored with it.

        Raises what the registry does that is away.
        """
        if not entries.values:
            if entries.end:
                yield SourceBatch(partition, [], [], end=entries.end, resume=note)
            return
        values, schemas = _decoded(self._value, entries.values, "value")
        keys, key_schemas = _decoded(self._key, entries.keys, "key")
        headers = self._mappings(entries, values)
        for index, key in enumerate(keys):
            if isinstance(key, Rejected):
                # What is corrected is the value, and of that a person has to see all.
                values[index], keys[index] = _instead(entries.values[index], "BadKey", key.reason), None
        runs = [list(run) for _, run in groupby(range(len(values)), lambda at: (schemas[at], key_schemas[at]))]
        for run in runs:
            begin, stop = run[0], run[-1] + 1
            some_keys = keys[begin:stop]
            yield SourceBatch(
                partition,
                values[begin:stop],
                entries.offsets[begin:stop],
                keys=some_keys if any(key is not None for key in some_keys) else None,
                timestamps_ms=entries.timestamps_ms[begin:stop],
                headers=headers[begin:stop] if any(headers[begin:stop]) else None,
                topics=[entries.topic] * len(run) if entries.topic else None,
                schema=schemas[begin],
                key_schema=key_schemas[begin],
                size=sum(len(value) for value in entries.values[begin:stop] if isinstance(value, bytes))
                + (entries.size if run is runs[-1] else 0),
                end=entries.end if run is runs[-1] else (),
                resume=note if run is runs[-1] else None,
            )

    def value(self, data: bytes) -> object:
        """One value; a Rejected if it can't be read."""
        return _decoded(self._value, [data], "value")[0][0]

    def _mappings(self, entries: Entries, values: list[object]) -> list[Mapping[str, str]]:
        """The headers; a record whose headers can't be told is rejected."""
        made: list[Mapping[str, str]] = []
        for index, headers in enumerate(entries.headers):
            try:
                made.append(_mapping(headers, self._headers))
            except RecordError as error:
                made.append(NO_HEADERS)
                values[index] = _instead(entries.values[index], "BadHeader", f"{error}: {_HEADERS_FIX}")
        return made


def _converter(config: Config, key: str, *, is_key: bool) -> Converter | None:
    name = config[key]
    if name == "bytes":
        return None
    return converter(name, format_settings(config, name), is_key=is_key)


def _mapping(headers: Headers, form: HeaderForm) -> Mapping[str, str]:
    if not headers or form is HeaderForm.NONE:
        return NO_HEADERS
    if form is HeaderForm.JSON:
        pairs = [[name, None if value is None else base64.b64encode(value).decode()] for name, value in headers]
        return {HEADERS: json.dumps(pairs, ensure_ascii=False)}
    texts: dict[str, str] = {}
    for name, value in headers:
        if name in texts:
            msg = f"the header {name!r} stands there twice"
            raise RecordError(msg)
        try:
            texts[name] = (value or b"").decode()
        except UnicodeDecodeError as error:
            msg = f"the header {name!r} is no text in UTF-8 at byte {error.start}"
            raise RecordError(msg) from None
        if value is None:
            msg = f"the header {name!r} has no value"
            raise RecordError(msg)
    return texts


def _decoded(form: Converter | None, data: Sequence[object], what: str) -> tuple[list[object], list[Schema | None]]:
    """What bytes stand for, and of each its schema; what stands for nothing has the schema of the one before it."""
    if form is None:
        return list(data), [None] * len(data)
    values: list[object] = []
    schemas: list[Schema | None] = []
    for each in data:
        value = each
        schema = schemas[-1] if schemas else None
        if isinstance(each, bytes):
            try:
                value, schema = form.decode(each)
            except RecordError as error:
                # Options of the format have no prefix here.
                said = str(error).replace("value.converter.", "").replace("key.converter.", "")
                value = rejected(type(error).__name__, f"the {what} is not what {what}.format={form.name} says: {said}", each)
        values.append(value)
        schemas.append(schema)
    return values, schemas


def rejected(error: str, reason: str, original: bytes | None) -> Rejected:
    """What stands in the place of a value that can't be read."""
    data = original or b""
    return Rejected(error, reason, data[:_KEPT_BYTES], len(data), hashlib.sha256(data).hexdigest())


def _instead(value: object, error: str, reason: str) -> Rejected:
    """In the place of a value whose record is bad."""
    if isinstance(value, Rejected):
        return value
    if value is None or isinstance(value, bytes):
        return rejected(error, reason, value)
    return rejected(error, reason, json.dumps(value, ensure_ascii=False).encode())
