"""Events whose attributes are properties of messages of RocketMQ, under the names of the SDK for Java. Pure."""

import base64
from collections.abc import Mapping
from typing import Any

from rocketconnect_sdk.converters.cloudevents.events import STRUCTURED, Event, is_json
from rocketconnect_sdk.converters.json.reading import value_of
from rocketconnect_sdk.errors import RecordError

_PREFIX, _CONTENT_TYPE = "CE_", "CE_contenttype"
_NOTHING = b"\0"
"""The body of an event without data: RocketMQ takes no message without a body."""
_NOT_THERE = ("datacontenttype", "data_base64")
OF_STRUCTURED: Mapping[str, str] = {_CONTENT_TYPE: STRUCTURED}
"""The properties of a message that is an event in JSON."""


def properties_of(attributes: Event, data: Event) -> Mapping[str, str]:
    """The properties of an event. Raises RecordError: an attribute can't be one."""
    found = {f"{_PREFIX}{name}": _text(name, each) for name, each in attributes.items() if name not in _NOT_THERE}
    if kind := _kind(attributes, data):
        found[_CONTENT_TYPE] = kind
    return found


def data_of(attributes: Event, data: Event) -> bytes:
    """The body of an event."""
    if "data_base64" in attributes:
        return base64.b64decode(attributes["data_base64"])
    if "data" not in data:
        return _NOTHING
    written = bytes(data["data"])
    if is_json(_kind(attributes, data)):
        return written
    # Of another type text is a JSON string in the other form.
    text = value_of(written)
    return text.encode() if isinstance(text, str) else written


def _kind(attributes: Event, data: Event) -> str:
    """The type of data; what JSON means where it says none; empty: there are none."""
    there = "application/octet-stream" if "data_base64" in attributes else "application/json" if "data" in data else ""
    return str(attributes.get("datacontenttype", there))


def _text(name: str, attribute: Any) -> str:
    text = str(attribute).lower() if isinstance(attribute, bool) else str(attribute)
    if not text:
        msg = f"the attribute {name} of an event is empty, and no property of RocketMQ is: set value.converter.mode=structured"
        raise RecordError(msg)
    return text
