"""Values of one type as values of another. Nothing is rounded, cut off or wrapped around: what does not fit is a ValueError."""

import base64
import math
import re
from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any
from uuid import UUID

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.converters.json.reading import NotJson, check_text
from rocketconnect_sdk.schema import WHOLE, Schema, Type
from rocketconnect_sdk.transforms.moments import MOMENTS, from_iso, in_unit, moment, nanoseconds
from rocketconnect_sdk.transforms.texts import json_text, text_of, to_float32

_WHOLE_TEXT = re.compile(r"[+-]?\d{1,100}", re.ASCII)
_NUMBER_TEXT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,6})?", re.ASCII)
_NO_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_EXACT = Context(prec=100, traps=[Inexact, InvalidOperation])


def cast(value: object, source: Schema | None, target: Schema) -> Any:
    """A value, which is not None, as one of another type; `source` is the schema it has, where it has one.

    Raises:
        ValueError: it does not fit; says why.
    """
    change = _CASTS.get(target.type)
    if change is None:
        msg = f"can't become {type_name(target)}"
        raise ValueError(msg)
    return change(value, source, target)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    msg = f"is no text, but {type(value).__name__}"
    raise ValueError(msg)


def _boolean(value: object, source: Schema | None, target: Schema) -> bool:
    del source, target
    if isinstance(value, bool | int | float | Decimal):
        return value != 0
    text = _text(value).lower()
    if text not in ("true", "false"):
        msg = "is neither true nor false"
        raise ValueError(msg)
    return text == "true"


def _number(value: object) -> int | float | Decimal:
    if isinstance(value, int | float | Decimal):
        return int(value) if isinstance(value, bool) else value
    text = _text(value)
    if text in _NO_NUMBERS:
        return _NO_NUMBERS[text]
    if not _NUMBER_TEXT.fullmatch(text):
        msg = "is no number"
        raise ValueError(msg)
    return Decimal(text)


def _whole(value: object, source: Schema | None, target: Schema) -> int:
    if (source is not None and source.type in MOMENTS) or isinstance(value, date | time):
        number = in_unit(nanoseconds(value, source), source)
    elif isinstance(value, str):
        if not _WHOLE_TEXT.fullmatch(value):
            msg = "is no whole number"
            raise ValueError(msg)
        number = int(value)
    else:
        given = _number(value)
        if not isinstance(given, int) and not (math.isfinite(given) and given == math.floor(given)):
            msg = "is no whole number"
            raise ValueError(msg)
        number = int(given)
    least, most = WHOLE[target.type]
    if not least <= number <= most:
        msg = f"is not between {least} and {most}"
        raise ValueError(msg)
    return number


def _float(value: object, source: Schema | None, target: Schema) -> float:
    del source
    number = _number(value)
    try:
        found = float(number)
    except OverflowError:
        found = math.inf
    if math.isinf(found) and (isinstance(number, int) or math.isfinite(number)):
        msg = f"is too large for {type_name(target)}"
        raise ValueError(msg)
    return to_float32(found) if target.type is Type.FLOAT32 else found


def _decimal(value: object, source: Schema | None, target: Schema) -> Decimal:
    number = _number(value)
    exact = Decimal(text_of(number, source) if isinstance(number, float) else number)
    if not exact.is_finite():
        msg = "is no number that a decimal can hold"
        raise ValueError(msg)
    room = target.precision - target.scale
    if exact and exact.adjusted() >= room:
        msg = f"has more than {room} digits before its point"
        raise ValueError(msg)
    try:
        return exact.quantize(Decimal((0, (1,), -target.scale)), context=_EXACT)
    except (Inexact, InvalidOperation):
        msg = f"has more than {target.scale} digits behind its point"
        raise ValueError(msg) from None


def _moment(value: object, source: Schema | None, target: Schema) -> object:
    if isinstance(value, str):
        return moment(from_iso(value, target), target)
    if (source is not None and source.type in MOMENTS) or isinstance(value, date | time):
        from_time = source.type is Type.TIME if source is not None else isinstance(value, time)
        if from_time is not (target.type is Type.TIME):
            msg = "is a time of a day and no point in time" if from_time else "is no time of a day alone"
            raise ValueError(msg)
        zones = {each.zone for each in (source, target) if each is not None and each.type is Type.TIMESTAMP}
        if len(zones) > 1:
            msg = "can't get or lose a zone, which nobody knows"
            raise ValueError(msg)
        return moment(nanoseconds(value, source), target)
    if isinstance(value, int) and not isinstance(value, bool):
        step = 86_400 * 10**9 if target.type is Type.DATE else 10**9 // target.unit.in_second
        return moment(value * step, target)
    msg = f"can't become a {type_name(target)}"
    raise ValueError(msg)


def _bytes(value: object, source: Schema | None, target: Schema) -> bytes:
    del source, target
    if isinstance(value, bytes):
        return value
    try:
        return base64.b64decode(_text(value), validate=True)
    except ValueError:
        msg = "is no text in base64"
        raise ValueError(msg) from None


def _json(value: object, source: Schema | None, target: Schema) -> str:
    del target
    if source is not None and source.type is Type.JSON:
        return _text(value)
    if not isinstance(value, str):
        return json_text(value)
    try:
        check_text(value)
    except NotJson as error:
        msg = f"is no JSON: {error}"
        raise ValueError(msg) from None
    return value


def _uuid(value: object, source: Schema | None, target: Schema) -> UUID:
    del source, target
    return value if isinstance(value, UUID) else UUID(_text(value))


_CASTS: Mapping[Type, Callable[[Any, Schema | None, Schema], Any]] = {
    **dict.fromkeys(WHOLE, _whole),
    Type.BOOLEAN: _boolean,
    Type.FLOAT32: _float,
    Type.FLOAT64: _float,
    Type.DECIMAL: _decimal,
    Type.STRING: lambda value, source, _: text_of(value, source),
    Type.BYTES: _bytes,
    Type.DATE: _moment,
    Type.TIME: _moment,
    Type.TIMESTAMP: _moment,
    Type.UUID: _uuid,
    Type.JSON: _json,
}
