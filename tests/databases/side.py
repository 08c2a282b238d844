"""What the load and the oracle need of a database, be it copied or the copy."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from signal import Signals
from typing import Any, ClassVar

from tests.databases.part import Part
from tests.databases.tables import Column, Table, Tables, Value

Statement = tuple[str, Sequence[Value]]
"""With its values, for each of which it has %s."""
DATABASE = "shop"


@dataclass(frozen=True, slots=True)
class Definition:
    """A statement that changes what a table is.

    Attributes:
        table: Its name.
        statement: What is run.
        columns: What columns it has anew; None: it has that one no more.
    """

    table: str
    statement: str
    columns: Mapping[str, Column | None] = field(default_factory=dict)


class Side(ABC):
    """A server with one database, and how it says what the load and the oracle want."""

    name: ClassVar[str]
    scope: ClassVar[str]
    """Stands before the name of a table."""
    tables: ClassVar[Tables]
    """Of the load, when it is the one that is copied."""
    stop: ClassVar[Signals]
    """Shuts the server down in good order, whoever is connected."""
    leaves_out: ClassVar[frozenset[str]] = frozenset()
    """Kinds of changes of the load that are not made here; see tests.databases.load."""

    @property
    def part(self) -> Part:
        """Its server."""
        return Part(self.name, self.command, self.is_ready, self.remove, self.make, self.stop)

    @abstractmethod
    def command(self) -> Sequence[str]:
        """Runs the server, which dies with the thread that starts it."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Whether it answers."""

    @abstractmethod
    def make(self) -> None:
        """Makes the database."""

    @abstractmethod
    def remove(self) -> None:
        """Removes its data, once nobody runs it."""

    @abstractmethod
    def connect(self) -> Any:
        """A connection to the database that commits each statement."""

    @abstractmethod
    def is_lost(self, error: BaseException) -> bool:
        """Whether the server was away, not the statement wrong."""

    @abstractmethod
    def lacks_column(self, error: BaseException) -> bool:
        """Whether a table does not have a column yet."""

    @abstractmethod
    def as_source(self) -> Mapping[str, str]:
        """The options of a connector that captures its changes."""

    @abstractmethod
    def as_sink(self) -> Mapping[str, str]:
        """Those of a connector that writes into it."""

    @abstractmethod
    def has(self, connection: Any, table: str) -> bool:
        """Whether there is a table."""

    @abstractmethod
    def rows(self, connection: Any, query: str) -> Iterator[tuple[Any, ...]]:
        """Rows as they come."""

    @abstractmethod
    def ordered(self, name: str, column: Column) -> str:
        """By what the oracle orders rows, so that texts go by their bytes."""

    @abstractmethod
    def replaced(self, table: Table, names: Sequence[str]) -> tuple[str, str]:
        """What stands before and behind the VALUES of a row that takes the place of another one with its key."""

    @abstractmethod
    def renamed(self, old: str, new: str) -> Statement:
        """A row of `words` gets another key, if no row has that."""

    @abstractmethod
    def odd(self, number: int, chance: Random) -> Statement:
        """A row of `odd` with a value that the other side has no counterpart of."""

    @abstractmethod
    def many(self, first: int, last: int) -> Statement:
        """So many rows of `orders` at once."""

    @abstractmethod
    def definitions(self) -> Sequence[Definition]:
        """What is changed on the way, in this order."""
