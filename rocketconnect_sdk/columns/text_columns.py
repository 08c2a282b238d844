"""Columns of text as columns of what it stands for: the same values as rocketconnect_sdk.columns.texts, many at once."""

from binascii import a2b_base64
from collections.abc import Callable, Mapping

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.texts import CLOCK, DATE, OFFSET, UUID_FORM, digits_of
from rocketconnect_sdk.schema import DIGITS, Schema, Type, Unit

_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""The first of the year 1 and the last of the year 9999, which is as far as Python's dates go."""


class NotPlain(Exception):
    """Each value is to be looked at; some may be bad."""


def read_texts(texts: pa.StringArray, schema: Schema) -> pa.Array:
    """What each text stands for, null where it is null.

    Args:
        texts: The texts.
        schema: Of a type in rocketconnect_sdk.columns.texts.TEXTS.

    Raises:
        NotPlain: at least one is to be read by itself.
    """
    try:
        return at_their_places(texts, lambda there: _READ[schema.type](there, schema))
    except (pa.ArrowException, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise NotPlain from error


def at_their_places(column: pa.Array, make: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """What is made of a column, of which `make` sees only what is not null."""
    if not column.null_count:
        return make(column)
    # The number of those that are there before it.
    places = pc.subtract(pc.cumulative_sum(column.is_valid().cast(pa.int64())), 1)
    return make(column.drop_null()).take(pc.if_else(column.is_valid(), places, None))


def dates_of(days: pa.Array) -> pa.Array:
    """Dates of numbers of days, or dates, as far as Python has them. Raises NotPlain."""
    return between(days.cast(pa.int32()), _FIRST_DAY, _LAST_DAY).cast(pa.date32())


def held(moments: pa.TimestampArray, unit: Unit) -> pa.TimestampArray:
    """The same moments, as far as Python has them. Raises NotPlain."""
    if unit is not Unit.NANOSECONDS:
        day = 86_400 * unit.in_second
        between(moments.cast(pa.int64()), _FIRST_DAY * day, (_LAST_DAY + 1) * day - 1)
    return moments


def between(column: pa.Array, least: int, most: int) -> pa.Array:
    """The same numbers. Raises NotPlain: some are smaller or larger."""
    found = pc.min_max(column).as_py()
    if found["min"] is not None and not least <= found["min"] <= found["max"] <= most:
        raise NotPlain
    return column


def matching(column: pa.StringArray, form: str) -> pa.StringArray:
    """The same texts. Raises NotPlain: some are not of this form."""
    if pc.all(pc.match_substring_regex(column, f"^(?:{form})$")).as_py() is False:
        raise NotPlain
    return column


def decimals_of(numbers: list[int], schema: Schema) -> pa.Array:
    """Decimals of their unscaled values. Raises NotPlain: some have too many digits."""
    if numbers and not -(10**schema.precision) < min(numbers) <= max(numbers) < 10**schema.precision:
        raise NotPlain
    width = 16 if schema.precision <= DIGITS else 32
    raw = b"".join([number.to_bytes(width, "little", signed=True) for number in numbers])
    return pa.Array.from_buffers(to_arrow_type(schema), len(numbers), [None, pa.py_buffer(raw)])


def uuids_of(texts: pa.StringArray) -> pa.Array:
    """UUIDs of their usual form. Raises NotPlain: some have another."""
    raw = bytes.fromhex("".join(matching(texts, UUID_FORM).to_pylist()).replace("-", ""))
    storage = pa.Array.from_buffers(pa.binary(16), len(texts), [None, pa.py_buffer(raw)])
    return pa.ExtensionArray.from_storage(pa.uuid(), storage)


def bytes_of(texts: pa.StringArray) -> list[bytes]:
    """The bytes of base64. Raises ValueError: it is none."""
    return [a2b_base64(text, strict_mode=True) for text in texts.cast(pa.binary()).to_pylist()]


def _decimals(texts: pa.StringArray, schema: Schema) -> pa.Array:
    fraction = rf"(\.[0-9]{{1,{schema.scale}}})?" if schema.scale else ""
    # Arrow takes more digits than there is room for, and makes another number of them.
    before = schema.precision - schema.scale
    whole = f"(0|[1-9][0-9]{{0,{before - 1}}})" if before else "0"
    return matching(texts, f"-?{whole}{fraction}").cast(to_arrow_type(schema))


def _dates(texts: pa.StringArray, _: Schema) -> pa.Array:
    return dates_of(matching(texts, DATE).cast(pa.date32()))


def _times(texts: pa.StringArray, schema: Schema) -> pa.Array:
    # Arrow reads times on a day only.
    moments = pc.binary_join_element_wise(pa.scalar("1970-01-01T"), matching(texts, CLOCK + _fraction(schema.unit)), "")
    kind = to_arrow_type(schema)
    return (
        moments.cast(pa.timestamp(schema.unit.value))
        .cast(pa.int64())
        .cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        .cast(kind)
    )


def _timestamps(texts: pa.StringArray, schema: Schema) -> pa.Array:
    offset = f"({OFFSET})" if schema.zone else ""
    found = matching(texts, f"{DATE}[T ]{CLOCK}{_fraction(schema.unit)}{offset}").cast(to_arrow_type(schema))
    return held(found, schema.unit)


def _fraction(unit: Unit) -> str:
    return rf"(\.[0-9]{{1,{digits_of(unit)}}})?"


def _jsons(texts: pa.StringArray, _: Schema) -> pa.Array:
    decode = msgspec.json.Decoder(msgspec.Raw).decode
    for text in texts.to_pylist():
        decode(text)
    return pa.ExtensionArray.from_storage(pa.json_(), texts)


_READ: Mapping[Type, Callable[[pa.StringArray, Schema], pa.Array]] = {
    Type.DECIMAL: _decimals,
    Type.DATE: _dates,
    Type.TIME: _times,
    Type.TIMESTAMP: _timestamps,
    Type.UUID: lambda texts, _: uuids_of(texts),
    Type.JSON: _jsons,
    Type.BYTES: lambda texts, _: pa.array(bytes_of(texts), pa.binary()),
}
