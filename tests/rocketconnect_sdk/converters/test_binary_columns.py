"""What binary forms are made of, in columns: the same as of one value."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.columns.text_columns import NotPlain
from rocketconnect_sdk.converters.avro.codec import put_long
from rocketconnect_sdk.converters.binary_columns import Messages, joined, sized, unzigzag, varints, zigzag
from rocketconnect_sdk.converters.column_values import of_bytes, unscaled_bytes
from rocketconnect_sdk.converters.counts import decimal_bytes, unscaled
from rocketconnect_sdk.schema import Schema, Type, decimal
from tests.rocketconnect_sdk.typed_values import decimals

BITS = st.integers(0, 64).flatmap(lambda bits: st.integers(0, (1 << bits) - 1))
"""Of every length, and not only of the longest."""
EDGES = [edge for bits in range(0, 65, 7) for edge in ((1 << bits) - 1, 1 << bits) if edge < 1 << 64]


def of_avro(number: int) -> bytes:
    out = bytearray()
    put_long(out, number)
    return bytes(out)


@given(st.lists(st.none() | BITS, min_size=1, max_size=8))
@example([*EDGES])
def test_numbers_are_written_and_read_as_one_by_one(numbers: list[int | None]) -> None:
    data = joined(varints(pa.array(numbers, pa.uint64())), len(numbers)).to_pylist()
    there = pa.array([number is not None for number in numbers])
    messages = Messages([b"head" + each for each in data], 4)
    assert messages.varint(there).to_pylist() == numbers
    messages.end()
    signed = [None if number is None else (number >> 1) ^ -(number & 1) for number in numbers]
    assert data == [b"" if number is None else of_avro(number) for number in signed]
    column = pa.array(signed, pa.int64())
    assert zigzag(column).to_pylist() == numbers
    assert unzigzag(zigzag(column)).equals(column)


@given(st.lists(st.none() | st.binary(max_size=20), min_size=1, max_size=8))
def test_bytes_behind_their_number_are_cut_out_again(pieces: list[bytes | None]) -> None:
    data = joined([*sized(pa.array(pieces, pa.binary())), pa.scalar(b"\x07", pa.binary())], len(pieces)).to_pylist()
    messages = Messages(data, 0)
    sizes = messages.varint(pa.array([piece is not None for piece in pieces])).cast(pa.int64())
    assert messages.cut(sizes).to_pylist() == pieces
    assert messages.byte().to_pylist() == [7] * len(pieces)
    messages.end()


@pytest.mark.parametrize("bad", [b"\x80", b"\xff" * 9 + b"\x02", b"\xff" * 10 + b"\x01", b""])
def test_a_number_that_does_not_end_or_is_too_long_is_not_plain(bad: bytes) -> None:
    with pytest.raises((NotPlain, pa.ArrowException)):
        Messages([b"\x01", bad], 0).varint()


@pytest.mark.parametrize("size", [-1, 3, 1 << 62, (1 << 63) - 1])
def test_no_more_is_cut_out_of_a_message_than_it_has(size: int) -> None:
    for look in (Messages.cut, Messages.enter):
        messages = Messages([b"ab", b"the next"], 0)
        messages.byte()
        with pytest.raises(NotPlain):
            look(messages, pa.array([size, 0], pa.int64()))


def test_what_is_entered_ends_where_it_says() -> None:
    messages = Messages([b"\x01\x02\x01", b"\x01\x01"], 0)
    ends = messages.enter(pa.array([2, None], pa.int64()))
    assert messages.next_is(b"\x01").to_pylist() == [True, False]
    assert messages.next_is(b"\x02\x01").to_pylist() == [False, False]
    with pytest.raises(NotPlain):
        messages.leave(ends)
    assert messages.next_is(b"\x02").to_pylist() == [True, False]
    messages.leave(ends)
    assert messages.next_is(b"\x01").to_pylist() == [True, True]


def test_a_message_that_is_not_read_to_its_end_is_not_plain() -> None:
    messages = Messages([b"a", b"bc"], 0)
    messages.byte()
    with pytest.raises(NotPlain):
        messages.end()


@pytest.mark.parametrize(
    "schema", [decimal(2, precision=9), decimal(0, precision=19), decimal(4, precision=38), decimal(1, precision=76)]
)
@given(data=st.data(), begin=st.integers(0, 2))
def test_decimals_are_the_bytes_that_each_is(schema: Schema, data: st.DataObject, begin: int) -> None:
    precision = data.draw(st.integers(1, schema.precision))
    values: list[Any] = data.draw(st.lists(st.none() | decimals(precision, schema.scale), min_size=3, max_size=8))[begin:]
    column = to_array(values, schema)
    wanted = [None if value is None else decimal_bytes(unscaled(value, schema)) for value in values]
    assert unscaled_bytes(column, schema).to_pylist() == wanted
    assert of_bytes(pa.array(wanted, pa.binary()), schema).equals(column)


@given(st.lists(st.none() | BITS, min_size=1, max_size=8))
@example([None, 0, 127, 128, (1 << 63) - 1])
def test_whole_numbers_without_a_sign_are_the_bytes_that_each_is(numbers: list[int | None]) -> None:
    schema = Schema(Type.UINT64)
    wanted = [None if number is None else decimal_bytes(number) for number in numbers]
    assert unscaled_bytes(pa.array(numbers, pa.uint64()), schema).to_pylist() == wanted
    assert of_bytes(pa.array(wanted, pa.binary()), schema).to_pylist() == numbers


@pytest.mark.parametrize("data", [b"", b"\x03\xe8", b"\xfc\x18", b"\x00" * 9 + b"\x03\xe8"])
def test_bytes_that_are_no_decimal_of_their_precision_are_not_plain(data: bytes) -> None:
    with pytest.raises(NotPlain):
        of_bytes(pa.array([b"\x01", data], pa.binary()), decimal(1, precision=3))
