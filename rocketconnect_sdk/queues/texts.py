"""Values that brokers have in headers and bodies, as texts. Pure."""

from collections.abc import Mapping
from datetime import datetime
from math import isfinite

from rocketconnect_sdk.files.lines import to_json


def as_text(value: object) -> str:
    """A value as text: JSON of maps and lists, bytes that are no text as hexadecimal digits.

    Raises:
        ValueError, RecordError: within a map or a list there is a number that JSON does not know.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.hex()
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return to_json(for_json(value)).decode()


def for_json(value: object) -> object:
    """The same value with texts where JSON has no form."""
    if isinstance(value, Mapping):
        return {as_text(name): for_json(each) for name, each in value.items()}
    if isinstance(value, list):
        return [for_json(each) for each in value]
    return as_text(value) if isinstance(value, bytes | datetime) else value
