"""Encoded properties of many messages that differ in one number within a value: held without an object for each message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LAST_NUMBER = re.compile(rb"(\d+)(\D*)\Z")


class NumberedProperties(Sequence[bytes]):
    """A sequence of encoded properties, each of them `head`, a number, `tail`. Immutable by convention.

    Attributes:
        head: what stands before the number.
        digits: the numbers as decimal digits, at least one; all have the same length.
        tail: what stands behind it.
    """

    __slots__ = ("digits", "head", "tail")

    def __init__(self, head: bytes, digits: list[bytes], tail: bytes) -> None:
        self.head = head
        self.digits = digits
        self.tail = tail

    @classmethod
    def like(cls, first: bytes, places: Sequence[bytes], at: int = 0) -> NumberedProperties | None:
        """Return what the properties are if all are like the first one but for its last number, in a value; None: they can't be.

        Args:
            first: the first one.
            places: for each message bytes in which its properties begin, or would begin if `at` were 0.
            at: how many of the first bytes of the properties are left out in `places`.
        """
        found = _LAST_NUMBER.search(first)
        if found is None or found.start() < at or first.rfind(b"\x01", 0, found.start()) <= first.rfind(b"\x02", 0, found.start()):
            return None
        begin, end = found.start() - at, found.end(1) - at
        digits = [place[begin:end] for place in places]
        if not b"".join(digits).isdigit():
            return None
        return cls(first[: found.start()], digits, found[2])

    @classmethod
    def of(cls, properties: Sequence[bytes]) -> NumberedProperties | None:
        """Return the same properties in this form, None if they don't have it."""
        if isinstance(properties, cls):
            return properties
        if len(set(map(len, properties))) != 1:
            return None
        found = cls.like(properties[0], properties)
        return found if found is not None and found.joined() == b"".join(properties) else None

    @property
    def length(self) -> int:
        """How many bytes each has."""
        return len(self.head) + len(self.digits[0]) + len(self.tail)

    def joined(self) -> bytes:
        """Return them one behind the other."""
        return self.head + (self.tail + self.head).join(self.digits) + self.tail

    def __len__(self) -> int:
        """How many."""
        return len(self.digits)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        """Return one of them, or some."""
        if isinstance(index, slice):
            digits = self.digits[index]
            return NumberedProperties(self.head, digits, self.tail) if digits else []
        return self.head + self.digits[index] + self.tail

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over them."""
        head, tail = self.head, self.tail
        return (head + digits + tail for digits in self.digits)


def lengths(properties: Sequence[bytes]) -> Iterable[int]:
    """Return how many bytes each has."""
    return repeat(properties.length, len(properties)) if isinstance(properties, NumberedProperties) else map(len, properties)


def concat_properties(columns: Sequence[Sequence[bytes]]) -> Sequence[bytes]:
    """Join properties of messages that follow each other; in the short form if all have it and are alike."""
    columns = [column for column in columns if column]
    if len(columns) == 1:
        return columns[0]
    numbered = [column for column in columns if isinstance(column, NumberedProperties)]
    if numbered and len(numbered) == len(columns):
        first = numbered[0]
        form = (first.head, first.tail, first.length)
        if all((each.head, each.tail, each.length) == form for each in numbered):
            return NumberedProperties(first.head, [digits for each in numbered for digits in each.digits], first.tail)
    return list(chain.from_iterable(columns))
