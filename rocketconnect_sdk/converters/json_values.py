"""Values as JSON under a schema: checked and written, read and checked, by types that msgspec compiles."""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Annotated, Any, TypedDict

import msgspec

from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Type

_DIGITS = 4_000
"""Longer decimals are refused: turning them into numbers takes time that grows with the square of their length."""

_PLAIN: Mapping[Type, Any] = {
    Type.BOOLEAN: bool,
    Type.INT8: Annotated[int, msgspec.Meta(ge=-(1 << 7), lt=1 << 7)],
    Type.INT16: Annotated[int, msgspec.Meta(ge=-(1 << 15), lt=1 << 15)],
    Type.INT32: Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)],
    Type.INT64: Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)],
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.STRING: str,
    Type.BYTES: bytes,
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BAD = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, ArithmeticError, RecursionError)
"""What msgspec and the conversions below raise for values and bytes that do not fit. UnicodeError is a ValueError."""


class Values:
    """Writes and reads the values of one schema.

    Args:
        schema: The schema; None: whatever JSON has, without a check.
        decimal_numbers: Decimals are written as numbers, not as base64.
    """

    def __init__(self, schema: Schema | None, *, decimal_numbers: bool) -> None:
        self._schema = schema
        self._encoder = msgspec.json.Encoder(decimal_format="number")
        self._decimal_numbers = decimal_numbers
        self._walks = schema is not None and _walks(schema)
        self._floats = schema is None or _has_floats(schema)
        # A decimal that is read is text or a number: looked at when it is made a Decimal.
        self._written = Any if schema is None else _Types(Decimal if decimal_numbers else bytes, _exact_struct).of(schema)
        self._many: Any = list.__class_getitem__(self._written)
        read = Any if schema is None else _Types(msgspec.Raw, _typed_dict).of(schema)
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(read)
        self._lenient: msgspec.json.Decoder[Any] | None = None

    def encode(self, value: object) -> bytes:
        """The JSON of a value.

        Raises:
            RecordError: it does not fit the schema, or JSON has no form for it.
        """
        try:
            if self._schema is not None:
                shown = _to_json(self._schema, value, self._decimal_numbers) if self._walks else value
                data = self._encoder.encode(msgspec.convert(shown, self._written))
            else:
                data = self._encoder.encode(value)
        except _BAD as error:
            msg = f"the value cannot be written as JSON: {_shown(error)}"
            raise RecordError(msg) from None
        # msgspec writes NaN as null, which would change the value in silence.
        if self._floats and b"null" in data and _has_no_number(value):
            msg = "JSON has no form for NaN and infinity"
            raise RecordError(msg)
        return data

    def decode(self, data: bytes | msgspec.Raw) -> object:
        """The value of JSON.

        Raises:
            RecordError: it is no JSON, or does not fit the schema.
        """
        try:
            try:
                value = self._decoder.decode(data)
            except msgspec.ValidationError:
                if self._schema is None:
                    raise
                value = self._without_missing(data)
            return value if self._schema is None or not self._walks else _from_json(self._schema, value)
        except _BAD as error:
            msg = f"the JSON cannot be read: {_shown(error)}"
            raise RecordError(msg) from None

    def encode_many(self, values: Sequence[object]) -> list[bytes]:
        """Encode for each of them, at once. Same bytes and errors as encode."""
        if self._walks or self._floats:
            return list(map(self.encode, values))
        try:
            encode = self._encoder.encode
            return [encode(value) for value in msgspec.convert(values, self._many)]
        except _BAD as error:
            msg = f"a value cannot be written as JSON: {_shown(error)}"
            raise RecordError(msg) from None

    def decode_many(self, data: Sequence[bytes], begin: int, end: int | None) -> list[object]:
        """Decode for item[begin:end] of each of them, at once. Same values and errors as decode."""
        if not self._walks:
            try:
                decode = self._decoder.decode
                return [decode(memoryview(item)[begin:end]) for item in data]
            except _BAD:
                # At least one is bad, or leaves out fields: decode knows.
                pass
        return [self.decode(item[begin:end]) for item in data]

    def _without_missing(self, data: bytes | msgspec.Raw) -> object:
        """A field that may be null may also be missing."""
        if self._schema is None:
            return None
        if self._lenient is None:
            self._lenient = msgspec.json.Decoder(_Types(msgspec.Raw, _loose_struct).of(self._schema))
        return _as_dicts(self._schema, self._lenient.decode(data))


