"""What messages are, by their bytes alone. Pure."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from rocketconnect_sdk.columns.rows import is_packed

ENVELOPE_KEYS = frozenset(("schema", "payload"))
"""The fields of an envelope of JSON, all of them."""
CHANGE_KEYS = frozenset(("before", "after", "op"))
"""Fields of a change of a row, which has more."""

_REGISTERED = 5
"""The bytes before a message with the id of its schema: a zero, and the id."""
_NOTHING = object()


class Form(Enum):
    """What a message is, in words."""

    PACKED = "rows that value.converter=arrow packed"
    ENVELOPE = "JSON with its schema in each message"
    UNTYPED = "JSON objects in envelopes whose schema is null"
    REGISTERED = "values with the id of a schema in a registry"
    CHANGE = "changes of tables as JSON without a schema"
    OBJECT = "JSON objects without a schema"
    JSON = "JSON values that are no objects"
    TEXT = "text"
    BYTES = "bytes that are no text"


@dataclass(frozen=True, slots=True)
class Content:
    """What is in a message.

    Attributes:
        form: What it is.
        fields: Of a JSON object without a schema; of an envelope those of its payload. None: it is something else.
    """

    form: Form
    fields: dict[str, Any] | None = None


def content_of(body: bytes) -> Content:
    """What the bytes of a message are; at least one."""
    if body[0] == 0 and len(body) > _REGISTERED:
        return Content(Form.REGISTERED)
    if is_packed(body):
        return Content(Form.PACKED)
    value = _json(body)
    if value is _NOTHING:
        return Content(Form.TEXT if _is_text(body) else Form.BYTES)
    return _of_json(value)


def _of_json(value: Any) -> Content:
    if not isinstance(value, dict):
        return Content(Form.JSON)
    is_envelope = value.keys() == ENVELOPE_KEYS
    if is_envelope and isinstance(value["schema"], dict):
        return Content(Form.ENVELOPE)
    fields, form = value, Form.OBJECT
    if is_envelope and value["schema"] is None:
        if not isinstance(value["payload"], dict):
            return Content(Form.JSON)
        fields, form = value["payload"], Form.UNTYPED
    return Content(Form.CHANGE) if fields.keys() >= CHANGE_KEYS else Content(form, fields)


def _json(body: bytes) -> Any:
    """The JSON that bytes are; _NOTHING: they are none."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _NOTHING


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
