"""How the rows of tables are read back in the order of keys: what the author of a Dialect writes, and statements made of it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any, Generic, TypeVar

from rocketconnect_sdk.tables.columns import AnyTable, C
from rocketconnect_sdk.verification import Key, ReadRows

T = TypeVar("T", bound=AnyTable)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # keys have no zone
_DIGITS = Context(prec=200)
"""More than any Key has."""


class Reader(ABC, Generic[C, T]):
    """Reads tables that speak SQL. One thread calls it, and all methods raise as those of Dialect."""

    @abstractmethod
    def ordered(self, column: C) -> str:
        """What is compared and sorted by in the place of a column: numbers and times by their order, texts by their bytes."""

    @abstractmethod
    def literal(self, value: int | str | Decimal, column: C) -> str:
        """A value of a Key, as `ordered` of a column is compared with it; of one that it cannot have the next lower one."""

    @abstractmethod
    def rows(self, table: T, tail: str) -> ReadRows:
        """The rows of a table, of all its columns, as its readers are to see them: without those that were replaced or deleted.

        Args:
            table: Where they are.
            tail: What stands behind FROM and the name.
        """


def in_order(reader: Reader[C, Any], columns: Sequence[C], key: Key | None, count: int) -> str:
    """What stands behind the name of a table for so many rows behind a key, in the order of keys; None: from the beginning."""
    ordered = [reader.ordered(each) for each in columns]
    conditions = [f"{each} IS NOT NULL" for each in ordered]
    if key is not None:
        conditions.append(beyond(ordered, [reader.literal(value, each) for value, each in zip(key, columns, strict=True)]))
    return f"WHERE {' AND '.join(conditions)} ORDER BY {', '.join(ordered)} LIMIT {count}"


def among(reader: Reader[C, Any], columns: Sequence[C], keys: Sequence[Key]) -> str:
    """The same for the rows of some keys, of which there is one at least."""
    ordered = [reader.ordered(each) for each in columns]
    alike = []
    for key in keys:
        literals = [reader.literal(value, column) for value, column in zip(key, columns, strict=True)]
        alike.append(" AND ".join(f"{left} = {right}" for left, right in zip(ordered, literals, strict=True)))
    return f"WHERE {' OR '.join(f'({each})' for each in alike)}"


def beyond(columns: Sequence[str], literals: Sequence[str]) -> str:
    """The condition for what comes behind some values in the order of some columns; an index of these serves it."""
    column, literal = columns[0], literals[0]
    if len(columns) == 1:
        return f"{column} > {literal}"
    return f"{column} >= {literal} AND ({column} > {literal} OR ({beyond(columns[1:], literals[1:])}))"


def floor(value: int | str | Decimal, scale: int) -> Decimal:
    """The next lower number that has so many digits behind the point; a number that has no more stays what it is."""
    number = Decimal(value)
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and -exponent <= scale:
        return number
    return number.quantize(Decimal(1).scaleb(-scale), ROUND_FLOOR, _DIGITS)


def micros_of(text: str) -> int:
    """The microseconds since 1970 of a timestamp of a Key."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)
