"""Types that a JSON schema has by a name only: how they are called there, and what their values look like in JSON.

The names are those of RocketMQ Connect (io.openmessaging.connector.api.data.logical) or of Kafka Connect
(org.apache.kafka.connect.data), whose forms are the same: whoever writes chooses, and both are read. For types that both lack they
are Debezium's semantic types (io.debezium.time, io.debezium.data). Whole numbers without a sign are written as the next larger ones
with a sign, and a parameter says what they are.
"""

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec

from rocketconnect_sdk.columns.declared import type_name
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import DIGITS, Schema, Type, Unit

_ROCKETMQ = "io.openmessaging.connector.api.data.logical."
_KAFKA = "org.apache.kafka.connect.data."
_TIME = "io.debezium.time."
_DATA = "io.debezium.data."
_PRECISION = "connect.decimal.precision"
_KIND = "rocketconnect.type"
_UNIT = "rocketconnect.unit"

_LONGEST = 4_000
"""Longer decimals are refused: turning them into numbers takes time that grows with the square of their length."""

_MS, _US, _NS = Unit.MILLISECONDS, Unit.MICROSECONDS, Unit.NANOSECONDS
_UNSIGNED = {kind.value: kind for kind in (Type.UINT8, Type.UINT16, Type.UINT32, Type.UINT64)}


@dataclass(frozen=True, slots=True)
class Form:
    """What stands in a JSON schema for a type that it has no word for.

    Attributes:
        type: The word for what its values look like.
        name: The name; empty: none.
        parameters: Say the rest.
    """

    type: str
    name: str
    parameters: Mapping[str, str]


class Names(Enum):
    """Whose names are written for the types that both RocketMQ Connect and Kafka Connect have: each knows only its own."""

    ROCKETMQ = "rocketmq"
    KAFKA = "kafka"


def form_of(schema: Schema, names: Names = Names.ROCKETMQ) -> Form | None:
    """The form of a type; None: JSON schemas have a word for it."""
    if schema.type is Type.DECIMAL:
        form: Form | None = _decimal_form(schema.scale, schema.precision)
    else:
        form = _FORMS.get((schema.type, schema.unit, schema.zone)) or _FORMS.get((schema.type, None, False))
    if form is None or names is Names.ROCKETMQ or not form.name.startswith(_ROCKETMQ):
        return form
    return replace(form, name=_KAFKA + form.name.removeprefix(_ROCKETMQ))


def _decimal_form(scale: int, precision: int) -> Form:
    precisely = {} if precision == DIGITS else {_PRECISION: str(precision)}
    return Form("bytes", f"{_ROCKETMQ}Decimal", {"scale": str(scale), **precisely})


