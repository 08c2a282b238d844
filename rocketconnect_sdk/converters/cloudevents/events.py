"""CloudEvents 1.0 as JSON objects, whatever form they came in. Pure.

https://github.com/cloudevents/spec/tree/main/cloudevents; the names of properties in RocketMQ are those of the SDK for Java.
"""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from rocketconnect_sdk.converters.json.reading import NotJson, value_of
from rocketconnect_sdk.errors import RecordError

STRUCTURED, BATCH = "application/cloudevents+json", "application/cloudevents-batch+json"
REQUIRED = ("specversion", "id", "source", "type")
_TEXTS = (*REQUIRED, "subject", "dataschema", "datacontenttype", "time")
_OURS = "application/cloudevents"
_VERSION = "1.0"
_NAME = re.compile(r"[a-z0-9]+")
_PREFIXED = re.compile(r"(ce[-_]|cloudevents[:_])(.+)", re.IGNORECASE)
"""Kafka and RocketMQ: ce_id, CE_id. HTTP: ce-id. AMQP: cloudEvents:id, cloudEvents_id."""
_CONTENT_TYPES = ("content-type", "contenttype", "content_type", "http.content.type")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_NOTHING = (b"", b"\0")
"""The SDK for Java writes one byte where an event has no data, since RocketMQ takes no message without a body."""
Event = dict[str, Any]


def is_batch(data: bytes) -> bool:
    """Whether a message of JSON has several events."""
    return data.lstrip()[:1] == b"["


def events_of(data: bytes, headers: Mapping[str, str]) -> Sequence[Event]:
    """The events of a message: structured, several of them, or one whose attributes are headers.

    Raises:
        RecordError: it has none.
    """
    prefixed = {name.lower(): (match[1].lower(), match[2].lower()) for name in headers if (match := _PREFIXED.fullmatch(name))}
    kind = _content_type(headers, prefixed)
    if kind.lower().startswith(_OURS):
        if kind.partition(";")[0].strip().lower() not in (STRUCTURED, BATCH):
            msg = f"an event in {kind[:100]}, and only JSON ({STRUCTURED}, {BATCH}) is read"
            raise RecordError(msg)
    elif any(name == "specversion" for _, name in prefixed.values()):
        return [_binary(data, headers, kind)]
    try:
        found = value_of(data)
    except NotJson as error:
        msg = f"no event of CloudEvents in JSON, and no headers that say one: {error}"
        raise RecordError(msg) from None
    return [checked(each) for each in found] if isinstance(found, list) else [checked(found)]


def checked(found: object) -> Event:
    """An event, without attributes that are null. Raises RecordError: it is none."""
    if not isinstance(found, Mapping):
        msg = f"no event of CloudEvents, which is a JSON object: it is {type(found).__name__}"
        raise RecordError(msg)
    event = {str(name): each for name, each in found.items() if each is not None or name == "data"}
    for name in _TEXTS:
        if (name in event or name in REQUIRED) and not (isinstance(event.get(name), str) and event[name]):
            msg = f"no event of CloudEvents: its {name} is {event.get(name)!r:.60}, and no text"
            raise RecordError(msg)
    if event["specversion"] != _VERSION:
        msg = f"an event of CloudEvents {event['specversion'][:20]!r}, and only {_VERSION} is read and written"
        raise RecordError(msg)
    if "data_base64" in event:
        _bytes_of(event)
    if "time" in event:
        time_of(event)
    return event


def with_names(event: Event) -> Event:
    """An event whose attributes have names that all forms can have. Raises RecordError: it has others."""
    for name, each in event.items():
        if name in ("data", "data_base64"):
            continue
        if not _NAME.fullmatch(name):
            msg = f"the attribute {name[:60]!r} of an event has a name with more than lower-case letters and digits"
            raise RecordError(msg)
        if not isinstance(each, str | bool | int):
            msg = f"the attribute {name} of an event is no text, no whole number and no boolean"
            raise RecordError(msg)
    return event


def time_of(event: Event) -> int | None:
    """When it happened, in milliseconds since 1970; None: nobody says. Raises RecordError: it is no time."""
    text = event.get("time")
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.upper() if _TIME.fullmatch(text) else "")
        # Without a floating point number between.
        seconds = int(moment.replace(microsecond=0).timestamp())
    except (ValueError, OverflowError):
        msg = f"the time of an event is {text[:60]!r}, and no time as RFC 3339 writes it"
        raise RecordError(msg) from None
    return seconds * 1_000 + moment.microsecond // 1_000


def key_of(event: Event) -> object:
    """What keeps events in order; None: nothing does."""
    return event.get("partitionkey")


def is_json(content_type: str) -> bool:
    """Whether data of this type are JSON."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind.endswith(("/json", "+json"))


def _bytes_of(event: Event) -> bytes:
    if "data" in event:
        msg = "an event has both data and data_base64"
        raise RecordError(msg)
    try:
        return base64.b64decode(event["data_base64"], validate=True)
    except (binascii.Error, ValueError, TypeError):
        msg = "the data_base64 of an event is no base64"
        raise RecordError(msg) from None


def _content_type(headers: Mapping[str, str], prefixed: Mapping[str, tuple[str, str]]) -> str:
    lower = {name.lower(): text for name, text in headers.items()}
    own = next((lower[name] for name, (_, attribute) in prefixed.items() if attribute == "contenttype"), "")
    return own or next((lower[name] for name in _CONTENT_TYPES if name in lower), "")


def _binary(data: bytes, headers: Mapping[str, str], kind: str) -> Event:
    event: Event = {}
    for name, text in headers.items():
        if (match := _PREFIXED.fullmatch(name)) is not None and match[2].lower() != "contenttype":
            # HTTP writes what is no ASCII as it does in URLs.
            event[match[2].lower()] = unquote(text) if match[1].lower() == "ce-" else text
    if kind:
        event.setdefault("datacontenttype", kind)
    if data not in _NOTHING:
        event |= _data(data, event.get("datacontenttype", ""))
    return checked(event)


def _data(data: bytes, kind: str) -> Event:
    if is_json(kind) or not kind:
        try:
            return {"data": value_of(data)}
        except (NotJson, RecordError) as error:
            if kind:
                msg = f"the data of an event are no {kind[:60]}: {error}"
                raise RecordError(msg) from None
    elif kind.lower().startswith("text/") or kind.partition(";")[0].rstrip().lower().endswith(("/xml", "+xml")):
        try:
            return {"data": data.decode()}
        except UnicodeDecodeError:
            pass
    return {"data_base64": base64.b64encode(data).decode()}
