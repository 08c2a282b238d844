"""Bytes of many values at once: what the binary forms of Avro and Protobuf are made of, in columns of Arrow.

What is written is a list of parts: columns of bytes, or the same bytes for all, which stand behind each other in each row. Where a
part is null nothing is written. What is read is read from all messages side by side, each from where it stands.
"""

from collections.abc import Sequence
from copy import copy
from functools import cache, cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.columns.text_columns import NotPlain
from rocketconnect_sdk.converters.spans import Places, Spans

Part = Any
"""A pa.BinaryArray, or a pa.BinaryScalar."""

There = Any
"""A pa.BooleanArray: which of the messages have a value where they are read; None: all of them."""

_BITS = 14
"""Of a number that are written at once: two bytes of it."""
_CHUNK = 1 << _BITS
_LAST_SHIFT = 63


def _u64(number: int) -> pa.UInt64Scalar:
    return pa.scalar(number, pa.uint64())


def _u8(number: int) -> pa.UInt8Scalar:
    return pa.scalar(number, pa.uint8())


@cache
def _chunks() -> pa.BinaryArray:
    """How numbers below _CHUNK are written where no more of the number follows; behind these the same where more does."""
    last = [bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7]) for number in range(_CHUNK)]
    return pa.array([*last, *(bytes([number & 127 | 128, number >> 7 | 128]) for number in range(_CHUNK))], pa.binary())


def varints(numbers: pa.UInt64Array) -> list[Part]:
    """Whole numbers of as few bytes as can be, seven bits in each, the lowest first."""
    parts = []
    while (pc.max(numbers).as_py() or 0) >= _CHUNK:
        rest = pc.shift_right(numbers, _u64(_BITS))
        more = pc.greater(rest, _u64(0))
        low = pc.bit_wise_and(numbers, _u64(_CHUNK - 1))
        parts.append(_chunks().take(pc.add(low, pc.if_else(more, _u64(_CHUNK), _u64(0)))))
        numbers = pc.if_else(more, rest, None)
    return [*parts, _chunks().take(numbers)]


def zigzag(numbers: pa.Int64Array) -> pa.UInt64Array:
    """Numbers with a sign as numbers without one: small ones stay small."""
    doubled = pc.shift_left(numbers, pa.scalar(1))
    return pc.if_else(pc.less(numbers, pa.scalar(0)), pc.bit_wise_not(doubled), doubled).view(pa.uint64())


def unzigzag(numbers: pa.UInt64Array) -> pa.Int64Array:
    """The numbers that `zigzag` was given."""
    halves = pc.shift_right(numbers, _u64(1)).view(pa.int64())
    return pc.if_else(pc.bit_wise_and(numbers, _u64(1)).cast(pa.bool_()), pc.bit_wise_not(halves), halves)