_FORMS: Mapping[tuple[Type, Unit | None, bool], Form] = {
    (Type.UINT8, None, False): Form("int16", "", {_KIND: "uint8"}),
    (Type.UINT16, None, False): Form("int32", "", {_KIND: "uint16"}),
    (Type.UINT32, None, False): Form("int64", "", {_KIND: "uint32"}),
    (Type.UINT64, None, False): Form("bytes", f"{_ROCKETMQ}Decimal", {"scale": "0", _PRECISION: "20", _KIND: "uint64"}),
    (Type.DATE, None, False): Form("int32", f"{_ROCKETMQ}Date", {}),
    (Type.TIME, _MS, False): Form("int32", f"{_ROCKETMQ}Time", {}),
    (Type.TIME, _US, False): Form("int64", f"{_TIME}MicroTime", {}),
    (Type.TIME, _NS, False): Form("int64", f"{_TIME}NanoTime", {}),
    (Type.TIMESTAMP, _MS, False): Form("int64", f"{_TIME}Timestamp", {}),
    (Type.TIMESTAMP, _US, False): Form("int64", f"{_TIME}MicroTimestamp", {}),
    (Type.TIMESTAMP, _NS, False): Form("int64", f"{_TIME}NanoTimestamp", {}),
    (Type.TIMESTAMP, _MS, True): Form("int64", f"{_ROCKETMQ}Timestamp", {}),
    (Type.TIMESTAMP, _US, True): Form("string", f"{_TIME}ZonedTimestamp", {}),
    (Type.TIMESTAMP, _NS, True): Form("string", f"{_TIME}ZonedTimestamp", {_UNIT: "ns"}),
    (Type.UUID, None, False): Form("string", f"{_DATA}Uuid", {}),
    (Type.JSON, None, False): Form("string", f"{_DATA}Json", {}),
}
"""By type, unit and zone."""
_NAMED: Mapping[tuple[str, str], Schema] = {
    **{("int32", f"{place}Date"): Schema(Type.DATE) for place in (_ROCKETMQ, _KAFKA, _TIME)},
    **{("int32", f"{place}Time"): Schema(Type.TIME, unit=_MS) for place in (_ROCKETMQ, _KAFKA, _TIME)},
    **{("int64", f"{place}Timestamp"): Schema(Type.TIMESTAMP, unit=_MS, zone=True) for place in (_ROCKETMQ, _KAFKA)},
    ("int64", f"{_TIME}MicroTime"): Schema(Type.TIME, unit=_US),
    ("int64", f"{_TIME}NanoTime"): Schema(Type.TIME, unit=_NS),
    ("int64", f"{_TIME}Timestamp"): Schema(Type.TIMESTAMP, unit=_MS),
    ("int64", f"{_TIME}MicroTimestamp"): Schema(Type.TIMESTAMP, unit=_US),
    ("int64", f"{_TIME}NanoTimestamp"): Schema(Type.TIMESTAMP, unit=_NS),
    ("string", f"{_TIME}ZonedTimestamp"): Schema(Type.TIMESTAMP, unit=_US, zone=True),
    ("string", f"{_DATA}Uuid"): Schema(Type.UUID),
    ("string", f"{_DATA}Json"): Schema(Type.JSON),
}
_DECIMALS = (f"{_ROCKETMQ}Decimal", f"{_KAFKA}Decimal")


def schema_of(kind: str, name: str, parameters: Mapping[str, str]) -> tuple[Schema, Mapping[str, str]] | None:
    """The type that a word, a name and parameters stand for, and what is left of the parameters; None: what the word says alone.

    Raises:
        RecordError: the parameters are none that the type has.
    """
    unsigned = _UNSIGNED.get(parameters.get(_KIND, ""))
    if unsigned is not None:
        for form in filter(None, (form_of(Schema(unsigned), names) for names in Names)):
            # A form without a name leaves room for one of the schema's own.
            if (form.type, form.name) in ((kind, ""), (kind, name)) and form.parameters.items() <= parameters.items():
                rest = {key: value for key, value in parameters.items() if key not in form.parameters}
                return Schema(unsigned, name="" if form.name else name), rest
    if kind == "bytes" and name in _DECIMALS:
        rest = {key: value for key, value in parameters.items() if key not in ("scale", _PRECISION)}
        return _decimal_schema(parameters), rest
    found = _NAMED.get((kind, name))
    if found is None:
        return None
    if parameters.get(_UNIT) == "ns" and name == f"{_TIME}ZonedTimestamp":
        found = Schema(Type.TIMESTAMP, unit=_NS, zone=True)
    return found, {key: value for key, value in parameters.items() if key != _UNIT}


def _decimal_schema(parameters: Mapping[str, str]) -> Schema:
    scale, precision = parameters.get("scale", "0"), parameters.get(_PRECISION, str(DIGITS))
    if not re.fullmatch(r"-?[0-9]{1,4}", scale) or abs(int(scale)) > _LONGEST:
        msg = f"a decimal has the scale {scale[:20]!r}, and only numbers from -{_LONGEST} to {_LONGEST} can be read"
        raise RecordError(msg)
    if not re.fullmatch(r"[0-9]{1,4}", precision) or not 0 < int(precision) <= _LONGEST:
        msg = f"a decimal has the precision {precision[:20]!r}, and only numbers from 1 to {_LONGEST} can be read"
        raise RecordError(msg)
    return Schema(Type.DECIMAL, scale=int(scale), precision=int(precision))


