"""What messages say. Numbers called lsn are places in the log; times are microseconds since 1970, in UTC."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from connectors.postgres_cdc_source.logical.types import PgType
from connectors.postgres_cdc_source.logical.wire.rows import Read, Row, quick_reader
from connectors.postgres_cdc_source.logical.wire.tuples import Tuples
from rocketconnect_sdk.schema import Schema, struct


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation.

    Attributes:
        name: Its name.
        in_key: It is part of the replica identity; with identity "f" each is.
        oid: Of its type.
        modifier: Of its type; -1: none.
        type: What its values are.
    """

    name: str
    in_key: bool
    oid: int
    modifier: int
    type: PgType


@dataclass(frozen=True)
class Relation:
    """A table as it is at a place in the log. Comes before its first change, and again when it was altered.

    Attributes:
        lsn: Where.
        xid: Of a transaction that is streamed while in progress; otherwise 0, here and below.
        oid: Of the table.
        namespace: Its schema in PostgreSQL's sense.
        name: Its name.
        identity: What old rows have: "d" the primary key, "n" nothing, "f" all columns, "i" those of an index.
        columns: Those that are published.
    """

    lsn: int
    xid: int
    oid: int
    namespace: str
    name: str
    identity: str
    columns: tuple[Column, ...]
    read: Read = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the code that reads rows, or take that of other relations with the same types."""
        object.__setattr__(self, "read", quick_reader(tuple(column.type for column in self.columns)))

    @cached_property
    def schema(self) -> Schema:
        """Of rows: a struct of the columns."""
        fields = [(column.name, column.type.schema) for column in self.columns]
        return struct(fields, name=f"{self.namespace}.{self.name}")

    @cached_property
    def key(self) -> tuple[int, ...]:
        """The columns of the replica identity, by number."""
        return tuple(number for number, column in enumerate(self.columns) if column.in_key)


class Begin(NamedTuple):
    """A transaction begins. All its changes follow, then Commit; nothing of others is in between."""

    lsn: int
    xid: int
    commit_lsn: int
    time_us: int


class Commit(NamedTuple):
    """It is over. `end_lsn` is what to confirm, and where to go on."""

    lsn: int
    commit_lsn: int
    end_lsn: int
    time_us: int


class Origin(NamedTuple):
    """The transaction came by replication from elsewhere."""

    lsn: int
    commit_lsn: int
    name: str


class NamedType(NamedTuple):
    """The name of a type that is not built in; of a domain that of the type it is over."""

    lsn: int
    xid: int
    oid: int
    namespace: str
    name: str


class Insert(NamedTuple):
    """A new row."""

    lsn: int
    xid: int
    relation: Relation
    new: Row


class Update(NamedTuple):
    """A changed row.

    Attributes:
        lsn: Where.
        xid: See Relation.
        relation: Its table.
        new: The row after it. Large values that did not change are Missing.UNCHANGED, unless `old` has them.
        old: The row before it, all of it or its key with Missing.ABSENT elsewhere; None: the key did not change, or there is none.
    """

    lsn: int
    xid: int
    relation: Relation
    new: Row
    old: Row | None


class Delete(NamedTuple):
    """A row is gone. `old` is all of it or its key, with Missing.ABSENT elsewhere."""

    lsn: int
    xid: int
    relation: Relation
    old: Row


class Truncate(NamedTuple):
    """Tables lost all rows at once."""

    lsn: int
    xid: int
    relations: tuple[Relation, ...]
    cascade: bool
    restart_identity: bool


class Message(NamedTuple):
    """What pg_logical_emit_message wrote. Not transactional: it stands between transactions, or within one of others."""

    lsn: int
    xid: int
    transactional: bool
    prefix: str
    content: bytes


class StreamStart(NamedTuple):
    """Changes of a transaction in progress follow, up to StreamStop; further parts may come later."""

    lsn: int
    xid: int
    first: bool


class StreamStop(NamedTuple):
    """The end of such a part."""

    lsn: int


class StreamCommit(NamedTuple):
    """A transaction that was streamed is over."""

    lsn: int
    xid: int
    commit_lsn: int
    end_lsn: int
    time_us: int


class StreamAbort(NamedTuple):
    """What was streamed of a subtransaction, or of all of it when both numbers are the same, never was."""

    lsn: int
    xid: int
    subtransaction: int


class Found(NamedTuple):
    """Some rows of messages, from one number to another."""

    tuples: Tuples
    begin: int
    end: int


class Rows(NamedTuple):
    """Changes that are alike and follow each other; each row has nothing but nulls and texts.

    Attributes:
        kind: What happened to all of the rows.
        relation: Their table.
        lsns: Of each.
        old: The rows before it, with nulls for what is not part of the key where they are keys; None: nothing is known of any.
        new: The rows after it; None: there are none.
    """

    kind: type[Insert | Update | Delete]
    relation: Relation
    lsns: list[int]
    old: Found | None
    new: Found | None


Change = Insert | Update | Delete | Truncate
Event = (
    Begin | Commit | Origin | Relation | NamedType | Change | Message | StreamStart | StreamStop | StreamCommit | StreamAbort
)  # fmt: skip
