"""Tables on both sides of a pipeline, for whoever compares them: what a source reads rows of, and what a sink keeps them in.

Both sides give their rows in the order of the same keys, so that they can be compared range by range. A sink says how it would keep
the rows of a source: that is the mapping of types under which values are equal.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from rocketconnect_sdk.schema import WHOLE, Schema, Type

if TYPE_CHECKING:
    import pyarrow as pa

Key = tuple[int | str, ...]
"""The values of the columns of a key: whole numbers in their order, texts in the order of their characters, UUIDs as texts."""


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
    """Whether a column of a key has the order that Key says, in every database."""
    return schema.type in WHOLE or schema.type in (Type.STRING, Type.UUID) or (schema.type is Type.DECIMAL and not schema.scale)


def keys_of(rows: "pa.StructArray", names: Sequence[str]) -> list[Key]:
    """The keys of rows, in which there are no nulls."""
    plain = [[value if type(value) is int else _plain(value) for value in rows.field(name).to_pylist()] for name in names]
    return list(zip(*plain, strict=True))


def _plain(value: object) -> int | str:
    """A UUID is a text here, and a decimal without a fraction a whole number."""
    return int(value) if isinstance(value, Decimal) else str(value)