def physical(schema: Schema) -> Any:
    """The Python type of what stands in JSON for a value of a type with a form; not of decimals."""
    form = form_of(schema)
    return str if form is not None and form.type == "string" else int


def differs(schema: Schema) -> bool:
    """Whether a value looks different in JSON."""
    return schema.type in _WRITTEN


def is_text(schema: Schema) -> bool:
    """Whether a value is text in JSON, so that it can be the key of an object there; maps by other keys are lists of pairs."""
    form = form_of(schema)
    return schema.type is Type.STRING or (form is not None and form.type == "string")


def written(schema: Schema, value: Any) -> Any:
    """What stands for a value in JSON; bytes stand for themselves, as base64.

    Raises:
        RecordError, ValueError, TypeError, ArithmeticError: it has no such form.
    """
    return _WRITTEN[schema.type][0](schema, value)


def read(schema: Schema, value: Any) -> Any:
    """The value of what stands in JSON for it; of decimals msgspec.Raw.

    Raises:
        RecordError, ValueError, TypeError, ArithmeticError: it stands for none.
    """
    return _WRITTEN[schema.type][1](schema, value)


def _write_decimal(schema: Schema, value: Any) -> bytes:
    unscaled = _unscaled(schema, value)
    length = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return unscaled.to_bytes(length, "big", signed=True)


def decimal_number(schema: Schema, value: Any) -> Decimal:
    """The number to write for a decimal, with as many digits behind its point as the schema says.

    Raises:
        RecordError: it is no decimal, or has more of them.
    """
    return _scaled(_unscaled(schema, value), schema.scale)


def _scaled(unscaled: int, scale: int) -> Decimal:
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def _unscaled(schema: Schema, value: Any) -> int:
    if isinstance(value, int):
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite():
        msg = f"a {type(value).__name__} is no finite decimal"
        raise RecordError(msg)
    sign, digits, exponent = value.as_tuple()
    shift = int(exponent) + schema.scale
    if len(digits) + abs(shift) > _LONGEST:
        msg = f"a decimal of more than {_LONGEST} digits"
        raise RecordError(msg)
    unscaled: int = int("".join(map(str, digits)))
    unscaled, rest = (unscaled * 10**shift, 0) if shift >= 0 else divmod(unscaled, 10**-shift)
    if rest:
        msg = f"{value} has more digits behind its point than the schema's scale of {schema.scale}"
        raise RecordError(msg)
    return -unscaled if sign else unscaled


def _read_decimal(schema: Schema, value: Any) -> Any:
    text = bytes(value)
    if text == b"null":
        if schema.default is None and not schema.optional:
            msg = "a decimal is null that must not be"
            raise RecordError(msg)
        return schema.default
    if len(text) > _LONGEST:
        msg = f"a decimal of {len(text)} characters is too long"
        raise RecordError(msg)
    if not text.startswith(b'"'):
        return msgspec.json.decode(text, type=Decimal)
    try:
        unscaled = int.from_bytes(b64decode(msgspec.json.decode(text, type=str), validate=True), "big", signed=True)
    except Base64Error as error:
        msg = f"the bytes of a decimal are not base64: {error}"
        raise RecordError(msg) from None
    return _scaled(unscaled, schema.scale)


