"""OTLP in JSON: that of Protobuf, but ids are hexadecimal digits."""

import base64
import binascii
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError

from connectors.http.bodies import json_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.listeners.http import NotTaken, Response

_IDS = frozenset({"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"})


def from_json(body: bytes, message: Any) -> Any:
    """Fills a message. Fields that are not known are left out, as OTLP wants it. Raises NotTaken: the body is none."""
    try:
        if not isinstance(found := json_of(body), dict):
            msg = "it is no JSON object"
            raise TypeError(msg)  # noqa: TRY301 - told as all that is wrong
        return ParseDict(_with_bytes(found), message, ignore_unknown_fields=True)
    except (ParseError, ValueError, TypeError, RecordError, RecursionError) as error:
        raise NotTaken(Response(400, f"the body is no {message.DESCRIPTOR.full_name}: {error}")) from None


def _with_bytes(value: Any) -> Any:
    """The same, with ids as Protobuf's own JSON has bytes. Names of attributes are values, so none of them is taken for an id."""
    if isinstance(value, dict):
        return {name: _id(name, each) if name in _IDS else _with_bytes(each) for name, each in value.items()}
    return [_with_bytes(each) for each in value] if isinstance(value, list) else value


def _id(name: str, value: object) -> str | None:
    try:
        return None if value is None else base64.b64encode(binascii.unhexlify(str(value))).decode()
    except (binascii.Error, ValueError):
        msg = f"{name} is {str(value)[:40]!r}, and no even number of hexadecimal digits"
        raise ValueError(msg) from None
