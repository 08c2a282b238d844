"""Batches of the changes of one table."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeVar

from rocketconnect_sdk.changes.envelope import Operation, Origin, key_of
from rocketconnect_sdk.changes.form import ChangeForm
from rocketconnect_sdk.changes.gathered import Block, Change, Columns, Made, Row, columns_of, joined
from rocketconnect_sdk.changes.masks import TableMasks
from rocketconnect_sdk.changes.unfit import Fitting, Unfit
from rocketconnect_sdk.changes.values import ChangeValues
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import Offset, SourceBatch
from rocketconnect_sdk.schema import Schema

T = TypeVar("T")

_AGAIN = (1,)
"""Behind the offset of the second record that a change becomes, and of the third one."""

FEW = 200
"""Of fewer rows to make columns at once takes as long as to read them one by one."""


class Transaction(NamedTuple):
    """Where a change stands in its transaction.

    Attributes:
        id: The name of the transaction.
        total_order: The number of the change among all of them, from 1 on.
        data_collection_order: Among those of its table, from 1 on.
    """

    id: str
    total_order: int
    data_collection_order: int


_Gathered = tuple[Operation, Row | None, Row | None, Row | None, Offset, int, Row, Row | None, Sequence[str], bool]
"""A Change as it is held: a plain tuple, which is made several times as fast."""
_OFFSET: Final = 4
"""Where the offset stands in it."""


class TableChanges:
    """Gathers changes of a table whose columns stay the same, and makes batches of them. Used by one thread.

    A change of a key becomes two records, the deletion of the old row and the creation of the new one, so that whoever reads by
    key sees both; without a key it is an update.

    Args:
        form: What is sent.
        origin: The table.
        columns: Its columns, a struct.
        key: The names of the columns of its key; empty: it has none.
        source: What the kind of database adds to the field source: a struct.
        partition: The source partition.
        topic: Where the records go.
        behind: What is not behind this offset is left out; empty: nothing is.
        columnar: Values are held as columns; see TaskContext.columns.
        snapshot: What source.snapshot says of rows that are read: "true", "incremental".
        masks: Of its columns.
        nullable_key: The columns of the key may be null, as they are not those of a primary key.
        unfit: By column what becomes of values of rows after a change that its type lacks; empty: the error policy decides.
        clock: Milliseconds since 1970.
    """

    def __init__(
        self,
        form: ChangeForm,
        origin: Origin,
        columns: Schema,
        key: Sequence[str],
        source: Schema,
        *,
        partition: str,
        topic: str,
        behind: Offset = (),
        columnar: bool = True,
        snapshot: str = "true",
        masks: TableMasks | None = None,
        nullable_key: bool = False,
        unfit: Sequence[Unfit] = (),
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._key_places = _places(columns, key)
        self._of_key = getter(columns, key)
        self._masks = masks or TableMasks()
        self._key_masks = self._masks.of(self._key_places)
        columns = self._masks.schema(columns)
        self.partition = partition
        self.columns = columns
        self.key_schema = key_of(origin, columns, key, nullable=nullable_key)
        self._form = form
        self._topic = topic
        self._behind = behind
        self._columnar = columnar
        self._values = ChangeValues(
            origin,
            columns,
            source,
            self.key_schema,
            enveloped=form.envelope,
            columnar=columnar,
            snapshot=snapshot,
            clock=clock,
            fitting=Fitting(columns, self._key_places, unfit),
        )
        self.schema = self._values.schema
        self._made: list[Made] = []
        self._changes: list[_Gathered] = []
        self._blocks: list[Block] = []
        self._unread = 0
        """How many changes the blocks have."""

    def __len__(self) -> int:
        """How many records a batch of all that was added would have; a few more where a key changes in rows that are not read."""
        return sum(len(made.values) for made in self._made) + len(self._changes) + self._unread

    def key(self, values: Row) -> Row | None:
        """The key of a row; None: the table has none."""
        return None if self._of_key is None else self._of_key(values)

    def add(
        self,
        operation: Operation,
        before: Row | None,
        after: Row | None,
        *,
        offset: Offset,
        ts_ms: int,
        source: Row = (),
        transaction: Transaction | None = None,
        unchanged: Sequence[str] = (),
    ) -> None:
        """Adds a change.

        Args:
            operation: What happened.
            before: The row before it, None in the place of what is not known of it.
            after: The row after it.
            offset: Just behind it. See SourceBatch.
            ts_ms: When it was made, in milliseconds since 1970.
            source: The values of what the kind of database adds to the field source.
            transaction: Of which it is a part.
            unchanged: The columns of `after` whose values are not known, since they did not change.
        """
        if offset + _AGAIN + _AGAIN <= self._behind:
            return
        self._end_blocks()
        of_key = self._of_key
        image = before if after is None else after
        key = None if of_key is None or image is None else of_key(image)
        change = (operation, before, after, key, offset, ts_ms, source, transaction, unchanged, False)
        if operation is Operation.DELETE:
            self._delete(change)
        elif operation is Operation.UPDATE and before is not None and of_key is not None and (old := of_key(before)) != key:
            parts = Change._make(change)
            self._delete(parts._replace(operation=Operation.DELETE, after=None, key=old, unchanged=()))
            self._put(parts._replace(operation=Operation.CREATE, before=None, offset=offset + _AGAIN + _AGAIN))
        else:
            self._put(change)

    def extend(
        self,
        operation: Operation,
        before: Sequence[Row] | None,
        after: Sequence[Row] | None,
        *,
        offsets: Sequence[Offset],
        ts_ms: int,
        sources: Sequence[Row],
        transactions: Sequence[Row | None],
        unchanged: Sequence[str] = (),
    ) -> None:
        """Adds changes that are alike: the same as `add` for each, and many times as fast.

        Args:
            operation: What happened to all of the rows.
            before: The rows before it; None: nothing is known of any. Of Images columns are made at once, where that can be.
            after: The rows after it; None: there are none.
            offsets: Just behind each.
            ts_ms: When they were made.
            sources: For each the values of what the kind of database adds to the field source.
            transactions: For each a Transaction, or its values.
            unchanged: See add; the same for all of them.
        """
        if not offsets:
            return
        block = Block(operation, before, after, offsets, ts_ms, sources, transactions, unchanged)
        is_plain = offsets[0] > self._behind and not (operation is Operation.DELETE and self._sends_tombstones)
        if is_plain and self._columnar and self.columns.fields and self._has_same_reader(before, after):
            if self._changes and len(offsets) >= FEW:
                self._made.append(self._make())
            if not self._changes:
                self._blocks.append(block)
                self._unread += len(offsets)
                return
        self._end_blocks()
        self._extend(block, is_plain=is_plain)

    def _extend(self, block: Block, *, is_plain: bool = True) -> None:
        """Reads the rows of a block."""
        operation, before, after, offsets, ts_ms, sources, transactions, unchanged = block
        before, after = (None if images is None else list(images) for images in (before, after))
        keys = self._keys(before if after is None else after, len(offsets))
        if is_plain and (operation is not Operation.UPDATE or before is None or self._keys(before, len(offsets)) == keys):
            rows = (repeat(None) if images is None else images for images in (before, after))
            more = (keys, offsets, repeat(ts_ms), sources, transactions, repeat(unchanged), repeat(False))
            self._changes += zip(repeat(operation), *rows, *more)
            return
        befores, afters = ([None] * len(offsets) if images is None else images for images in (before, after))
        for old, new, offset, source, transaction in zip(befores, afters, offsets, sources, transactions, strict=True):
            made = None if transaction is None else Transaction._make(transaction)
            self.add(operation, old, new, offset=offset, ts_ms=ts_ms, source=source, transaction=made, unchanged=unchanged)

    def _has_same_reader(self, before: Sequence[Row] | None, after: Sequence[Row] | None) -> bool:
        """Whether columns can be made of images and of those of all blocks at once."""
        first = self._blocks[0] if self._blocks else None
        known = () if first is None else (first.before, first.after)
        readers = {getattr(images, "reader", None) for images in (before, after, *known) if images is not None}
        return len(readers) == 1 and None not in readers

    def _end_blocks(self) -> None:
        """What comes behind the blocks is none: columns are made of many, and few are read."""
        if self._unread >= FEW:
            self._made.append(self._make())
        else:
            self._read_blocks()

    def _read_blocks(self) -> None:
        if self._blocks:
            blocks, self._blocks, self._unread = self._blocks, [], 0
            for block in blocks:
                self._extend(block)

    def reads(self, rows: Any, offsets: Sequence[Offset], *, ts_ms: int, source: Row = ()) -> SourceBatch:
        """Rows of a snapshot.

        Args:
            rows: A struct array of the columns, or a record batch of them, in the types of rocketconnect_sdk.columns.arrow_types.
            offsets: Of each.
            ts_ms: When the snapshot was taken.
            source: As in add, for all of them.
        """
        if self._masks:
            from rocketconnect_sdk.changes import arrays

            rows = arrays.masked(rows, self._masks)
        count = len(offsets)
        values, keys = self._values.reads(rows, count, ts_ms, source)
        headers = self._values.headers_of_reads(count)
        if self._columnar:
            return self._batch(values, offsets, keys, [ts_ms] * count, headers, rows.nbytes)
        return self._batch(list(values), offsets, None if keys is None else list(keys), [ts_ms] * count, headers, rows.nbytes)

    def take(self) -> SourceBatch:
        """What was added, in its order; it is then forgotten. At least one change was."""
        parts, self._made = self._made, []
        if len(self):
            parts.append(self._make())
        columns, values, keys = parts[0] if len(parts) == 1 else joined(parts)
        return self._batch(
            values,
            columns.offsets,
            keys,
            columns.times,
            self._values.headers(columns.operations, columns.unchanged),
            0,
        )

    def _make(self) -> Made:
        """What was added and is not made yet, which is then forgotten."""
        made = self._make_of_blocks() if self._unread >= FEW else None
        if made is not None:
            return made
        self._read_blocks()
        changes, self._changes = self._changes, []
        columns = Columns._make(map(list, zip(*changes, strict=True)))
        if self._masks:
            before, after = map(self._masks.rows, (columns.before, columns.after))
            columns = columns._replace(before=before, after=after, keys=self._key_masks.rows(columns.keys))
        return Made(columns, *self._values.values(columns))

    def _make_of_blocks(self) -> Made | None:
        """Of all blocks; None: their rows are to be read one by one."""
        from rocketconnect_sdk.changes import images

        blocks = self._blocks
        counts = [len(block.offsets) for block in blocks]
        sides = [block.before for block in blocks], [block.after for block in blocks]
        try:
            before, after = (
                images.structs(schema, side, counts, self._masks)
                for schema, side in zip(self._values.image_schemas, sides, strict=True)
            )
            keys = None if self.key_schema is None else images.keys(self.key_schema, before, after)
            if keys is None and self.key_schema is not None:
                return None
            columns = columns_of(blocks, counts)
            values = self._values.of_images(before, after, columns)
        except RecordError:
            return None
        self._blocks, self._unread = [], 0
        return Made(columns, values, keys)

    def _keys(self, images: Sequence[Row] | None, count: int) -> Sequence[Row | None]:
        """Of so many rows."""
        if not self._key_places or images is None:
            return [None] * count
        return list(zip(*(map(itemgetter(place), images) for place in self._key_places), strict=True))

    @property
    def _sends_tombstones(self) -> bool:
        return self._form.envelope and self._form.tombstones

    def _delete(self, change: _Gathered) -> None:
        self._put(change)
        if self._sends_tombstones:
            parts = Change._make(change)
            self._put(parts._replace(tombstone=True, offset=parts.offset + _AGAIN))

    def _put(self, change: _Gathered) -> None:
        if change[_OFFSET] > self._behind:
            self._changes.append(change)

    def _batch(
        self,
        values: Sequence[object],
        offsets: Sequence[Offset],
        keys: Sequence[object] | None,
        times: Sequence[int],
        headers: Sequence[Mapping[str, str]] | None,
        size: int,
    ) -> SourceBatch:
        return SourceBatch(
            self.partition,
            values,
            offsets,
            keys,
            times,
            headers,
            [self._topic] * len(offsets),
            self.schema,
            self.key_schema,
            size,
        )


def _places(columns: Schema, names: Sequence[str]) -> list[int]:
    all_names = [field.name for field in columns.fields]
    return [all_names.index(name) for name in names]


def getter(columns: Schema, names: Sequence[str]) -> Callable[[Row], Row] | None:
    """Gives the values of the columns of these names of a row; None: there are no names."""
    places = _places(columns, names)
    if not places:
        return None
    if len(places) == 1:
        (place,) = places
        return lambda values: (values[place],)
    return itemgetter(*places)