def _shown(error: BaseException) -> str:
    return "it is nested too deep" if isinstance(error, RecursionError) else str(error)[:500]


def _may_be_null(schema: Schema) -> bool:
    return schema.optional or schema.default is not None


class _Types:
    """The Python types whose JSON forms the values of schemas have.

    Args:
        decimals: The type of decimals.
        struct: Makes the type of a struct.
    """

    def __init__(self, decimals: Any, struct: Callable[[Schema, "_Types"], Any]) -> None:
        self._decimals = decimals
        self._struct = struct

    def of(self, schema: Schema) -> Any:
        if schema.name == DECIMAL:
            kind = self._decimals
        elif schema.type is Type.STRUCT:
            kind = self._struct(schema, self)
        elif schema.type is Type.ARRAY and schema.items is not None:
            kind = list[self.of(schema.items)]  # type: ignore[misc]  # a type that is made here
        elif schema.type is Type.MAP and schema.items is not None and schema.keys is not None:
            keys, values = self.of(schema.keys), self.of(schema.items)
            kind = dict[str, values] if schema.keys.type is Type.STRING else list[tuple[keys, values]]  # type: ignore[valid-type]
        else:
            kind = _PLAIN[schema.type]
        # Raw JSON may be null anyhow.
        return kind | None if _may_be_null(schema) and kind is not msgspec.Raw else kind


def _typed_dict(schema: Schema, types: _Types) -> Any:
    return TypedDict("Row", {field.name: types.of(field.schema) for field in schema.fields})  # type: ignore[operator]


def _exact_struct(schema: Schema, types: _Types) -> Any:
    return _define(schema, types, forbid_unknown=True)


def _loose_struct(schema: Schema, types: _Types) -> Any:
    return _define(schema, types, forbid_unknown=False)


def _define(schema: Schema, types: _Types, *, forbid_unknown: bool) -> Any:
    fields: list[Any] = [
        (f"f{i}", types.of(field.schema), *((None,) if _may_be_null(field.schema) else ())) for i, field in enumerate(schema.fields)
    ]
    names = {f"f{i}": field.name for i, field in enumerate(schema.fields)}
    return msgspec.defstruct("Row", fields, rename=names, forbid_unknown_fields=forbid_unknown, kw_only=True)


def _walks(schema: Schema) -> bool:
    """Whether values look different in JSON, so that they must be walked through in Python."""
    inner = [field.schema for field in schema.fields] + [part for part in (schema.items, schema.keys) if part]
    return (
        schema.name in (DECIMAL, DATE, TIME, TIMESTAMP)
        or schema.default is not None
        or (schema.keys is not None and schema.keys.type is not Type.STRING)
        or any(map(_walks, inner))
    )


def _has_floats(schema: Schema) -> bool:
    inner = [field.schema for field in schema.fields] + [part for part in (schema.items, schema.keys) if part]
    return schema.type in (Type.FLOAT32, Type.FLOAT64) or any(map(_has_floats, inner))


def _as_dicts(schema: Schema, value: Any) -> Any:
    if value is None:
        return None
    if schema.type is Type.STRUCT:
        return {field.name: _as_dicts(field.schema, getattr(value, f"f{i}")) for i, field in enumerate(schema.fields)}
    if schema.items is not None and isinstance(value, list) and schema.type is Type.ARRAY:
        return [_as_dicts(schema.items, item) for item in value]
    if schema.items is not None and isinstance(value, dict):
        return {key: _as_dicts(schema.items, item) for key, item in value.items()}
    if schema.items is not None and schema.keys is not None and isinstance(value, list):
        return [(_as_dicts(schema.keys, key), _as_dicts(schema.items, item)) for key, item in value]
    return value


def _to_json(schema: Schema, value: Any, numbers: bool) -> Any:
    if value is None:
        value = schema.default
    if value is None:
        return None
    if schema.name in _LOGICAL:
        return value if numbers and schema.name == DECIMAL else _LOGICAL[schema.name][0](schema, value)
    if schema.type is Type.STRUCT and isinstance(value, Mapping):
        known = {field.name: _to_json(field.schema, value.get(field.name), numbers) for field in schema.fields}
        return {**value, **known}
    if schema.type is Type.ARRAY and schema.items is not None and isinstance(value, (list, tuple)):
        return [_to_json(schema.items, item, numbers) for item in value]
    if schema.type is Type.MAP and schema.keys and schema.items and isinstance(value, Mapping):
        pairs = [(_to_json(schema.keys, key, numbers), _to_json(schema.items, item, numbers)) for key, item in value.items()]
        return dict(pairs) if schema.keys.type is Type.STRING else pairs
    return value


