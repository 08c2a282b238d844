"""JSON by its meaning, not its text: databases write the same value in different ways. Pure."""

from decimal import Decimal

import msgspec
import pyarrow as pa

from rocketconnect_sdk.converters.json.names import check_names
from rocketconnect_sdk.errors import RecordError

_LONGEST = 40
"""Digits of a whole number that is written with an exponent and is still compared as one."""


def by_meaning(texts: pa.Array) -> pa.Array:
    """Texts that are equal where they mean the same: without white space, names in order, numbers by value.

    What is no JSON, or has a name twice, stays as it is.
    """
    return pa.array([None if text is None else _one(text) for text in texts.to_pylist()], pa.string())


def _one(text: str) -> str:
    try:
        value = _decoder.decode(text)
        check_names(text.encode(), value)
        return _encoder.encode(value).decode()
    except (msgspec.MsgspecError, RecordError, RecursionError):
        return text


def _number(text: str) -> Decimal | int:
    number = Decimal(text)
    if number.is_finite() and number.adjusted() < _LONGEST and number == number.to_integral_value():
        return int(number)
    return number.normalize()


_decoder = msgspec.json.Decoder(float_hook=_number)
_encoder = msgspec.json.Encoder(order="sorted", decimal_format="number")
