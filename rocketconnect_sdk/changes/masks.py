"""Columns whose values nobody is to see: what stands in their place. Pure."""

import hmac
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from rocketconnect_sdk.schema import WHOLE, Field, Schema, Type


class Mask(ABC):
    """What becomes of the values of a column; null stays null."""

    takes: frozenset[Type] = frozenset({Type.STRING})
    """The types of columns that it is for."""
    is_for_keys = False
    """Different values stay different."""

    def schema(self, schema: Schema) -> Schema:
        """The type of what it makes of a column's values: a text."""
        return Schema(Type.STRING, optional=schema.optional)

    @abstractmethod
    def array(self, array: Any) -> Any:
        """All values of an Arrow array of the column's type at once."""

    @abstractmethod
    def value(self, value: object) -> str:
        """One value, also one that is none of the column's type; not null."""


@dataclass(frozen=True)
class Fixed(Mask):
    """A text in the place of any other."""

    text: str

    def array(self, array: Any) -> Any:
        """See Mask."""
        import pyarrow as pa
        import pyarrow.compute as pc

        return pc.if_else(array.is_valid(), pa.scalar(self.text, array.type), pa.scalar(None, array.type))

    def value(self, value: object) -> str:
        """See Mask."""
        del value
        return self.text


class Starred(Mask):
    """As many asterisks as there are characters."""

    def array(self, array: Any) -> Any:
        """See Mask."""
        import pyarrow.compute as pc

        return pc.replace_substring_regex(array, pattern="(?s).", replacement="*")

    def value(self, value: object) -> str:
        """See Mask."""
        return "*" * len(str(value))


@dataclass(frozen=True)
class Truncated(Mask):
    """The first characters."""

    length: int

    def array(self, array: Any) -> Any:
        """See Mask."""
        import pyarrow.compute as pc

        return pc.utf8_slice_codeunits(array, 0, self.length)

    def value(self, value: object) -> str:
        """See Mask."""
        return str(value)[: self.length]


@dataclass(frozen=True)
class Hashed(Mask):
    """HMAC-SHA-256 in hexadecimal digits: equal values stay equal, in all columns and tables of the same salt."""

    salt: bytes = field(repr=False)
    takes = frozenset({Type.STRING, Type.BYTES, Type.UUID, *WHOLE})
    is_for_keys = True

    def array(self, array: Any) -> Any:
        """See Mask."""
        import pyarrow as pa

        values = array.to_pylist()
        made = {value: None if value is None else self.value(value) for value in set(values)}
        return pa.array(list(map(made.__getitem__, values)), pa.string())

    def value(self, value: object) -> str:
        """See Mask."""
        return hmac.digest(self.salt, value if isinstance(value, bytes) else str(value).encode(), "sha256").hex()


class Written(Mask):
    """What the server writes for a date, a time, a timestamp or a decimal, in ISO 8601 with a space before the time."""

    takes = frozenset({Type.DATE, Type.TIME, Type.TIMESTAMP, Type.DECIMAL})
    is_for_keys = True

    def array(self, array: Any) -> Any:
        """See Mask."""
        import pyarrow as pa

        return pa.array([None if value is None else self.value(value) for value in array.to_pylist()], pa.string())

    def value(self, value: object) -> str:
        """See Mask."""
        if isinstance(value, datetime):
            # A point in time is written in UTC.
            return str(value.replace(tzinfo=None))
        return f"{value:f}" if isinstance(value, Decimal) else str(value)


class TableMasks:
    """Those of the columns of a table.

    Args:
        masks: By the place of the column.
    """

    def __init__(self, masks: Iterable[tuple[int, Mask]] = ()) -> None:
        self._masks = tuple(masks)

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self._masks)

    def of(self, places: Sequence[int]) -> "TableMasks":
        """Those of rows that have just the columns at these places."""
        masks = dict(self._masks)
        return TableMasks((index, masks[place]) for index, place in enumerate(places) if place in masks)

    def schema(self, columns: Schema) -> Schema:
        """The type of rows that are masked."""
        if not self:
            return columns
        fields = list(columns.fields)
        for place, mask in self._masks:
            fields[place] = Field(fields[place].name, mask.schema(fields[place].schema))
        return Schema(Type.STRUCT, fields=tuple(fields))

    def arrays(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Rows as columns."""
        made = list(arrays)
        for place, mask in self._masks:
            made[place] = mask.array(made[place])
        return made

    def rows(self, rows: Sequence[Sequence[Any] | None]) -> Sequence[Sequence[Any] | None]:
        """Rows, some of which may not be there."""
        there = [row for row in rows if row is not None]
        if not self or not there:
            return rows
        columns: list[Sequence[Any]] = list(zip(*there, strict=True))
        for place, mask in self._masks:
            columns[place] = [None if value is None else mask.value(value) for value in columns[place]]
        made = zip(*columns, strict=True)
        return [None if row is None else next(made) for row in rows]