def _from_json(schema: Schema, value: Any) -> Any:
    if value is None:
        value = schema.default
    if value is None:
        return None
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name][1](schema, value)
    if schema.type is Type.STRUCT:
        return {field.name: _from_json(field.schema, value[field.name]) for field in schema.fields}
    if schema.type is Type.ARRAY and schema.items is not None:
        return [_from_json(schema.items, item) for item in value]
    if schema.type is Type.MAP and schema.keys and schema.items:
        pairs = value.items() if isinstance(value, dict) else value
        return {_from_json(schema.keys, key): _from_json(schema.items, item) for key, item in pairs}
    return value


def _scale(schema: Schema) -> int:
    scale = int(dict(schema.parameters).get("scale", "0"))
    if abs(scale) > _DIGITS:
        msg = f"a scale of {scale} is too large"
        raise RecordError(msg)
    return scale


def _decimal_to_json(schema: Schema, value: Any) -> bytes:
    if isinstance(value, int):
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite():
        msg = f"a {type(value).__name__} is no finite decimal"
        raise RecordError(msg)
    sign, digits, exponent = value.as_tuple()
    shift = int(exponent) + _scale(schema)
    if len(digits) + abs(shift) > _DIGITS:
        msg = f"a decimal of more than {_DIGITS} digits"
        raise RecordError(msg)
    unscaled: int = int("".join(map(str, digits)))
    unscaled, rest = (unscaled * 10**shift, 0) if shift >= 0 else divmod(unscaled, 10**-shift)
    if rest:
        msg = f"{value} has more digits behind its point than the schema's scale of {_scale(schema)}"
        raise RecordError(msg)
    unscaled = -unscaled if sign else unscaled
    length = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
    return unscaled.to_bytes(length, "big", signed=True)


def _decimal_from_json(schema: Schema, value: Any) -> Decimal | None:
    text = bytes(value)
    if text == b"null":
        if not schema.optional:
            msg = "a decimal is null that must not be"
            raise RecordError(msg)
        return None
    if len(text) > _DIGITS:
        msg = f"a decimal of {len(text)} characters is too long"
        raise RecordError(msg)
    if not text.startswith(b'"'):
        return msgspec.json.decode(text, type=Decimal)
    try:
        unscaled = int.from_bytes(b64decode(msgspec.json.decode(text, type=str), validate=True), "big", signed=True)
    except Base64Error as error:
        msg = f"the bytes of a decimal are not base64: {error}"
        raise RecordError(msg) from None
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -_scale(schema)))


def _date_to_json(_: Schema, value: Any) -> Any:
    return (value - date(1970, 1, 1)).days if isinstance(value, date) and not isinstance(value, datetime) else value


def _date_from_json(_: Schema, value: Any) -> Any:
    return date(1970, 1, 1) + timedelta(days=value)


def _time_to_json(_: Schema, value: Any) -> Any:
    if not isinstance(value, time):
        return value
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + _whole_milliseconds(value.microsecond)


def _time_from_json(_: Schema, value: Any) -> Any:
    if not 0 <= value < 86_400_000:
        msg = f"{value} milliseconds are no time of the day"
        raise RecordError(msg)
    return value


def _timestamp_to_json(_: Schema, value: Any) -> Any:
    if not isinstance(value, datetime):
        return value
    since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1000 + _whole_milliseconds(since.microseconds)


def _timestamp_from_json(_: Schema, value: Any) -> Any:
    return _EPOCH + timedelta(milliseconds=value)


def _whole_milliseconds(microseconds: int) -> int:
    if microseconds % 1000:
        msg = f"{microseconds} microseconds cannot be written as whole milliseconds, which is all that the schema holds"
        raise RecordError(msg)
    return microseconds // 1000


_LOGICAL: Mapping[str, tuple[Callable[[Schema, Any], Any], Callable[[Schema, Any], Any]]] = {
    DECIMAL: (_decimal_to_json, _decimal_from_json),
    DATE: (_date_to_json, _date_from_json),
    TIME: (_time_to_json, _time_from_json),
    TIMESTAMP: (_timestamp_to_json, _timestamp_from_json),
}


def _has_no_number(value: object) -> bool:
    if isinstance(value, float):
        return not isfinite(value)
    if isinstance(value, Mapping):
        return any(map(_has_no_number, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_has_no_number, value))
