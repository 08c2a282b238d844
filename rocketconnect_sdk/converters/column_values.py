"""What stands in messages for the values of a column of Arrow, where Arrow itself has another form of it."""

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.arrow_types import to_arrow_type
from rocketconnect_sdk.columns.text_columns import NotPlain, at_their_places, between, dates_of, decimals_of, held, uuids_of
from rocketconnect_sdk.converters.binary_columns import joined
from rocketconnect_sdk.converters.counts import decimal_bytes
from rocketconnect_sdk.schema import DIGITS, Schema, Type

_WIDTH = 8
"""Bytes of the numbers that Arrow computes with."""
_DIGITS = 19
"""As many as they have at most."""
_U8 = pa.array([bytes([number]) for number in range(256)], pa.binary())


def storage_of(column: pa.Array) -> pa.Array:
    """The plain column that a column of UUIDs or JSON is made of."""
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def uuid_texts(column: pa.Array) -> pa.StringArray:
    """The usual text of each UUID, null where it is null."""
    digits = _fixed(storage_of(column)).hex()
    found = (digits[at : at + 32] for at in range(0, len(digits), 32))
    texts = pa.array([f"{each[:8]}-{each[8:12]}-{each[12:16]}-{each[16:20]}-{each[20:]}" for each in found], pa.string())
    return pc.if_else(column.is_valid(), texts, None) if column.null_count else texts


def to_bytes(column: pa.Array, schema: Schema) -> pa.BinaryArray:
    """Texts, bytes, UUIDs as text, decimals and what is one to others: what `of_bytes`, or of text `of_texts`, is given."""
    if schema.type in (Type.DECIMAL, Type.UINT64):
        return unscaled_bytes(column, schema)
    return (uuid_texts(column) if schema.type is Type.UUID else storage_of(column)).cast(pa.binary())


def digits_in(column: pa.Array) -> pa.Array:
    """How many digits each decimal has, with those behind its point, from the first that is no zero on; 1 of a zero."""
    return pc.utf8_length(pc.utf8_ltrim(_whole(column).cast(pa.string()), "-"))


def unscaled_bytes(column: pa.Array, schema: Schema) -> pa.BinaryArray:
    """Decimals without their points, and whole numbers that are decimals to others: big-endian, of as few bytes as can be."""
    try:
        numbers = column if schema.type is Type.UINT64 else _whole(column).cast(pa.int64())
    except pa.ArrowException:
        # Some take more than 64 bits.
        return pa.array(
            [None if number is None else decimal_bytes(int(number)) for number in _whole(column).to_pylist()], pa.binary()
        )
    bits = numbers.view(pa.uint64())
    # What has to stand behind the bit of the sign.
    sizes = pc.if_else(pc.less(numbers, pa.scalar(0, numbers.type)), pc.bit_wise_not(bits), bits)
    largest = pc.max(sizes).as_py() or 0
    parts = []
    for place in reversed(range(_WIDTH + 1)):
        least = 1 << 8 * place - 1 if place else 0
        if least <= largest:
            bytes_there = _U8.take(_byte_at(bits, place))
            parts.append(pc.if_else(pc.greater_equal(sizes, pa.scalar(least, pa.uint64())), bytes_there, None))
    data = joined(parts, len(column))
    return pc.if_else(column.is_valid(), data, None) if column.null_count else data


def _byte_at(bits: pa.UInt64Array, place: int) -> pa.UInt64Array:
    """One of the bytes, the lowest being 0; behind the last there are zeros."""
    if place == _WIDTH:
        return pc.bit_wise_xor(bits, bits)
    return pc.bit_wise_and(pc.shift_right(bits, pa.scalar(8 * place, pa.uint64())), pa.scalar(0xFF, pa.uint64()))


def _whole(column: pa.Array) -> pa.Array:
    """Decimals without their points, as decimals."""
    kind = pa.decimal128(DIGITS, 0) if column.type.bit_width == 128 else pa.decimal256(2 * DIGITS, 0)
    return pa.Array.from_buffers(kind, len(column), column.buffers(), offset=column.offset)


