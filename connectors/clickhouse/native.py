"""Arrow arrays in the format Native, which all versions of the server read: column by column, as they lie in memory. Pure."""

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

_MARKED = 0x80
_MOMENT = re.compile(r"DateTime64\(\d\)|Date32|DateTime|Date")
_WHOLE = {
    **{kind: f"Int{kind.bit_width}" for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{kind: f"UInt{kind.bit_width}" for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    pa.float32(): "Float32",
    pa.float64(): "Float64",
}


def type_of(kind: pa.DataType, *, moments: str = "", optional: bool = True) -> str:
    """The type that arrays of an Arrow type have on their way.

    Args:
        kind: A number, a decimal of 128 bits, the 16 bytes of a UUID, text, bytes, or a list of these.
        moments: What numbers stand for: Date, Date32, DateTime or DateTime64(DIGITS); empty: numbers.
        optional: There may be nulls.
    """
    if pa.types.is_list(kind):
        return f"Array({type_of(kind.value_type, moments=moments, optional=kind.value_field.nullable)})"
    if pa.types.is_decimal(kind):
        made = f"Decimal128({kind.scale})"
    elif pa.types.is_fixed_size_binary(kind):
        made = "UUID"
    elif pa.types.is_integer(kind) and _MOMENT.fullmatch(moments):
        made = moments
    else:
        made = _WHOLE.get(kind, "String")
    return f"Nullable({made})" if optional else made


def block(columns: Sequence[tuple[str, str, pa.Array]]) -> bytes:
    """Rows as a block. Blocks of the same columns, one behind the other, are rows, too.

    Args:
        columns: The name, the type (see type_of) and the values of each; all of one length.
    """
    count = len(columns[0][2])
    parts: list[bytes | memoryview] = [_number(len(columns)), _number(count)]
    for name, kind, values in columns:
        parts += [_text(name), _text(kind), *_data(kind, values)]
    return b"".join(parts)


def _data(kind: str, values: pa.Array) -> list[bytes | memoryview]:
    parts: list[bytes | memoryview] = []
    if kind.startswith("Nullable("):
        parts.append(_fixed(values.is_null().cast(pa.uint8())))
    if pa.types.is_list(values.type):
        inner = kind.removeprefix("Array(").removesuffix(")")
        return [_fixed(pc.cumulative_sum(pc.list_value_length(values).cast(pa.uint64()))), *_data(inner, values.flatten())]
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        return [*parts, _texts(pc.fill_null(values.cast(pa.binary()), b""))]
    return [*parts, _fixed(values)]


def _fixed(values: pa.Array) -> memoryview:
    """Numbers as they lie in memory, whatever stands in the place of a null."""
    width = values.type.bit_width // 8
    begin = values.offset * width
    return memoryview(values.buffers()[1]).cast("B")[begin : begin + len(values) * width]


def _texts(values: pa.BinaryArray) -> bytes | memoryview:
    """Each with its length before it."""
    if not len(values):
        return b""
    lengths = pc.dictionary_encode(pc.binary_length(values))
    marks = pa.array([_number(length) for length in lengths.dictionary.to_pylist()], pa.binary()).take(lengths.indices)
    # In one array they lie one behind the other.
    joined = pc.binary_join_element_wise(marks, values, b"")
    first, last = (int.from_bytes(joined.buffers()[1][4 * at : 4 * at + 4].to_pybytes(), "little") for at in _ends(joined))
    return memoryview(joined.buffers()[2])[first:last]


def _ends(values: pa.BinaryArray) -> tuple[int, int]:
    return values.offset, values.offset + len(values)


def _text(text: str) -> bytes:
    data = text.encode()
    return _number(len(data)) + data


def _number(number: int) -> bytes:
    made = bytearray()
    while number >= _MARKED:
        made.append(number & (_MARKED - 1) | _MARKED)
        number >>= 7
    made.append(number)
    return bytes(made)
