"""The properties of messages that keys, headers, times and tombstones become. Pure."""

import base64
from collections.abc import Mapping, Sequence

import msgspec

from rocketconnect_sdk.columns.compact import Column, Texts
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.wording.counts import counted
from rocketmq_remoting.errors import MessageTooLarge, RocketMQError
from rocketmq_remoting.protocol.properties import KEYS, MAX_PROPERTIES_BYTES, TAGS, encode_properties

EXTENSION = "connect-ext-"
TIMESTAMP = "connect.timestamp"
TOMBSTONE = "connect-tombstone"
KEY_BASE64 = "connect-key-base64"
"""A key that is not plain text; RocketMQ's own KEYS can only hold text."""
EMPTY = "connect-empty"
"""The names of headers without a text, as a JSON array: RocketMQ has no property without one."""

_KEPT = (KEYS, TAGS)
_TOMBSTONE = encode_properties({TOMBSTONE: "1"})


def extras_of(
    batch: SourceBatch, keys: Sequence[bytes | None] | None, own: Sequence[Mapping[str, str]] | None = None
) -> tuple[Sequence[bytes] | None, Mapping[int, RocketMQError]]:
    """The encoded properties of each record besides RCPOS, None when no record has any; and which cannot be encoded, and why.

    Args:
        batch: The records.
        keys: Their keys.
        own: What their converter gives each, which stands in the place of what has the same name; None: nothing.
    """
    bad: dict[int, RocketMQError] = {}
    if batch.properties is not None:
        given = batch.properties if own is None else [{**one, **mine} for one, mine in zip(batch.properties, own, strict=True)]
        return [_encoded(index, properties, bad) for index, properties in enumerate(given)], bad
    parts: list[Sequence[bytes]] = [] if own is None else [[_encoded(index, mine, bad) for index, mine in enumerate(own)]]
    if keys is not None:
        named = batch.headers is not None and any(KEYS in headers for headers in batch.headers)
        parts.append(_key_parts(keys, batch.headers if named else None))
    if batch.headers is not None:
        parts.append(_header_parts(batch.headers, bad))
    if batch.timestamps_ms is not None:
        name = TIMESTAMP.encode()
        parts.append([b"" if time is None else b"%b\x01%d\x02" % (name, time) for time in batch.timestamps_ms])
    nulls = null_places(batch.values)
    if not parts and not nulls:
        return None, bad
    extras = [b"".join(of_one) for of_one in zip(*parts, strict=True)] if parts else [b""] * len(batch)
    for index in nulls:
        extras[index] += _TOMBSTONE
    for index, extra in enumerate(extras):
        if len(extra) > MAX_PROPERTIES_BYTES:
            allowed = f"RocketMQ allows {MAX_PROPERTIES_BYTES}: put large values into the body"
            msg = f"key and headers take {counted(extra, 'byte')} and {allowed}"
            bad[index] = MessageTooLarge(msg)
            extras[index] = b""
    return extras, bad


def null_places(values: Sequence[object]) -> Sequence[int]:
    """Where there is none. Nothing is made of the rows of a Column to find out."""
    if isinstance(values, Texts):
        return ()
    if isinstance(values, Column):
        nulls = values.array.is_null().to_pylist() if values.array.null_count else ()
        return [index for index, is_null in enumerate(nulls) if is_null]
    return [index for index, value in enumerate(values) if value is None]


def _encoded(index: int, properties: Mapping[str, str], bad: dict[int, RocketMQError]) -> bytes:
    try:
        return encode_properties(properties)
    except RocketMQError as error:
        bad.setdefault(index, error)
        return b""


def _key_parts(keys: Sequence[bytes | None], headers: Sequence[Mapping[str, str]] | None) -> Sequence[bytes]:
    if headers is not None:
        # A header of this name stands in the place of the key.
        keys = [None if KEYS in of_one else key for key, of_one in zip(keys, headers, strict=True)]
    there = [key for key in keys if key]
    if len(there) == len(keys):
        joined = b"".join(there)
        if joined.isascii() and joined.decode().isprintable():
            return [b"KEYS\x01%b\x02" % key for key in there]
    return [b"" if key is None else _key_part(key) for key in keys]


def _key_part(key: bytes) -> bytes:
    try:
        text = key.decode()
    except UnicodeDecodeError:
        text = ""
    if text and text.isprintable():
        return b"KEYS\x01%b\x02" % key
    return b"%b\x01%b\x02" % (KEY_BASE64.encode(), base64.b64encode(key) or b"=")


def _header_parts(headers: Sequence[Mapping[str, str]], bad: dict[int, RocketMQError]) -> Sequence[bytes]:
    # Many records often share one mapping.
    known: dict[int, bytes] = {}
    parts = []
    for index, of_one in enumerate(headers):
        part = known.get(id(of_one))
        if part is None:
            properties = {name if name in _KEPT else EXTENSION + name: value for name, value in of_one.items() if value}
            if empty := [name for name, value in of_one.items() if not value and name not in _KEPT]:
                properties[EMPTY] = msgspec.json.encode(empty).decode()
            part = _encoded(index, properties, bad)
            if index not in bad:
                known[id(of_one)] = part
        parts.append(part)
    return parts
