"""How values of types that JSON has no word for are written: as Kafka Connect does beside a schema, or plainly, for people."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import msgspec

from rocketconnect_sdk.converters.json import types
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Schema, Type, Unit

_SPECS = {Unit.MILLISECONDS: "milliseconds", Unit.MICROSECONDS: "microseconds"}
_DAY = 86_400 * 10**9


class Decimals(Enum):
    """How decimals are written: base64 of their unscaled value, a number, or a number as text."""

    BASE64 = "BASE64"
    NUMERIC = "NUMERIC"
    TEXT = "TEXT"


@dataclass(frozen=True, slots=True)
class Form:
    """How values are written.

    Attributes:
        decimals: How decimals are.
        is_plain: Dates, times and timestamps are texts as ISO 8601 has them, and JSON stands as it is; else they are what Kafka
            Connect has.
    """

    decimals: Decimals = Decimals.BASE64
    is_plain: bool = False

    @property
    def kinds(self) -> Mapping[Type, Any]:
        """The Python types of what stands for values of a type, where they are not those of rocketconnect_sdk...json.types."""
        kinds = {
            Type.DECIMAL: {Decimals.BASE64: bytes, Decimals.NUMERIC: Decimal, Decimals.TEXT: str}[self.decimals],
            Type.UINT64: int if self.is_number(Type.UINT64) else bytes,
        }
        return {**kinds, **(dict.fromkeys(_PLAIN, str) | {Type.JSON: Any} if self.is_plain else {})}

    def is_number(self, kind: Type) -> bool:
        """Whether a decimal, or a UINT64, which is one to others, is written as a number."""
        return self.decimals is Decimals.NUMERIC or (self.is_plain and kind is Type.UINT64)

    def differs(self, schema: Schema) -> bool:
        """Whether a value looks different in JSON."""
        return types.differs(schema) or (self.is_plain and schema.type is Type.JSON)

    def is_text(self, schema: Schema) -> bool:
        """Whether a value is text in JSON, so that it can be the key of an object there; maps by other keys are lists of pairs."""
        return types.is_text(schema) or (self.is_plain and schema.type in _PLAIN)

    def written(self, schema: Schema, value: Any) -> Any:
        """What stands for a value in JSON; bytes stand for themselves, as base64.

        Raises:
            RecordError, ValueError, TypeError, ArithmeticError, msgspec.MsgspecError: it has no such form.
        """
        if schema.type is Type.DECIMAL and self.decimals is not Decimals.BASE64:
            number = types.decimal_number(schema, value)
            return number if self.decimals is Decimals.NUMERIC else str(number)
        if schema.type is Type.UINT64 and self.is_number(Type.UINT64):
            return types.checked_uint64(value)
        if self.is_plain and schema.type in _PLAIN:
            return _PLAIN[schema.type](schema, value)
        if self.is_plain and schema.type is Type.JSON:
            return msgspec.Raw(msgspec.json.format(value.encode(), indent=-1))
        return types.written(schema, value)


def time_text(schema: Schema, value: Any) -> Any:
    """A time as ISO 8601, with the digits of its unit where it has a fraction: 23:59:59.123."""
    if isinstance(value, time):
        return value.isoformat(_SPECS.get(schema.unit, "microseconds") if value.microsecond else "seconds")
    seconds, rest = divmod(_nanoseconds(schema, value), schema.unit.in_second)
    if not 0 <= value < _DAY:
        msg = f"{value} {schema.unit.value} are no time of the day"
        raise RecordError(msg)
    return f"{seconds // 3_600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{_fraction(rest)}"


def moment_text(schema: Schema, value: Any) -> Any:
    """A timestamp as ISO 8601, in UTC where it is a point in time: 2024-12-31T23:59:59.123Z."""
    zone = "Z" if schema.zone else ""
    if not isinstance(value, datetime):
        seconds, rest = divmod(_nanoseconds(schema, value), schema.unit.in_second)
        return f"{(datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat()}{_fraction(rest)}{zone}"  # noqa: DTZ001 - see zone
    if value.tzinfo is not None and not schema.zone:
        msg = f"{value} has a time zone, and the schema says that there is none"
        raise RecordError(msg)
    moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
    return moment.isoformat(timespec=_SPECS.get(schema.unit, "microseconds") if moment.microsecond else "seconds") + zone


def _date_text(_: Schema, value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else value


def _uuid_text(_: Schema, value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value


def _nanoseconds(schema: Schema, value: Any) -> int:
    if schema.unit is not Unit.NANOSECONDS or isinstance(value, bool) or not isinstance(value, int):
        msg = f"a {type(value).__name__} is no {schema.type.value}"
        raise RecordError(msg)
    return value


def _fraction(nanoseconds: int) -> str:
    return f".{nanoseconds:09}" if nanoseconds else ""


_PLAIN: Mapping[Type, Callable[[Schema, Any], Any]] = {
    Type.DATE: _date_text,
    Type.TIME: time_text,
    Type.TIMESTAMP: moment_text,
    Type.UUID: _uuid_text,
}
