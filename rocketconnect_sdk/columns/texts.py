"""What text stands for a value, in files and options: for types whose values are no plain text, number or truth value."""

import re
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any
from uuid import UUID

from rocketconnect_sdk.converters.json.reading import NotJson, check_text
from rocketconnect_sdk.schema import Schema, Type, Unit

DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}"
OFFSET = r"Z|[+-][0-9]{2}:[0-9]{2}"
UUID_FORM = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_LONGEST = 200
"""Longer decimals are refused."""
_SHOWN = 60

Read = Callable[[Schema, str], Any]


def read_text(schema: Schema, text: str) -> Any:
    """The value that text stands for under a schema of a type in TEXTS.

    Raises:
        ValueError: it stands for none; says why.
    """
    try:
        return TEXTS[schema.type](schema, text)
    except (ArithmeticError, NotJson) as error:
        raise ValueError(str(error)) from None


def digits_of(unit: Unit) -> int:
    """How many digits behind the second a unit has."""
    return len(str(unit.in_second)) - 1


def read_decimal(schema: Schema, number: Decimal) -> Decimal:
    """A decimal with the digits of its schema.

    Raises:
        ValueError: it has more.
    """
    context = Context(prec=schema.precision, Emin=-_LONGEST, traps=[Inexact, InvalidOperation])
    try:
        found = number.quantize(Decimal((0, (1,), -schema.scale)), context=context)
    except ArithmeticError:
        msg = f"{str(number)[:_SHOWN]} has more digits than decimal({schema.precision},{schema.scale})"
        raise ValueError(msg) from None
    return found or abs(found)


def _decimal(schema: Schema, text: str) -> Decimal:
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        msg = f"{text[:_SHOWN]!r} is no decimal such as -12.50"
        raise ValueError(msg)
    return read_decimal(schema, Decimal(text))


def _date(_: Schema, text: str) -> date:
    return date.fromisoformat(_match(DATE, text, "2024-02-29").group())


def _time(schema: Schema, text: str) -> time | int:
    found = _match(f"({CLOCK}){_fraction(schema.unit)}", text, f"23:59:59.{'1' * digits_of(schema.unit)}")
    clock = time.fromisoformat(found[1])
    parts = _parts(found[2], schema.unit)
    if schema.unit is Unit.NANOSECONDS:
        return ((clock.hour * 60 + clock.minute) * 60 + clock.second) * schema.unit.in_second + parts
    return clock.replace(microsecond=parts * 1_000_000 // schema.unit.in_second)


def _timestamp(schema: Schema, text: str) -> datetime | int:
    example = f"2024-02-29T23:59:59.{'1' * digits_of(schema.unit)}{'Z' if schema.zone else ''}"
    offset = f"({OFFSET})" if schema.zone else "()"
    day, clock, fraction, zone = _match(f"({DATE})[T ]({CLOCK}){_fraction(schema.unit)}{offset}", text, example).groups()
    moment = datetime.fromisoformat(f"{day}T{clock}{zone}")
    moment = moment.astimezone(UTC) if schema.zone else moment
    parts = _parts(fraction, schema.unit)
    if schema.unit is not Unit.NANOSECONDS:
        return moment.replace(microsecond=parts * 1_000_000 // schema.unit.in_second)
    since = moment - datetime(1970, 1, 1, tzinfo=moment.tzinfo)
    count = (since.days * 86_400 + since.seconds) * schema.unit.in_second + parts
    if not -(1 << 63) <= count < 1 << 63:
        msg = f"{text} is too far from 1970 for nanoseconds, which end in the years 1677 and 2262"
        raise ValueError(msg)
    return count


def _fraction(unit: Unit) -> str:
    return rf"(?:\.([0-9]{{1,{digits_of(unit)}}}))?"


def _parts(fraction: str | None, unit: Unit) -> int:
    return int((fraction or "").ljust(digits_of(unit), "0"))


def _uuid(_: Schema, text: str) -> UUID:
    return UUID(_match(UUID_FORM, text, "12345678-1234-5678-1234-567812345678").group())


def _json(_: Schema, text: str) -> str:
    check_text(text)
    return text


def _bytes(_: Schema, text: str) -> bytes:
    return a2b_base64(text, strict_mode=True)


def _match(form: str, text: str, example: str) -> re.Match[str]:
    found = re.fullmatch(form, text)
    if found is None:
        msg = f"{text[:_SHOWN]!r} is not of the form {example}"
        raise ValueError(msg)
    return found


TEXTS: Mapping[Type, Read] = {
    Type.DECIMAL: _decimal,
    Type.DATE: _date,
    Type.TIME: _time,
    Type.TIMESTAMP: _timestamp,
    Type.UUID: _uuid,
    Type.JSON: _json,
    Type.BYTES: _bytes,
}
"""How text is read, by type."""
