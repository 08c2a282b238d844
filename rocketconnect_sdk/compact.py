"""Columns that are held without an object for each element: as fast as bytes are, and sequences like any other."""

from collections.abc import Iterator, Sequence
from typing import overload

from rocketconnect_sdk.record import Offset


class Texts(Sequence[str]):
    """Texts, held as their UTF-8. Whoever wants bytes takes `utf8`; the text of one is made when it is asked for.

    Immutable by convention.

    Args:
        utf8: Of each; UTF-8 without a fault, which is not looked at: see `of`.
    """

    __slots__ = ("utf8",)

    def __init__(self, utf8: list[bytes]) -> None:
        self.utf8 = utf8

    @classmethod
    def of(cls, utf8: Sequence[bytes]) -> "Texts":
        """Texts of bytes from anywhere. Raises UnicodeDecodeError when some are not UTF-8."""
        # A newline between them keeps the end of one and the beginning of the next from being one character.
        joined = b"\n".join(utf8)
        if not joined.isascii():
            joined.decode()
        return cls(utf8 if isinstance(utf8, list) else list(utf8))

    def __len__(self) -> int:
        """How many."""
        return len(self.utf8)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> "Texts": ...
    def __getitem__(self, index: int | slice) -> "str | Texts":
        """One of them, or some."""
        return Texts(self.utf8[index]) if isinstance(index, slice) else self.utf8[index].decode()

    def __iter__(self) -> Iterator[str]:
        """One after the other."""
        return map(bytes.decode, self.utf8)

    def __contains__(self, value: object) -> bool:
        """Whether it is one of them."""
        return isinstance(value, str) and value.encode("utf-8", "surrogatepass") in self.utf8

    def __eq__(self, other: object) -> bool:
        """Equal to any sequence of the same texts."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __repr__(self) -> str:
        """As a list."""
        return repr(list(self))


class Numbers(Sequence[Offset]):
    """Offsets of one integer each, held as integers. Immutable by convention."""

    __slots__ = ("integers",)

    def __init__(self, integers: list[int]) -> None:
        self.integers = integers

    def __len__(self) -> int:
        """How many."""
        return len(self.integers)

    @overload
    def __getitem__(self, index: int) -> Offset: ...
    @overload
    def __getitem__(self, index: slice) -> "Numbers": ...
    def __getitem__(self, index: int | slice) -> "Offset | Numbers":
        """One of them, or some."""
        return Numbers(self.integers[index]) if isinstance(index, slice) else (self.integers[index],)

    def __iter__(self) -> Iterator[Offset]:
        """One after the other."""
        return zip(self.integers)

    def __eq__(self, other: object) -> bool:
        """Equal to any sequence of the same offsets."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __repr__(self) -> str:
        """As a list."""
        return repr(list(self))
