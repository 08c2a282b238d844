"""Changes of a table while they are gathered for a batch."""

from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple, TypeVar

from rocketconnect_sdk.changes.envelope import Operation
from rocketconnect_sdk.columns.compact import concatenated
from rocketconnect_sdk.record import Offset

T = TypeVar("T")

Row = Sequence[Any]
"""The values of a row, in the order of the columns of its table; of other types than theirs: what is no value of the column, which
goes by the error policy."""


class Change(NamedTuple):
    """One change, as `add` was given it, and what is made of it."""

    operation: Operation
    before: Row | None
    after: Row | None
    key: Row | None
    offset: Offset
    ts_ms: int
    source: Row
    transaction: Row | None
    unchanged: Sequence[str]
    tombstone: bool = False


class Columns(NamedTuple):
    """What changes have, of all of them."""

    operations: Sequence[Operation]
    before: Sequence[Row | None]
    after: Sequence[Row | None]
    keys: Sequence[Row | None]
    offsets: Sequence[Offset]
    times: Sequence[int]
    sources: Sequence[Row]
    transactions: Sequence[Row | None]
    unchanged: Sequence[Sequence[str]]
    tombstones: Sequence[bool]


class Block(NamedTuple):
    """Changes that are alike, whose rows are not read yet: what `extend` was given."""

    operation: Operation
    before: Sequence[Row] | None
    after: Sequence[Row] | None
    offsets: Sequence[Offset]
    ts_ms: int
    sources: Sequence[Row]
    transactions: Sequence[Row | None]
    unchanged: Sequence[str]


class Made(NamedTuple):
    """Changes with the values and keys that records of them have."""

    columns: Columns
    values: Sequence[object]
    keys: Sequence[object] | None


def joined(parts: Sequence[Made]) -> Made:
    """All of them as one."""
    columns = Columns._make(list(chain.from_iterable(each)) for each in zip(*(part.columns for part in parts), strict=True))
    keys = [part.keys for part in parts if part.keys is not None]
    return Made(columns, concatenated([part.values for part in parts]), concatenated(keys) if keys else None)


def columns_of(blocks: Sequence[Block], counts: Sequence[int]) -> Columns:
    """What changes have besides their rows and keys."""

    def each(values: Iterable[T]) -> list[T]:
        """One of each block, for all of its changes."""
        return list(chain.from_iterable(map(repeat, values, counts)))

    return Columns(
        operations=each(block.operation for block in blocks),
        before=(),
        after=(),
        keys=(),
        offsets=list(chain.from_iterable(block.offsets for block in blocks)),
        times=each(block.ts_ms for block in blocks),
        sources=list(chain.from_iterable(block.sources for block in blocks)),
        transactions=list(chain.from_iterable(block.transactions for block in blocks)),
        unchanged=each(block.unchanged for block in blocks),
        tombstones=[False] * sum(counts),
    )
