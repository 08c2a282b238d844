"""Tables on both sides of a pipeline, for whoever compares them: what a source reads rows of, and what a sink keeps them in.

Both sides give their rows in the order of the same keys, so that they can be compared range by range. A sink says how it would keep
the rows of a source: that is the mapping of types under which values are equal.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.schema import WHOLE, Schema, Type, Unit

if TYPE_CHECKING:
    import pyarrow as pa

Key = tuple[int | str | Decimal, ...]
"""The values of the columns of a key: numbers in their order, texts in the order of their characters. UUIDs are texts; dates
(2024-02-29), timestamps (2024-02-29T12:00:00.123456, in UTC where they are points in time) and bytes (hexadecimal digits) are texts
whose order is theirs."""

_NUMBER = re.compile(r"-?[0-9]{1,76}(\.[0-9]{1,76})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class CapturedTable:
    """A table that a source reads.

    Attributes:
        name: As the source calls it: "database.table", "schema.table".
        topic: Of its records.
        origin: What a change envelope says of it: "database", "schema" and "table", as far as there are such.
    """

    name: str
    topic: str
    origin: Mapping[str, str]


class ReadRows(NamedTuple):
    """Rows of a table.

    Attributes:
        values: In the Arrow types of the table's columns.
        wrong: By index what is wrong with rows of which a value is none of its column; a null stands in its place.
    """

    values: "pa.StructArray"
    wrong: Mapping[int, str]


class TableRows(ABC):
    """The rows of one table as they are now. For one thread.

    Attributes:
        columns: A struct of its columns.
        key: The names of the columns of its key; empty: it has none.
    """

    columns: Schema
    key: Sequence[str]

    @abstractmethod
    def behind(self, key: Key | None, names: Sequence[str]) -> Generator[ReadRows]:
        """Rows behind a key in the order of keys, a few thousand at a time and never none; None: all.

        Args:
            key: Where to begin.
            names: The columns of the key. Rows with a null there are left out.

        Returns: the rows. What is left of them is given up when the generator is closed.

        Raises:
            SystemAway, RetriableError: not now.
            PermanentError: not at all.
        """

    @abstractmethod
    def of(self, keys: Sequence[Key], names: Sequence[str]) -> ReadRows:
        """The rows of these keys, perhaps with others among them, in any order. See `behind`."""

    def condition(self, key: Key, names: Sequence[str]) -> str:  # noqa: ARG002  # most take none
        """What the signal execute-snapshot takes as the condition for the row of a key; empty: rows can't be sent again."""
        return ""

    def orders(self, schema: Schema) -> bool:
        """Whether a key may have such a column: `behind`, `of` and `condition` know its values and give them in the order of Key.

        By default whole numbers, texts and UUIDs; whoever knows all of `is_comparable` says so.
        """
        return has_order(schema)

    @abstractmethod
    def close(self) -> None:
        """Gives back what is held. May be called more than once."""

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Closes it."""
        self.close()


class KeptRows(TableRows):
    """The rows of a table that a sink writes."""

    @abstractmethod
    def kept(self, rows: "pa.StructArray", schema: Schema) -> "tuple[pa.Table, Mapping[int, str]]":
        """Rows as this table keeps them: only the columns that both have. Of its own rows too, so that what is equal looks equal.

        Args:
            rows: In the Arrow types of their schema.
            schema: A struct of their columns.

        Returns: as many rows, and by index what is wrong with those that the table does not take.
        """


class SourceTables(ABC):
    """The tables that a source reads."""

    @abstractmethod
    def tables(self) -> Sequence[CapturedTable]:
        """All that are there now, by name. Raises what TableRows.behind does."""

    @abstractmethod
    def open(self, name: str) -> TableRows:
        """One of them. Raises what TableRows.behind does."""


class SinkTables(ABC):
    """The tables that a sink writes."""

    @abstractmethod
    def target(self, table: CapturedTable) -> str:
        """Where the rows of a table are kept."""

    @abstractmethod
    def open(self, name: str) -> KeptRows:
        """One of them.

        Raises:
            PermanentError: it is not there.
            SystemAway, RetriableError: not now.
        """


def has_order(schema: Schema) -> bool:
    """Whether a column of a key is of whole numbers, texts or UUIDs: JSON and every database have these and their order."""
    return schema.type in WHOLE or schema.type in (Type.STRING, Type.UUID) or (schema.type is Type.DECIMAL and not schema.scale)


def is_comparable(schema: Schema) -> bool:
    """Whether Key has a form for a column: also decimals, dates, timestamps and bytes."""
    if schema.type is Type.TIMESTAMP:
        return schema.unit is not Unit.NANOSECONDS
    return has_order(schema) or schema.type in (Type.DECIMAL, Type.DATE, Type.BYTES)


def order_of(schema: Schema) -> str:
    """What the values of a column of a key are compared as: those of two columns must be compared as the same."""
    if schema.type in WHOLE or schema.type is Type.DECIMAL:
        return "numbers"
    return "texts" if schema.type in (Type.STRING, Type.UUID) else f"values of the type {schema.type.value}"


def joined(parts: Sequence[ReadRows], columns: Schema) -> ReadRows:
    """Rows of the same columns, one part behind the other; perhaps none."""
    import pyarrow as pa

    from rocketconnect_sdk.columns.arrow_types import to_arrow_type

    wrong: dict[int, str] = {}
    begin = 0
    for part in parts:
        wrong |= {begin + place: reason for place, reason in part.wrong.items()}
        begin += len(part.values)
    empty = [pa.nulls(0, to_arrow_type(field.schema)) for field in columns.fields]
    fields = [pa.field(field.name, array.type) for field, array in zip(columns.fields, empty, strict=True)]
    return ReadRows(pa.concat_arrays([pa.StructArray.from_arrays(empty, fields=fields), *(part.values for part in parts)]), wrong)


def keys_of(rows: "pa.StructArray", names: Sequence[str]) -> list[Key]:
    """The keys of rows.

    Raises:
        PermanentError: a value of a key is none of its column, so that a null stands there.
    """
    return list(zip(*(_values(rows.field(name), name) for name in names), strict=True))


def key_of(given: Sequence[object], schemas: Sequence[Schema]) -> Key:
    """A key of columns of these types as JSON has it; see shown_key.

    Raises:
        ValueError: it is none.
    """
    return tuple(_parsed(value, schema) for value, schema in zip(given, schemas, strict=True))


def shown_key(key: Key) -> list[int | str]:
    """A key as JSON has it: decimals with a fraction are texts there."""
    return [f"{value:f}" if isinstance(value, Decimal) else value for value in key]


def _values(column: "pa.Array", name: str) -> list[int | str | Decimal]:
    import pyarrow as pa

    if column.null_count:
        msg = f"a value of {name}, which is part of the key, is none of its type, so that its row can't be compared: correct it"
        raise PermanentError(msg)
    if pa.types.is_timestamp(column.type):
        # With a zone it is in UTC.
        return [value.isoformat("T", "microseconds") for value in column.cast(pa.timestamp("us")).to_pylist()]
    return [value if type(value) is int else _plain(value) for value in column.to_pylist()]


def _plain(value: object) -> int | str | Decimal:
    match value:
        case Decimal():
            # Of 1.50 and 1.5 one is as good as the other.
            return int(value) if value == value.to_integral_value() else Decimal(f"{value:f}".rstrip("0"))
        case bytes():
            return value.hex()
        case date():
            return value.isoformat()
    return str(value)


def _parsed(value: object, schema: Schema) -> int | str | Decimal:
    is_number = order_of(schema) == "numbers"
    if type(value) is int and is_number:
        return value
    if not isinstance(value, str) or (is_number and not (schema.type is Type.DECIMAL and _NUMBER.fullmatch(value))):
        msg = f"{value!r:.100} is no value of the type {schema.type.value}"
        raise ValueError(msg)
    match schema.type:
        case Type.DECIMAL:
            return _plain(Decimal(value))
        case Type.BYTES:
            return bytes.fromhex(value).hex()
        case Type.DATE:
            return date.fromisoformat(value).isoformat()
        case Type.TIMESTAMP:
            return datetime.fromisoformat(value).replace(tzinfo=None).isoformat("T", "microseconds")
    return value
