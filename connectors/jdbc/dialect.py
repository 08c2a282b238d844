"""What differs from database to database."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar

from connectors.jdbc.endpoint import Endpoint
from connectors.jdbc.given import Given
from rocketconnect_sdk.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from connectors.jdbc.kept.checks import Check

Connection = Any
"""A connection of Python's database API 2.0, with a transaction open from its first statement to commit() or rollback()."""
LOCK_SECONDS = 5
"""So long a statement waits for a lock: a locked table is told, not waited for in silence."""
CONNECT_SECONDS = 10


class Fault(Enum):
    """What an error of a database means."""

    AWAY = auto()
    """The server does not answer, or does not take connections for the moment."""
    LOCKED = auto()
    """Another transaction holds a lock, or both wait for each other."""
    UNDONE = auto()
    """The server has undone the transaction for reasons of its own, and says that it may be tried again."""
    READ_ONLY = auto()
    """The server takes no writes: a replica, or one that was replaced."""
    UNTRUSTED = auto()
    """TLS fails: by the certificate of the server, or by ours, or since one side wants it and the other does not."""
    DENIED = auto()
    """The user or the password is wrong, or a privilege is missing."""
    MISSING = auto()
    """A database, table or column is not there."""
    VALUE = auto()
    """The database does not take a value: too long, out of range, null, a double of a key."""
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is there.

    Attributes:
        columns: A struct of its columns, in their order.
        key: The columns of its primary key, in the order of the key.
        widths: Of columns of text: how many characters they take, where there is a limit.
        computed: The columns that the database computes (GENERATED ALWAYS AS); they are not among `columns`.
        numbered: Columns to which a row that is there gets no other value (GENERATED ALWAYS AS IDENTITY).
        is_view: It is a view that takes no rows.
        decimals: Columns of texts that are decimals of any digits: they take all numbers.
        padded: Columns that are shown filled up with spaces, which count for nothing.
        filled: The columns that take no nulls. Among `columns` those with a default may be left out.
        checks: By column what it would change without an error.
        key_checks: By column what it takes for the same as something else where it is part of a key.
    """

    columns: Schema
    key: tuple[str, ...]
    widths: dict[str, int]
    computed: frozenset[str] = frozenset()
    numbered: frozenset[str] = frozenset()
    is_view: bool = False
    decimals: frozenset[str] = frozenset()
    padded: frozenset[str] = frozenset()
    filled: frozenset[str] = frozenset()
    checks: Mapping[str, Sequence["Check"]] = field(default_factory=dict)
    key_checks: Mapping[str, Sequence["Check"]] = field(default_factory=dict)


def execute(connection: Connection, statement: str) -> None:
    """Runs a statement that changes something."""
    connection.cursor().execute(statement)


class Dialect(ABC):
    """A kind of database; stateless."""

    parameter: ClassVar[str] = "%s"
    """Stands for a value in a statement."""
    lock: ClassVar[str] = " FOR UPDATE"
    """Makes a SELECT lock its rows until the transaction ends; empty: a transaction locks the whole database."""

    finite: ClassVar[bool] = True
    """Floats are finite: there is no NaN, and no infinity."""
    check_now: ClassVar[str] = ""
    """A statement after which constraints that wait for the end of the transaction do not; empty: there are none."""
    zoneless: ClassVar[bool] = False
    """A column of times has no zone: points in time are kept as what a clock shows in UTC."""
    unbounded_keys: ClassVar[bool] = True
    """An index takes text without a width."""
    row_bytes: ClassVar[int] = 0
    """Of the texts with a length in a row, counted with four bytes a character; 0: as many as there are."""
    stays_filled: ClassVar[str] = ""
    """What stands behind the type in `widen` of a column that takes no nulls, where it would take them then."""
    nul: ClassVar[bool] = True
    """Text may have the character U+0000."""
    quote: ClassVar[str] = '"'
    """Stands around names; within one it is doubled."""

    @abstractmethod
    def connect(self, place: Endpoint, user: str, password: str, seconds: int = CONNECT_SECONDS) -> Connection:
        """Connects, or gives up after so many seconds. Times are in UTC, text is Unicode, and locks are waited for LOCK_SECONDS.

        Raises:
            Exception: of the driver, see `fault`.
        """

    def end_abandoned(self, connection: Connection) -> None:  # noqa: B027  # the locks of SQLite end with their process
        """Has the server end the session where it rests for ABANDONED_SECONDS with locks: for one that writes, and never does."""

    @abstractmethod
    def fault(self, error: BaseException) -> Fault | None:
        """What an error means; None: it is not one of the driver."""

    def quoted(self, name: str) -> str:
        """A table's name as it stands in a statement; of "schema.table" both parts."""
        return ".".join(map(self.column, name.split(".")))

    def column(self, name: str) -> str:
        """The name of a column, or of anything else that is one name, as it stands in a statement; a point is part of it."""
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def name_problem(self, name: str) -> str:  # noqa: ARG002  # SQLite takes all
        """Why a name of a schema, table or column is not kept as it is; empty: it is."""
        return ""

    @abstractmethod
    def table(self, connection: Connection, name: str) -> Table | None:
        """A table, or None where there is none. Columns of types that have no schema here are text."""

    @abstractmethod
    def is_unique(self, connection: Connection, name: str, columns: Sequence[str]) -> bool:
        """Whether a unique index of a table has exactly these columns, whole and of all rows."""

    def is_read_only(self, connection: Connection) -> bool:  # noqa: ARG002  # SQLite has no replicas
        """Whether the server takes no writes of this user."""
        return False

    @abstractmethod
    def grants(self, connection: Connection, table: str, privileges: Sequence[str]) -> Sequence[str]:
        """The statements that give the user what it lacks, as far as that can be known.

        Args:
            connection: Of the user.
            table: The table; empty: the privilege is TEMPORARY.
            privileges: Of SELECT, INSERT, UPDATE, DELETE, and CREATE for a table that is to be made; or TEMPORARY; or ALTER.
        """

    def inexact(self, connection: Connection, table: str, columns: Sequence[str]) -> Sequence[str]:  # noqa: ARG002  # most are exact
        """Those of a table's columns in which texts are the same that are not: by upper and lower case, accents or the like."""
        return ()

    @abstractmethod
    def column_type(self, schema: Schema, width: int) -> str:
        """The type of a column for values of a schema, without NULL and NOT NULL.

        Args:
            schema: Of the values.
            width: Of a text that is part of a key, in characters; 0: it is in none.
        """

    def exact(self, connection: Connection) -> str:  # noqa: ARG002  # most need nothing
        """What stands behind the type of a text in a key, so that texts are the same where all their characters are."""
        return ""

    @abstractmethod
    def insert(self, connection: Connection, table: str, rows: "pa.Table") -> None:
        """Inserts rows of columns in Arrow's types: the quickest way there is."""

    def given(self, connection: Connection, table: str, key: Sequence[str], rows: "pa.Table") -> Given | None:  # noqa: ARG002
        """Rows as this database is given them; None: they are staged in a temporary table.

        Args:
            connection: With a transaction.
            table: Where they belong.
            key: Its columns.
            rows: Of columns in Arrow's types, and the key among them.
        """
        return None

    @abstractmethod
    def merge(self, table: str, columns: Sequence[str], key: Sequence[str], staged: str) -> str:
        """A statement that inserts the rows of a staging table, or updates those of the same key."""

    @abstractmethod
    def raised(self, table: str, columns: Sequence[str], key: Sequence[str], number: str) -> str:
        """A statement that inserts a row, or raises a number of the row of its key to that of the new one, unless it is higher.

        It locks the row until the transaction ends, also one that it leaves as it is. It takes a value for each column.

        Args:
            table: The table.
            columns: Of the row.
            key: Those of its unique index.
            number: The column that is raised.
        """

    @abstractmethod
    def update(self, table: str, columns: Sequence[str], key: Sequence[str], staged: str) -> str:
        """A statement that gives the rows whose keys are in a staging table its values; at least one column is not in the key."""

    @abstractmethod
    def staging(self, table: str, staged: str, columns: Sequence[str]) -> Sequence[str]:
        """Statements that make an empty temporary table of these columns of a table. They do not end the transaction."""

    @abstractmethod
    def widen(self, table: str, name: str, kind: str) -> Sequence[str]:
        """Statements that give a column a wider type; none: the database cannot."""

    @abstractmethod
    def allow_nulls(self, table: str, name: str, kind: str) -> Sequence[str]:
        """Statements that make a column take nulls; none: the database cannot."""

    def create(self, connection: Connection, statement: str) -> None:
        """Runs a statement that makes a table, which is not committed."""
        execute(connection, statement)

    def begin(self, connection: Connection) -> None:  # noqa: B027  # most need nothing
        """Begins a transaction, where the first statement does not."""

    def delete(self, table: str, key: Sequence[str], staged: str) -> str:
        """A statement that deletes the rows whose keys are in a staging table."""
        target, gone = self.quoted(table), self.quoted(staged)
        same = self._same(target, gone, key)
        return f"DELETE FROM {target} WHERE EXISTS (SELECT 1 FROM {gone} WHERE {same})"  # noqa: S608  # names are quoted

    def rename(self, table: str, key: Sequence[str], old: str, new: str) -> str:
        """A statement that gives the row of the key in one staging table the key in the other one; each has one row."""
        target, was, now = map(self.quoted, (table, old, new))
        change = ", ".join(f"{self.column(name)} = {now}.{self.column(name)}" for name in key)
        return f"UPDATE {target} SET {change} FROM {was}, {now} WHERE {self._same(target, was, key)}"  # noqa: S608  # as above

    def missing(self, table: str, key: Sequence[str], staged: str) -> str:
        """A query: how many rows of a staging table have a key that the table lacks."""
        target, wanted = self.quoted(table), self.quoted(staged)
        same = self._same(target, wanted, key)
        return f"SELECT count(*) FROM {wanted} WHERE NOT EXISTS (SELECT 1 FROM {target} WHERE {same})"  # noqa: S608  # as above

    def _inserted(self, table: str, columns: Sequence[str]) -> str:
        """A statement that inserts a row of values."""
        marks = ", ".join([self.parameter] * len(columns))
        return f"INSERT INTO {self.quoted(table)} ({', '.join(map(self.column, columns))}) VALUES ({marks})"  # noqa: S608  # quoted

    def _same(self, target: str, staged: str, key: Sequence[str]) -> str:
        return " AND ".join(f"{staged}.{self.column(name)} = {target}.{self.column(name)}" for name in key)
