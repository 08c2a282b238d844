"""Values as JSON under a schema: checked and written, read and checked, by types that msgspec compiles."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from struct import Struct
from typing import Annotated, Any, Literal, TypedDict

import msgspec

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.floats import CERTAIN, float_of
from rocketconnect_sdk.converters.json.forms import Form
from rocketconnect_sdk.converters.json.names import check_names, check_twice, has_surplus, many_have_surplus
from rocketconnect_sdk.converters.json.reading import NotJson, value_of, values_of, why
from rocketconnect_sdk.converters.json.types import differs, physical, read
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.schema import Field, Schema, Type

_KAFKA = Form()
_MANY = 16
"""Fewer are decoded one by one: a column costs something by itself."""
_BEYOND = 2.0**128 - 2.0**103
"""The least number that is too large for 32 bits: smaller ones become the largest of these."""
_FLOATS = (Type.FLOAT32, Type.FLOAT64)
_NO_NUMBERS = Literal["NaN", "Infinity", "-Infinity"]
"""What Kafka's JsonConverter writes for numbers that JSON lacks."""
_PLAIN: Mapping[Type, Any] = {
    Type.BOOLEAN: bool,
    Type.INT8: Annotated[int, msgspec.Meta(ge=-(1 << 7), lt=1 << 7)],
    Type.INT16: Annotated[int, msgspec.Meta(ge=-(1 << 15), lt=1 << 15)],
    Type.INT32: Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)],
    Type.INT64: Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)],
    Type.UINT8: Annotated[int, msgspec.Meta(ge=0, lt=1 << 8)],
    Type.UINT16: Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)],
    Type.UINT32: Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)],
    Type.FLOAT32: Annotated[float, msgspec.Meta(gt=-_BEYOND, lt=_BEYOND)],
    Type.FLOAT64: float,
    Type.STRING: str,
    Type.BYTES: bytes,
}
_DECIMALS = (Type.DECIMAL, Type.UINT64)
_ROUNDED = Struct("f")
_RAW = dict.fromkeys(_DECIMALS, msgspec.Raw)
_LENIENT = {**_RAW, **{kind: int | _PLAIN[kind] | _NO_NUMBERS for kind in _FLOATS}}
_CERTAIN = {kind: Annotated[float, msgspec.Meta(gt=-limit, lt=limit)] for kind, limit in CERTAIN.items()}
"""Those that may have been made of a whole number that is another one are not among them."""
_NESTED = (Type.STRUCT, Type.ARRAY, Type.MAP)
_BAD = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, ArithmeticError, RecursionError)
"""What msgspec and the conversions below raise for values and bytes that do not fit. UnicodeError is a ValueError."""