def little_endian(numbers: pa.Array) -> pa.BinaryArray:
    """The bytes of numbers of one width, the lowest first."""
    return numbers.view(pa.binary(numbers.type.bit_width // 8)).cast(pa.binary())


def sized(data: pa.BinaryArray) -> list[Part]:
    """Bytes behind their number."""
    return [*varints(pc.binary_length(data).cast(pa.uint64())), data]


def joined(parts: Sequence[Part], count: int) -> pa.BinaryArray:
    """The parts of each of so many rows as one."""
    empty = pa.scalar(b"", pa.binary())
    if all(isinstance(part, pa.Scalar) for part in parts):
        # A column says how many rows there are.
        parts = [*parts, pa.repeat(empty, count)]
    return pc.binary_join_element_wise(*parts, empty, null_handling="replace", null_replacement=b"")


class Messages:
    """Messages that are read side by side. Where one of them is not of the common form, NotPlain or a pa.ArrowException is raised.

    Args:
        data: At least one.
        start: Where reading begins in each.
    """

    def __init__(self, data: Sequence[bytes], start: int) -> None:
        whole = pa.array(data, pa.binary())
        if not isinstance(whole, pa.BinaryArray):
            # Of several chunks, for there are more bytes than one has room for.
            raise NotPlain
        _, bounds, self._data = whole.buffers()
        offsets = pa.Array.from_buffers(pa.int32(), len(data) + 1, [None, bounds]).cast(pa.int64())
        self._bytes = pa.Array.from_buffers(pa.uint8(), offsets[-1].as_py(), [None, self._data])
        self._at = pc.add(offsets[:-1], pa.scalar(start))
        self._ends = offsets[1:]
        self._whole = self

    @cached_property
    def _even(self) -> pa.Int64Array:
        return pa.arange(0, 2 * len(self), 2)

    @cached_property
    def _in_turns(self) -> pa.Int64Array:
        """0, n, 1, n + 1, and so on."""
        turns = pa.arange(0, 2 * len(self))
        return pc.add(pc.shift_right(turns, pa.scalar(1)), pc.multiply(pc.bit_wise_and(turns, pa.scalar(1)), pa.scalar(len(self))))

    @cached_property
    def _spans(self) -> Spans:
        return Spans(np.array(self._bytes))

    def __len__(self) -> int:
        """How many."""
        return len(self._at)

    def byte(self, there: There = None) -> pa.UInt8Array:
        """The next byte of those that are `there` (None: of all); null: of the others, which are not moved on."""
        found = self._bytes.take(self._places(there))
        self._at = pc.add(self._at, pa.scalar(1) if there is None else there.cast(pa.int64()))
        return found

    def varint(self, there: There = None) -> pa.UInt64Array:
        """The number as `varints` writes it, of those that are `there`; null: of the others."""
        places = last = self._places(there)
        found = self._bytes.take(places)
        numbers = pc.bit_wise_and(found, _u8(127)).cast(pa.uint64())
        shift = 0
        while pc.any(more := pc.greater_equal(found, _u8(128))).as_py():
            shift += 7
            places = pc.if_else(more, pc.add(places, pa.scalar(1)), None)
            found = self._bytes.take(places)
            if shift > _LAST_SHIFT or (shift == _LAST_SHIFT and pc.max(found).as_py() > 1):
                raise NotPlain
            bits = pc.shift_left(pc.bit_wise_and(found, _u8(127)).cast(pa.uint64()), _u64(shift))
            numbers = pc.bit_wise_or(numbers, pc.coalesce(bits, _u64(0))) if places.null_count else pc.bit_wise_or(numbers, bits)
            last = pc.coalesce(places, last) if places.null_count else places
        behind = pc.add(last, pa.scalar(1))
        self._at = behind if there is None else pc.coalesce(behind, self._at)
        return numbers

    def next_is(self, tag: bytes) -> pa.BooleanArray:
        """Which of them go on with these bytes; they are moved behind them."""
        found = pc.less_equal(pc.add(self._at, pa.scalar(len(tag))), self._ends)
        for place, byte in enumerate(tag):
            at = pc.if_else(found, pc.add(self._at, pa.scalar(place)), None)
            found = pc.equal(self._bytes.take(at), _u8(byte)).fill_null(False)
        self._at = pc.add(self._at, pc.if_else(found, pa.scalar(len(tag)), pa.scalar(0)))
        return found

    def enter(self, sizes: pa.Int64Array) -> pa.Int64Array:
        """From here on so many bytes are all that there is; null: none. Gives what `leave` is to be told."""
        ends, self._ends = self._ends, self._behind(sizes)
        return ends

    def leave(self, ends: pa.Int64Array) -> None:
        """Raises NotPlain where what was entered is not read to its end."""
        self.end()
        self._ends = ends

    def each(self, size: int, there: There = None) -> pa.Int64Array:
        """A size for `cut` that is the same for those that are `there`."""
        sizes = pa.repeat(pa.scalar(size), len(self))
        return sizes if there is None else pc.if_else(there, sizes, None)

    def cut(self, sizes: pa.Int64Array) -> pa.BinaryArray:
        """The next bytes, so many of each; null: none, where the size is null."""
        ends = self._behind(sizes)
        # As if all messages were a column of the bytes that are wanted, and of those between them in turns.
        bounds = pa.concat_arrays([self._at, ends]).cast(pa.int32()).take(self._in_turns)
        pieces = pa.Array.from_buffers(pa.binary(), 2 * len(ends) - 1, [None, bounds.buffers()[1], self._data])
        self._at = ends
        return pieces.take(pc.if_else(sizes.is_valid(), self._even, None) if sizes.null_count else self._even)

    @property
    def spans(self) -> Spans:
        """Where values end in their bytes."""
        return self._whole._spans  # noqa: SLF001 - it is one of these

    def places(self) -> tuple[Places, Places]:
        """Where reading stands in each, and where each ends."""
        return np.array(self._at), np.array(self._ends)

    def go(self, at: Places) -> None:
        """Reading goes on there."""
        self._at = pa.array(at)

    def parts(self, begins: Places, ends: Places) -> "Messages":
        """Values in them, each as a message of its own."""
        found = copy(self)
        for derived in ("_even", "_in_turns", "_spans"):
            found.__dict__.pop(derived, None)
        found._at, found._ends = pa.array(begins), pa.array(ends)  # noqa: SLF001
        return found

    def end(self) -> None:
        """Raises NotPlain where one of them is not read to its end."""
        if not self._at.equals(self._ends):
            raise NotPlain

    def _behind(self, sizes: pa.Int64Array) -> pa.Int64Array:
        """Where so many of the next bytes end. None of them is looked at before it is known that they are there."""
        left = pc.subtract(self._ends, self._at)
        if pc.any(pc.or_(pc.less(sizes, pa.scalar(0)), pc.greater(sizes, left))).as_py():
            raise NotPlain
        return pc.add(self._at, sizes.fill_null(0))

    def _places(self, there: There) -> pa.Int64Array:
        return self._at if there is None else pc.if_else(there, self._at, None)
