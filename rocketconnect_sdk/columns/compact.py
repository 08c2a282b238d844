"""Columns that are held without an object for each element: as fast as bytes are, and sequences like any other."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar, cast, overload

T = TypeVar("T")


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


class Numbers(Sequence[tuple[int, ...]]):
    """Offsets of one integer each, held as integers. Immutable by convention."""

    __slots__ = ("integers",)

    def __init__(self, integers: list[int]) -> None:
        self.integers = integers

    def __len__(self) -> int:
        """How many."""
        return len(self.integers)

    @overload
    def __getitem__(self, index: int) -> tuple[int, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> "Numbers": ...
    def __getitem__(self, index: int | slice) -> "tuple[int, ...] | Numbers":
        """One of them, or some."""
        return Numbers(self.integers[index]) if isinstance(index, slice) else (self.integers[index],)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """One after the other."""
        return zip(self.integers)

    def __eq__(self, other: object) -> bool:
        """Equal to any sequence of the same offsets."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __repr__(self) -> str:
        """As a list."""
        return repr(list(self))


class Column(Sequence[object]):
    """Values of one schema, held as an Arrow array. Whoever wants Arrow takes `array`; a value is made when it is asked for.

    Immutable by convention. It has no Rejected; a None is null.

    Args:
        array: Of the type that the schema stands for (rocketconnect_sdk.arrow), without values that Python cannot hold.
    """

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __len__(self) -> int:
        """How many."""
        return len(self.array)

    @overload
    def __getitem__(self, index: int) -> object: ...
    @overload
    def __getitem__(self, index: slice) -> "Column": ...
    def __getitem__(self, index: int | slice) -> object:
        """One of them, or some."""
        return Column(self.array[index]) if isinstance(index, slice) else _python(self.array[index : index + 1 or None])[0]

    def __iter__(self) -> Iterator[object]:
        """One after the other."""
        names = self._names
        if not names or self.array.null_count:
            return iter(_python(self.array))
        # Several times as fast as Arrow's own way.
        columns = [_python(column) for column in self.array.flatten()]
        return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))

    @property
    def _names(self) -> list[str]:
        """Of the fields of structs."""
        return [field.name for field in self.array.type] if hasattr(self.array, "field") else []

    def __contains__(self, value: object) -> bool:
        """Whether it is one of them."""
        return self.array.null_count > 0 if value is None else value in list(self)

    def __eq__(self, other: object) -> bool:
        """Equal to any sequence of the same values."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __repr__(self) -> str:
        """As a list."""
        return repr(list(self))


def picked(column: Sequence[T], places: Sequence[int]) -> Sequence[T]:
    """The elements of a column at these places, in this order; held as they were. A range of places copies nothing of Arrow's."""
    if isinstance(places, range) and places.step == 1:
        return column if len(places) == len(column) else column[places.start : places.stop]
    if isinstance(column, Column):
        import pyarrow as pa

        return cast("Sequence[T]", Column(column.array.take(pa.array(places, pa.int64()))))
    if isinstance(column, Texts):
        return cast("Sequence[T]", Texts([column.utf8[place] for place in places]))
    if isinstance(column, Numbers):
        return cast("Sequence[T]", Numbers([column.integers[place] for place in places]))
    return [column[place] for place in places]


def concatenated(columns: Sequence[Sequence[T]]) -> Sequence[T]:
    """The elements of columns of one schema, one column behind the other; held as they were where all are held alike."""
    kinds = set(map(type, columns))
    if kinds == {Column}:
        arrays = [cast("Column", column).array for column in columns]
        if len({array.type for array in arrays}) == 1:
            import pyarrow as pa

            return cast("Sequence[T]", Column(pa.concat_arrays(arrays)))
    if kinds == {Texts}:
        return cast("Sequence[T]", Texts(list(chain.from_iterable(cast("Texts", column).utf8 for column in columns))))
    if kinds == {Numbers}:
        return cast("Sequence[T]", Numbers(list(chain.from_iterable(cast("Numbers", column).integers for column in columns))))
    return list(chain.from_iterable(columns))


def _python(array: Any) -> list[object]:
    from rocketconnect_sdk.columns.arrow_types import readable

    array = readable(array)
    # To be asked about maps makes plain values several times slower.
    values: list[object] = array.to_pylist(maps_as_pydicts="strict") if array.type.num_fields else array.to_pylist()
    return values