class Values:
    """Writes and reads the values of one schema.

    Args:
        schema: The schema; None: whatever JSON has, without a check.
        form: How types are written that JSON has no word for. What is read is of Kafka Connect's form.

    Attributes:
        form: It.
        walks: Some of what is read stands for something else, so that each value is walked through in Python.
    """

    def __init__(self, schema: Schema | None, form: Form = _KAFKA) -> None:
        self._schema = schema
        self.form = form
        self._encoder = msgspec.json.Encoder(decimal_format="number")
        self._walks = schema is not None and _walks(schema, form)
        self.walks = schema is not None and (self._walks or _has(schema, (Type.FLOAT32,)))
        self._floats = schema is None or _has(schema, _FLOATS)
        kinds = form.kinds
        self._written = Any if schema is None else _Types(kinds, _exact_struct, form).of(schema)
        has_certain = schema is not None and self._floats and not self._walks
        self._certain = _Types({**kinds, **_CERTAIN}, _exact_struct, form).of(schema) if schema and has_certain else self._written
        self._many: Any = list.__class_getitem__(self._written)
        # A decimal that is read is text or a number: looked at when it is made a Decimal.
        read = Any if schema is None else _Types({**_RAW, **_CERTAIN}, _typed_dict).of(schema)
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(read)
        self._names = None if schema is None else _names(schema)
        self._exact: msgspec.json.Decoder[Any] | None = None

    def encode(self, value: object) -> bytes:
        """The JSON of a value.

        Raises:
            RecordError: it does not fit the schema, or JSON has no form for it.
        """
        try:
            data = self._encoder.encode(value if self._schema is None else self._fitting(self._schema, value))
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
            RecordError: it is no JSON, does not fit the schema, or has something that the value would not have.
        """
        text = bytes(data)
        try:
            if self._schema is None:
                return value_of(text)
            try:
                value = self._decoder.decode(text)
            except msgspec.ValidationError:
                value = self._without_missing(text, self._schema)
            else:
                if has_surplus(text, value):
                    self._check_surplus(text, self._schema)
            return _from_json(self._schema, value) if self.walks else value
        except (NotJson, *_BAD) as error:
            msg = f"the JSON cannot be read: {_shown(error, text)}"
            raise RecordError(msg) from None

    def encode_many(self, values: Sequence[object]) -> list[bytes]:
        """Encode for each of them, at once. Same bytes and errors as encode."""
        if self._schema is not None and isinstance(values, Column):
            from rocketconnect_sdk.converters.json.columns import texts_of

            if (texts := texts_of(values.array, self._schema, self.form)) is not None:
                return texts
        if self._walks or self._floats:
            return list(map(self.encode, values))
        try:
            encode = self._encoder.encode
            return [encode(value) for value in msgspec.convert(list(values), self._many)]
        except _BAD as error:
            msg = f"a value cannot be written as JSON: {_shown(error)}"
            raise RecordError(msg) from None

    def decode_many(self, data: Sequence[bytes], begin: int, end: int | None) -> Sequence[object]:
        """Decode for item[begin:end] of each of them, at once. Same values and errors as decode. They may be a Column."""
        if self._schema is not None and self._schema.type is Type.STRUCT and self.walks and len(data) >= _MANY:
            from rocketconnect_sdk.converters.json.rows import rows_of

            if (rows := rows_of([item[begin:end] for item in data], self._schema)) is not None:
                return Column(rows)
        texts = [item[begin:end] for item in data]
        if self._schema is None:
            found = values_of(texts)
            return list(map(self.decode, texts)) if found is None else found
        if not self.walks:
            try:
                values = list(map(self._decoder.decode, texts))
                if not many_have_surplus(texts, values, self._names):
                    return values
            except _BAD:
                # At least one is bad, or leaves out fields: decode knows.
                pass
        return list(map(self.decode, texts))

    def _fitting(self, schema: Schema, value: object) -> object:
        """A value as it is written. Raises what is in _BAD: it does not fit the schema."""
        if not self._walks:
            try:
                return msgspec.convert(value, self._certain)
            except msgspec.ValidationError:
                if not self._floats:
                    raise
        return msgspec.convert(_to_json(schema, value, self.form), self._written)

    def _without_missing(self, text: bytes, schema: Schema) -> object:
        """A field that may be null may also be missing, and a number may be large, or none."""
        value = _as_dicts(schema, self._exactly(schema).decode(text))
        check_names(text, msgspec.json.decode(text))
        return value

    def _check_surplus(self, text: bytes, schema: Schema) -> None:
        check_twice(text)
        self._exactly(schema).decode(text)

    def _exactly(self, schema: Schema) -> "msgspec.json.Decoder[Any]":
        """Reads no object that has a field which the schema has not."""
        if self._exact is None:
            self._exact = msgspec.json.Decoder(_Types(_LENIENT, _exact_struct).of(schema))
        return self._exact


def _shown(error: BaseException, text: bytes = b"") -> str:
    unknown = isinstance(error, msgspec.ValidationError) and str(error).startswith("Object contains unknown field")
    return why(error, text) + (", which its schema has not: put it into the schema, or leave it out" if unknown else "")


def _names(schema: Schema) -> int | None:
    """How many names each value has as JSON; None: not all have the same number."""
    if _may_be_null(schema) or schema.type in (Type.ARRAY, Type.MAP):
        return None
    if schema.type is not Type.STRUCT:
        return 0
    inner = [_names(field.schema) if field.schema.type in _NESTED else 0 for field in schema.fields]
    return None if None in inner else len(inner) + sum(filter(None, inner))


def _may_be_null(schema: Schema) -> bool:
    return schema.optional or schema.default is not None


class _Types:
    """The Python types whose JSON forms the values of schemas have.

    Args:
        others: The types of those that have others here than _PLAIN has.
        struct: Makes the type of a struct.
        form: Says which keys of maps are text.
    """

    def __init__(self, others: Mapping[Type, Any], struct: Callable[[Schema, "_Types"], Any], form: Form = _KAFKA) -> None:
        self._others = others
        self._struct = struct
        self._form = form

    def of(self, schema: Schema) -> Any:
        if schema.type in self._others:
            kind = self._others[schema.type]
        elif schema.type is Type.STRUCT:
            kind = self._struct(schema, self)
        elif schema.type is Type.ARRAY and schema.items is not None:
            kind = list[self.of(schema.items)]  # type: ignore[misc]  # a type that is made here
        elif schema.type is Type.MAP and schema.items is not None and schema.keys is not None:
            keys, values = self.of(schema.keys), self.of(schema.items)
            kind = dict[str, values] if self._form.is_text(schema.keys) else list[tuple[keys, values]]  # type: ignore[valid-type]
        else:
            kind = _PLAIN.get(schema.type) or physical(schema)
        # Raw JSON may be null anyhow.
        return kind | None if _may_be_null(schema) and kind is not msgspec.Raw else kind


def _typed_dict(schema: Schema, types: _Types) -> Any:
    return TypedDict("Row", {field.name: types.of(field.schema) for field in schema.fields})  # type: ignore[operator]


def _exact_struct(schema: Schema, types: _Types) -> Any:
    fields: list[Any] = [
        (f"f{i}", types.of(field.schema), *((None,) if _may_be_null(field.schema) else ())) for i, field in enumerate(schema.fields)
    ]
    names = {f"f{i}": field.name for i, field in enumerate(schema.fields)}
    return msgspec.defstruct("Row", fields, rename=names, forbid_unknown_fields=True, kw_only=True)


def _walks(schema: Schema, form: Form) -> bool:
    """Whether values look different in JSON, so that they must be walked through in Python."""
    inner = [field.schema for field in schema.fields] + [part for part in (schema.items, schema.keys) if part]
    return (
        form.differs(schema)
        or schema.default is not None
        or (schema.keys is not None and not form.is_text(schema.keys))
        or any(_walks(part, form) for part in inner)
    )


def _has(schema: Schema, types: Collection[Type]) -> bool:
    inner = [field.schema for field in schema.fields] + [part for part in (schema.items, schema.keys) if part]
    return schema.type in types or any(_has(part, types) for part in inner)


def _as_dicts(schema: Schema, value: Any) -> Any:
    if value is None:
        return None
    if schema.type is Type.STRUCT:
        return {field.name: _as_field(field, getattr(value, f"f{i}")) for i, field in enumerate(schema.fields)}
    if schema.items is not None and isinstance(value, list) and schema.type is Type.ARRAY:
        return [_as_dicts(schema.items, item) for item in value]
    if schema.items is not None and isinstance(value, dict):
        return {key: _as_dicts(schema.items, item) for key, item in value.items()}
    if schema.items is not None and schema.keys is not None and isinstance(value, list):
        return [(_as_dicts(schema.keys, key), _as_dicts(schema.items, item)) for key, item in value]
    return _as_float(schema.type, value) if schema.type in _FLOATS else value


def _as_float(kind: Type, value: int | float | str) -> float:
    return float_of(value, kind) if isinstance(value, int) else float(value)


def _as_field(field: Field, value: Any) -> Any:
    try:
        return _as_dicts(field.schema, value)
    except (ValueError, OverflowError) as error:
        msg = f"{field.name}: {error}"
        raise ValueError(msg) from None


def _to_json(schema: Schema, value: Any, form: Form) -> Any:
    if value is None:
        value = schema.default
    if value is None:
        return None
    if form.differs(schema):
        return form.written(schema, value)
    if schema.type is Type.STRUCT and isinstance(value, Mapping):
        known = {field.name: _to_json(field.schema, value.get(field.name), form) for field in schema.fields}
        return {**value, **known}
    if schema.type is Type.ARRAY and schema.items is not None and isinstance(value, (list, tuple)):
        return [_to_json(schema.items, item, form) for item in value]
    if schema.type is Type.MAP and schema.keys and schema.items and isinstance(value, Mapping):
        of_keys = replace(schema.keys, type=Type.STRING) if schema.keys.type is Type.JSON else schema.keys
        pairs = [(_to_json(of_keys, key, form), _to_json(schema.items, item, form)) for key, item in value.items()]
        return dict(pairs) if form.is_text(schema.keys) else pairs
    return float_of(value, schema.type) if schema.type in _FLOATS and type(value) is int else value


def _from_json(schema: Schema, value: Any) -> Any:
    if value is None:
        return schema.default
    if differs(schema):
        return read(schema, value)
    if schema.type is Type.STRUCT:
        return {field.name: _from_json(field.schema, value[field.name]) for field in schema.fields}
    if schema.type is Type.ARRAY and schema.items is not None:
        return [_from_json(schema.items, item) for item in value]
    if schema.type is Type.MAP and schema.keys and schema.items:
        pairs = value.items() if isinstance(value, dict) else value
        return {_from_json(schema.keys, key): _from_json(schema.items, item) for key, item in pairs}
    # The number that is meant: the digits of one of 32 bits are another one of 64.
    return _ROUNDED.unpack(_ROUNDED.pack(value))[0] if schema.type is Type.FLOAT32 else value


def _has_no_number(value: object) -> bool:
    if isinstance(value, float):
        return not isfinite(value)
    if isinstance(value, Mapping):
        return any(map(_has_no_number, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_has_no_number, value))
