"""The events of a log, as the decoder gives them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from connectors.mysql_cdc_source.binlog.gtid import Gtid, GtidSet, MariadbGtid
from connectors.mysql_cdc_source.binlog.row_reading.code import Row
from connectors.mysql_cdc_source.binlog.row_reading.table_map import TableMap
from connectors.mysql_cdc_source.statements.words import Speech


@dataclass(frozen=True, slots=True)
class FormatDescription:
    """The first of each file: who wrote it."""

    server_version: str
    checksummed: bool

    @property
    def mariadb(self) -> bool:
        """Whether MariaDB did."""
        return "mariadb" in self.server_version.lower()

    @property
    def version(self) -> int:
        """As comments for servers from a version on have it: 101106 for 10.11.6; 0: it says none."""
        found = re.match(r"(?:5\.5\.5-)?(\d+)\.(\d+)\.(\d+)", self.server_version)
        return 0 if found is None else int(found[1]) * 10_000 + int(found[2]) * 100 + int(found[3])


@dataclass(frozen=True, slots=True)
class Rotate:
    """The log goes on in this file at this offset."""

    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Nothing was written for a while; the log ends here."""

    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class Query:
    """A statement: DDL, BEGIN, COMMIT, or one that is logged as it is.

    Attributes:
        schema: The database that it runs in; empty for none.
        text: The statement.
        speech: How the server takes it apart.
    """

    schema: str
    text: str
    speech: Speech = field(default=Speech(), compare=False)


@dataclass(frozen=True, slots=True)
class Xid:
    """The transaction is committed."""

    number: int


@dataclass(frozen=True, slots=True)
class XaPrepare:
    """An XA transaction is prepared, or with `one_phase` committed; its group of events ends."""

    one_phase: bool


@dataclass(frozen=True, slots=True)
class TransactionBegin:
    """A transaction begins and has this id.

    Attributes:
        gtid: None for one without an id (MySQL with gtid_mode=OFF).
        standalone: It is one single event, such as a DDL statement, and has no Xid (MariaDB).
    """

    gtid: Gtid | None
    standalone: bool = False


@dataclass(frozen=True, slots=True)
class GtidList:
    """The transactions before this place; of MariaDB the last of each domain and server, in the order they were done."""

    done: GtidSet
    listed: tuple[MariadbGtid, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """The text of the statement that the rows after it are of (binlog_annotate_row_events, binlog_rows_query_log_events)."""

    text: str


@dataclass(frozen=True, slots=True)
class TableMapped:
    """The rows after it with this number are of this table."""

    table_id: int
    table: TableMap


class Change(Enum):
    """What was done to rows."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one table that were changed by one statement.

    A row is a tuple of the values that are in the log: those of the columns in `before_columns` and `after_columns`, which are all
    columns of the table when binlog_row_image is FULL. Of an update, `before` and `after` have the same length and order.

    Attributes:
        change: What was done.
        table: The table as it was then.
        before: The rows as they were; empty for an insert.
        after: The rows as they are; empty for a delete.
        before_columns: Of which columns `before` has the values: indexes into the table's columns.
        after_columns: The same of `after`.
        ends_statement: Whether these are the last of their statement.
    """

    change: Change
    table: TableMap
    before: Sequence[Row]
    after: Sequence[Row]
    before_columns: tuple[int, ...]
    after_columns: tuple[int, ...]
    ends_statement: bool


@dataclass(frozen=True, slots=True)
class Incident:
    """The server says that changes may be missing from its log."""

    number: int
    message: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The server was shut down."""


@dataclass(frozen=True, slots=True)
class Other:
    """An event that says nothing of changes, such as a checkpoint of the log."""

    type: int


Event = (
    FormatDescription
    | Rotate
    | Heartbeat
    | Query
    | Xid
    | XaPrepare
    | TransactionBegin
    | GtidList
    | Statement
    | TableMapped
    | Rows
    | Incident
    | Stop
    | Other
)
