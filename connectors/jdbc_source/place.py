"""Where reading stands in a table: the values of the columns that it is ordered by, as offsets. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from rocketconnect_sdk.changes.snapshots.keys import fits, from_integers, to_integers
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.schema import WHOLE, Schema, Type

_TEXTS = (Type.STRING, Type.UUID)
_AS_IT_IS = Schema(Type.UINT32)
"""A whole number that is not negative is written by changes.keys as it is, however large."""


class Mode(StrEnum):
    """How rows that are new are known."""

    BULK = "bulk"
    INCREMENTING = "incrementing"
    TIMESTAMP = "timestamp"
    BOTH = "timestamp+incrementing"


class Ordering(Protocol):
    """How a kind of database compares; see Reading of connectors.jdbc."""

    def ordered(self, column: str, schema: Schema, /) -> str:
        """What is compared and ordered by in the place of a quoted column."""
        ...

    def moment(self, micros: int, /) -> str:
        """A literal that is compared with an `ordered` time."""
        ...

    def text(self, value: str, /) -> str:
        """A literal that is compared with an `ordered` text."""
        ...


@dataclass(frozen=True, slots=True)
class Order:
    """The columns that rows are read in the order of: together they are different in each row.

    Attributes:
        time: The column of times; empty: there is none.
        keys: Further columns.
        schemas: Of the further columns.
    """

    time: str
    keys: tuple[str, ...]
    schemas: tuple[Schema, ...]

    @staticmethod
    def takes(schemas: Sequence[Schema]) -> bool:
        """Whether columns of these types have an order that offsets have, too."""
        return all(schema.type in WHOLE or schema.type in _TEXTS for schema in schemas)

    def offset(self, micros: int, key: Sequence[object]) -> Offset:
        """Of a row. The time is left out where there is none.

        Raises:
            ValueError: offsets have no negative numbers, and are not long enough for any text.
        """
        made = to_integers([_written(schema) for schema in self.schemas], _texts(key))
        made = (micros, *made) if self.time else made
        if min(made) < 0 or max(made) >= 10**19:
            msg = f"{tuple(key)!r:.200}{f' at {micros} µs' if self.time else ''} is negative, or has 20 digits"
            raise ValueError(msg)
        if not fits(made):
            msg = f"a key of {sum(len(str(part).encode()) for part in key)} bytes is too long: about 350 is the most"
            raise ValueError(msg)
        return made

    def behind(self, reading: Ordering, quoted: Sequence[str], offset: Offset) -> str:
        """A condition: rows behind an offset.

        Args:
            reading: Of the database.
            quoted: The names of the columns, the time first.
            offset: Where reading stands.

        Raises:
            ValueError: it is an offset of other columns.
        """
        literals = [reading.moment(offset[0])] if self.time else []
        key = from_integers([_written(schema) for schema in self.schemas], offset[1:] if self.time else offset)
        literals += [str(value) if isinstance(value, int) else reading.text(str(value)) for value in key]
        columns = self.columns(reading, quoted)
        # (a, b) > (x, y) in a form that each database finds in its index.
        ors = [
            " AND ".join([*(f"{columns[i]} = {literals[i]}" for i in range(place)), f"{columns[place]} > {literals[place]}"])
            for place in range(len(columns))
        ]
        return f"{columns[0]} >= {literals[0]} AND ({' OR '.join(ors)})"

    def columns(self, reading: Ordering, quoted: Sequence[str]) -> Sequence[str]:
        """What rows are ordered by."""
        times = [reading.ordered(quoted[0], Schema(Type.TIMESTAMP))] if self.time else []
        return [*times, *map(reading.ordered, quoted[len(times) :], self.schemas)]


def _written(schema: Schema) -> Schema:
    if schema.type in WHOLE:
        return _AS_IT_IS
    return schema if schema.type not in _TEXTS else replace(schema, type=Type.STRING)


def _texts(key: Sequence[object]) -> Sequence[object]:
    return [value if isinstance(value, int) else str(value) for value in key]