def of_counts(numbers: pa.Array, schema: Schema) -> pa.Array:
    """Whole numbers, and dates and times that are counted. Raises NotPlain, pa.ArrowException: some are none of the type."""
    kind = to_arrow_type(schema)
    match schema.type:
        case Type.DATE:
            return dates_of(numbers)
        case Type.TIME:
            counts = between(numbers, 0, 86_400 * schema.unit.in_second - 1)
            return counts.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
        case Type.TIMESTAMP:
            return held(numbers.cast(pa.int64()).cast(kind), schema.unit)
    return numbers.cast(kind)


def of_texts(texts: pa.StringArray, schema: Schema) -> pa.Array:
    """Texts, UUIDs and JSON. Raises NotPlain: some are no UUIDs."""
    match schema.type:
        case Type.UUID:
            return at_their_places(texts, uuids_of)
        case Type.JSON:
            return pa.ExtensionArray.from_storage(pa.json_(), texts)
    return texts


def of_bytes(data: pa.BinaryArray, schema: Schema) -> pa.Array:
    """Bytes, UUIDs, decimals and what is one to others. Raises NotPlain, pa.ArrowException, OverflowError: some are none."""
    match schema.type:
        case Type.UUID:
            return pa.ExtensionArray.from_storage(pa.uuid(), data.cast(pa.binary(16)))
        case Type.DECIMAL | Type.UINT64:
            return at_their_places(data, lambda there: _of_unscaled(there, schema))
    return data


def _of_unscaled(data: pa.BinaryArray, schema: Schema) -> pa.Array:
    """What `unscaled_bytes` was made of."""
    kind = to_arrow_type(schema)
    if not len(data):
        return pa.array([], kind)
    sizes = pc.binary_length(data)
    limits = pc.min_max(sizes).as_py()
    if limits["min"] == 0:
        raise NotPlain
    if limits["max"] > _WIDTH:
        numbers = [int.from_bytes(number, "big", signed=True) for number in data.to_pylist()]
        return decimals_of(numbers, schema) if schema.type is Type.DECIMAL else pa.array(numbers, pa.uint64())
    numbers = _numbers(data, sizes, limits["max"])
    if schema.type is Type.UINT64:
        return numbers.cast(pa.uint64())
    most = 10 ** min(schema.precision, _DIGITS) - 1
    wide = between(numbers, -most, most).cast((pa.decimal128 if kind.bit_width == 128 else pa.decimal256)(_DIGITS, 0))
    return pa.Array.from_buffers(kind, len(wide), wide.buffers(), offset=wide.offset)


def _numbers(data: pa.BinaryArray, sizes: pa.Int32Array, largest: int) -> pa.Int64Array:
    """The numbers of big-endian bytes, 1 to 8 of each."""
    _, bounds, content = data.buffers()
    ends = pa.Array.from_buffers(pa.int32(), len(data), [None, bounds], offset=data.offset + 1)
    found = pa.Array.from_buffers(pa.uint8(), content.size, [None, content])
    bits = pa.repeat(pa.scalar(0, pa.uint64()), len(data))
    for place in range(largest):
        at = pc.subtract(ends, place + 1)
        byte = found.take(pc.if_else(pc.greater(sizes, place), at, None)).cast(pa.uint64()).fill_null(0)
        bits = pc.bit_wise_or(bits, pc.shift_left(byte, pa.scalar(8 * place, pa.uint64())))
    # To the left and back, so that the bit of the sign is where it is in all of them.
    unused = pc.subtract(8 * _WIDTH, pc.multiply(sizes.cast(pa.int64()), 8))
    return pc.shift_right(pc.shift_left(bits, unused.cast(pa.uint64())).view(pa.int64()), unused)


def _fixed(column: pa.Array) -> memoryview:
    """The bytes of values that have as many each."""
    width = column.type.bit_width // 8
    return memoryview(column.buffers()[1])[column.offset * width : (column.offset + len(column)) * width]
