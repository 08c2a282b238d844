"""What sources of lakes ask the metadata of a table: the same of every format."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import pyarrow as pa

from connectors.lakes.reading.places import TableCoordinate
from rocketconnect_sdk.errors import PermanentError


class Gone(PermanentError):
    """What was to be read was removed from the table's history.

    Attributes:
        behind: Where reading goes on when that is accepted.
    """

    def __init__(self, message: str, behind: TableCoordinate) -> None:
        super().__init__(message)
        self.behind = behind


class Holds(Enum):
    """What the rows of a file are to the version that names it."""

    ADDED = "added"
    DELETED = "deleted"
    CHANGES = "changes"
    """A column of the file says it of each."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file with rows.

    Attributes:
        path: Where it is.
        size: In bytes.
        rows: How many rows it has; None: the metadata do not say it.
        constants: The columns that are not in the file, since all its rows have the same value: an Arrow scalar of each.
        unreadable: Why its rows can't be told from the file alone; empty: they can.
        holds: What its rows are.
        numbered: The columns of the table with the numbers by which the file knows them; None: it knows them by their names.
    """

    path: Path
    size: int
    rows: int | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)
    unreadable: str = ""
    holds: Holds = Holds.ADDED
    numbered: pa.Schema | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """A version of a table: what it brings, or all that the table has at it.

    Attributes:
        version: Its number; versions grow, and not always by one.
        whole: 1: all that the table has. See TableCoordinate.
        files: With the rows, in an order that is always the same.
        columns: Of the rows.
        time_ms: When it was made; None: not known.
        rewrite: What it does beside adding rows: "DELETE removed 2 files with 300 rows", say; empty: nothing.
    """

    version: int
    whole: int
    files: Sequence[DataFile]
    columns: pa.Schema
    time_ms: int | None = None
    rewrite: str = ""


class TableLog(ABC):
    """The history of one table, as one task reads it. Every method may raise SystemAway, RetriableError and PermanentError."""

    identity: str
    """The id of the table."""
    columns: pa.Schema
    """Those of the newest version when the history was opened."""

    @property
    @abstractmethod
    def earliest(self) -> int:
        """The first version that can be read by itself."""

    @abstractmethod
    def version_of(self, name: int) -> int:
        """The version that people name so. Raises PermanentError: there is none."""

    @abstractmethod
    def first_since(self, seconds: float) -> int | None:
        """The first version that was not made before a time, in seconds since 1970; None: there is none yet."""

    @abstractmethod
    def newest(self) -> int:
        """The newest version that there is."""

    @abstractmethod
    def whole(self, version: int) -> Commit:
        """All that the table has at a version.

        Raises:
            Gone: it can't be told any more.
        """

    @abstractmethod
    def commit(self, version: int) -> Commit | None:
        """What a version brings, or the first one behind it that there is; None: there is none yet.

        Raises:
            Gone: it was removed from the history.
        """

    def elsewhere(self, file: DataFile) -> DataFile | None:
        """Another file that has the rows of one which is not there any more at the same places; None: there is none."""
        del file
        return None
