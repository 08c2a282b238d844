"""How rows are read: what differs from database to database."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from connectors.jdbc.dialect import Connection
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.verification import is_comparable


class Rows(Protocol):
    """The rows of a statement that runs; they stay with the server until they are taken."""

    def take(self, count: int) -> Sequence[Sequence[Any]]:
        """The next rows at most, as columns: texts, bytes, or what the driver has for a value. No columns: there are no more."""
        ...

    def close(self) -> None:
        """Leaves out the rest, of which there should be little: else end the connection."""
        ...


class Reading(ABC):
    """Of a kind of database; stateless. Statements are made of quoted names and of numbers: they take no parameters."""

    clock: ClassVar[str]
    """An expression: the time of the server, in microseconds since 1970."""

    @abstractmethod
    def tables(self, connection: Connection) -> Sequence[str]:
        """The names of all tables and views that the user can see, in order: "schema.table" where there are schemas."""

    @abstractmethod
    def described(self, connection: Connection, query: str) -> Schema:
        """A struct of the columns of a query; each may be null."""

    @abstractmethod
    def not_null(self, connection: Connection, table: str) -> frozenset[str]:
        """The columns that are never null."""

    @abstractmethod
    def unique(self, connection: Connection, table: str) -> frozenset[str]:
        """The columns that alone are a key of the table."""

    def counted(self, connection: Connection, table: str) -> int | None:
        """About how many rows a table has, by the statistics of the database; None: these do not say."""
        del connection, table
        return None

    @abstractmethod
    def readable(self, column: str, schema: Schema) -> str:
        """What is selected in the place of a quoted column, so that connectors.jdbc.values reads it without loss."""

    @abstractmethod
    def ordered(self, column: str, schema: Schema) -> str:
        """What is compared and ordered by in the place of a quoted column, in the order of `micros` or of its bytes."""

    @abstractmethod
    def micros(self, column: str) -> str:
        """An expression: a time as microseconds since 1970. Times without a zone are in UTC."""

    @abstractmethod
    def moment(self, micros: int) -> str:
        """A literal that is compared with an `ordered` time."""

    @abstractmethod
    def text(self, value: str) -> str:
        """A literal that is compared with an `ordered` text."""

    def literal(self, value: str) -> str:
        """A literal of text that a column is compared with as it is, by its index."""
        return self.text(value)

    @abstractmethod
    def octets(self, value: bytes) -> str:
        """A literal that is compared with a column of bytes."""

    def orders(self, schema: Schema) -> bool:
        """Whether a column is ordered by, and compared with literals, as Key of rocketconnect_sdk.verification says."""
        return is_comparable(schema)

    @abstractmethod
    def rows(self, connection: Connection, statement: str, width: int) -> Rows:
        """Runs a SELECT of so many columns."""

    def one(self, connection: Connection, statement: str) -> Any:
        """The one value of a statement."""
        cursor = connection.cursor()
        try:
            cursor.execute(statement)
            return cursor.fetchone()[0]
        finally:
            cursor.close()