def checked_uint64(value: Any) -> int:
    """The value, if it is one of a UINT64.

    Raises:
        RecordError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 64:
        msg = f"{str(value)[:40]} is no whole number from 0 to {(1 << 64) - 1}"
        raise RecordError(msg)
    return value


def _write_uint64(schema: Schema, value: Any) -> bytes:
    return _write_decimal(schema, checked_uint64(value))


def _read_uint64(schema: Schema, value: Any) -> int | None:
    number = _read_decimal(schema, value)
    if number is not None and (number != int(number) or not 0 <= number < 1 << 64):
        msg = f"{str(number)[:40]} is no whole number from 0 to {(1 << 64) - 1}"
        raise RecordError(msg)
    return None if number is None else int(number)


def _write_date(_: Schema, value: Any) -> Any:
    return (value - date(1970, 1, 1)).days if isinstance(value, date) and not isinstance(value, datetime) else value


def _read_date(_: Schema, value: Any) -> Any:
    return date(1970, 1, 1) + timedelta(days=value)


def _write_time(schema: Schema, value: Any) -> Any:
    if not isinstance(value, time):
        return _nanoseconds(schema, value)
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return _count(seconds, value.microsecond, schema.unit)


def _read_time(schema: Schema, value: Any) -> Any:
    in_second = schema.unit.in_second
    if not 0 <= value < 86_400 * in_second:
        msg = f"{value} {schema.unit.value} are no time of the day"
        raise RecordError(msg)
    if schema.unit is _NS:
        return value
    seconds, parts = divmod(value, in_second)
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, parts * (1_000_000 // in_second))


def _write_timestamp(schema: Schema, value: Any) -> Any:
    if isinstance(value, datetime):
        if value.tzinfo is not None and not schema.zone:
            msg = f"{value} has a time zone, and the schema says that there is none"
            raise RecordError(msg)
        since = (value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)) - datetime(1970, 1, 1)  # noqa: DTZ001
        value = _count(since.days * 86_400 + since.seconds, since.microseconds, schema.unit)
    else:
        value = _nanoseconds(schema, value)
    if not _is_text(schema):
        return value
    seconds, parts = divmod(value, schema.unit.in_second)
    digits = len(str(schema.unit.in_second)) - 1
    return f"{(datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat()}.{parts:0{digits}}Z"  # noqa: DTZ001


def _read_timestamp(schema: Schema, value: Any) -> Any:
    if _is_text(schema):
        value = _read_instant(value, schema.unit)
    if schema.unit is _NS:
        return value
    return datetime(1970, 1, 1, tzinfo=UTC if schema.zone else None) + timedelta(
        microseconds=value * (1_000_000 // schema.unit.in_second)
    )


def _is_text(schema: Schema) -> bool:
    return schema.zone and schema.unit is not _MS


_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


def _read_instant(text: str, unit: Unit) -> int:
    """A point in time as ISO 8601 has it, counted since 1970."""
    found = _INSTANT.fullmatch(text)
    if found is None:
        msg = f"{text[:60]!r} is no time such as 2024-02-29T12:00:00.123456Z"
        raise RecordError(msg)
    clock, fraction, zone = found.groups()
    since = datetime.fromisoformat(clock + zone) - datetime(1970, 1, 1, tzinfo=UTC)
    nanoseconds = int((fraction or "0").ljust(9, "0"))
    parts, rest = divmod(nanoseconds, 1_000_000_000 // unit.in_second)
    if rest:
        msg = f"{text} has more digits behind the second than the schema, whose unit is {unit.value}"
        raise RecordError(msg)
    return (since.days * 86_400 + since.seconds) * unit.in_second + parts


def _count(seconds: int, microseconds: int, unit: Unit) -> int:
    if unit is _NS:
        return seconds * unit.in_second + microseconds * 1_000
    parts, rest = divmod(microseconds, 1_000_000 // unit.in_second)
    if rest:
        msg = f"{microseconds} microseconds cannot be written as whole milliseconds, which is all that the schema holds"
        raise RecordError(msg)
    return seconds * unit.in_second + parts


def _nanoseconds(schema: Schema, value: Any) -> int:
    """A number of nanoseconds, which is what Python has for times of these."""
    if schema.unit is not _NS or isinstance(value, bool) or not isinstance(value, int):
        msg = f"a {type(value).__name__} is no {type_name(schema)}"
        raise RecordError(msg)
    return value


def _write_uuid(_: Schema, value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value


def _read_uuid(_: Schema, value: Any) -> Any:
    return UUID(value)


_WRITTEN: Mapping[Type, tuple[Callable[[Schema, Any], Any], Callable[[Schema, Any], Any]]] = {
    Type.DECIMAL: (_write_decimal, _read_decimal),
    Type.UINT64: (_write_uint64, _read_uint64),
    Type.DATE: (_write_date, _read_date),
    Type.TIME: (_write_time, _read_time),
    Type.TIMESTAMP: (_write_timestamp, _read_timestamp),
    Type.UUID: (_write_uuid, _read_uuid),
}
