"""Attributes of OTLP as JSON. Pure."""

import base64
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

import msgspec

from connectors.telemetry.numbers import Unfit, written

_ALIKE = ("string_value", "bool_value", "int_value")


def json_of(attributes: Sequence[Any]) -> str | None:
    """The text of a JSON object; None: there are none. Raises Unfit: one is there twice, or of no kind that is known."""
    return msgspec.json.encode(_object(attributes)).decode() if attributes else None


def json_of_value(value: Any) -> str:
    """A value as JSON. Raises Unfit."""
    return msgspec.json.encode(_plain(value)).decode()


def text_in(attributes: Sequence[Any], key: str) -> str | None:
    """The text of an attribute; None: there is none."""
    return next((each.value.string_value for each in attributes if each.key == key and each.value.HasField("string_value")), None)


def _object(attributes: Iterable[Any]) -> dict[str, object]:
    found: dict[str, object] = {}
    for each in attributes:
        if each.key in found:
            msg = f"the attribute {each.key[:100]!r} is there twice"
            raise Unfit(msg)
        found[each.key] = _plain(each.value)
    return found


def _plain(value: Any) -> object:
    kind = value.WhichOneof("value")
    if kind in _ALIKE:
        return getattr(value, kind)
    match kind:
        case None:
            return None
        case "double_value":
            return value.double_value if isfinite(value.double_value) else written(value.double_value)
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case "array_value":
            return [_plain(each) for each in value.array_value.values]
        case "kvlist_value":
            return _object(value.kvlist_value.values)
    msg = f"an attribute is a {kind}, which only profiles have"
    raise Unfit(msg)
