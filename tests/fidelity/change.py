"""A change as both say it, in the same words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import NamedTuple

from tests.servers.debezium import Event

Row = Mapping[str, object]


class Change(NamedTuple):
    """What happened to one row.

    Attributes:
        op: c, u, d, r or t, as in Debezium's envelope.
        table: Its name.
        key: The values of the key; None: the table has none.
        before: The row before it; None: there was none.
        after: The row after it; None: there is none.
        source: Where it stands in the log.
        transaction: The id of the transaction, and the number of the change in it, and of its table in it; None: not said.
    """

    op: str
    table: str
    key: Row | None
    before: Row | None
    after: Row | None
    source: Row
    transaction: tuple[str, int, int] | None


@dataclass(frozen=True)
class Both:
    """What both say of the same changes.

    Attributes:
        events: Debezium's, as they are.
        snapshot: The rows that it found at first.
        theirs: Its changes.
        ours: Our changes.
    """

    events: Sequence[Event]
    snapshot: Sequence[Change]
    theirs: Sequence[Change]
    ours: Sequence[Change]


def differences(theirs: Iterable[Change], ours: Iterable[Change]) -> list[tuple[int, str, object, object]]:
    """The first few fields in which they differ: the number of the change, the field, and what both say."""
    pairs = enumerate(zip_longest(theirs, ours))
    found = ((number, name, getattr(a, name, None), getattr(b, name, None)) for number, (a, b) in pairs for name in Change._fields)
    return list(islice((each for each in found if each[2] != each[3]), 5))


def values(changes: Iterable[Change], table: str, column: str) -> list[object]:
    """Of a column after each change of a table."""
    return [change.after[column] for change in changes if change.table == table and change.after is not None]
