"""Records of a source become packed messages: many rows in each, of one source partition and for one queue."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import overload

import pyarrow as pa

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.rows import HEADERS, Rows, array_of, offsets_of, unpack
from rocketconnect_sdk.errors import PermanentError, RecordError
from rocketconnect_sdk.record import Rejected, SourceBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.stages import Stage
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.rocketmq.properties import extras_of
from services.executor.runtime.rocketmq.queue_map import by_topic
from services.executor.runtime.source.encode import Encoded, Encoder, keys_of
from services.executor.runtime.source.pieces import Piece, ReadBatch, too_large


class RowsEncoder(Encoder):
    """Encodes for value.converter=arrow. The RCPOS of a message says the offset of its last row; each row has its own in the body.

    A record that cannot be packed is left out by itself, as any other. What is in its queue already is trimmed row by row.
    """

    def encode(self, batch: SourceBatch, read_at: float) -> Encoded:
        """See Encoder."""
        if batch.properties is not None:
            msg = "this source sends whole messages, which cannot be packed: set value.converter=bytes"
            raise PermanentError(msg)
        target = self._target
        failures: dict[int, Failure] = {}
        if not len(batch):
            return Encoded(self._read(batch, 0, read_at), [], failures)
        rows, keys = self._rows(batch, failures)
        count, error = self._bad(batch, failures)
        encoded = Encoded(self._read(batch, count, read_at), [], failures, error, count)
        for topic, of_topic in by_topic(batch.topics, count, failures, target.topic) if count else ():
            kept = range(count) if of_topic is None else of_topic
            if not kept:
                continue
            first = batch.offsets[kept[0]]
            for queue, dealt in self._deal(topic, batch, keys and [keys[index] for index in kept], first).items():
                indexes = kept if dealt is None else [kept[index] for index in dealt]
                if indexes:
                    mine = rows.slice(0, count) if isinstance(indexes, range) else rows.take(indexes)
                    encoded.pieces += self._pieces_of(encoded, queue, mine)
        extras = extras_of(batch, keys)[0] if failures and target.policy.dead_letter_topic else None
        encoded.pieces += self._letters(encoded, batch, extras)
        encoded.batch.open_pieces = len(encoded.pieces)
        return encoded

    def halves(self, piece: Piece) -> Sequence[Piece]:
        """See Encoder."""
        if piece.records < 2 or piece.dead:
            return ()
        (body,) = piece.bodies
        return [self._piece(piece.batch, piece.queue, half) for half in _halves(unpack(body))]

    def _pieces_of(self, encoded: Encoded, queue: MessageQueue, rows: Rows) -> Iterator[Piece]:
        partition = encoded.batch.partition
        # Invariant 1: rows that an earlier owner has sent are there and are not sent again, however it cut them.
        fresh = rows.above(self._found.mark(queue, self.key(partition), self._incarnation(partition)))
        encoded.duplicates += len(rows) - len(fresh)
        if len(fresh):
            step = ceil(len(fresh) / ceil(fresh.size / self._target.batch_bytes))
            for start in range(0, len(fresh), step):
                yield from self._fitting(encoded.batch, queue, fresh.slice(start, start + step))

    def _fitting(self, batch: ReadBatch, queue: MessageQueue, rows: Rows) -> list[Piece]:
        piece = self._piece(batch, queue, rows)
        if len(piece.bodies[0]) <= self._target.record_bytes or len(rows) == 1:
            return [piece]
        return [small for half in _halves(rows) for small in self._fitting(batch, queue, half)]

    def _piece(self, batch: ReadBatch, queue: MessageQueue, rows: Rows) -> Piece:
        key, stamper = self._stamper(batch.partition)
        last = [rows.last]
        incarnation = self._incarnation(batch.partition)
        # A message of one row becomes a dead letter when no broker takes it.
        body = (rows.alone(0) if len(rows) == 1 else rows).pack()
        return Piece(batch, queue, key, incarnation, last, [body], stamper.stamp(last), rows=[len(rows)])

    def _rows(self, batch: SourceBatch, failures: dict[int, Failure]) -> tuple[Rows, list[bytes | None] | None]:
        """All of a batch, with null in the place of those that are added to the failures; and the bytes of their keys."""
        target = self._target
        values, schema = self._values(batch, failures)
        rows = Rows(values, schema, offsets_of(batch.offsets), self.key(batch.partition))
        if batch.timestamps_ms is not None:
            rows = replace(rows, timestamps_ms=pa.array(batch.timestamps_ms, pa.int64()))
        if batch.headers is not None:
            rows = replace(rows, headers=_headers(batch.headers, _Bodies(rows), failures))
        keys = keys_of(target, batch, _Bodies(rows), failures)
        if keys is not None:
            rows = replace(rows, keys=pa.array(keys, pa.binary()))
        for index in _larger(rows, 0, target.record_bytes):
            failures.setdefault(index, too_large(rows.alone(index).pack(), target.record_bytes, RowsEncoder))
        return rows, keys

    def _values(self, batch: SourceBatch, failures: dict[int, Failure]) -> tuple[pa.Array, Schema]:
        values, schema = batch.values, batch.schema
        if not isinstance(values, Column):
            for index, value in enumerate(values):
                if isinstance(value, Rejected):
                    failures[index] = Failure.of_rejected(value, self._target.source)
                elif isinstance(value, Failure):
                    failures[index] = value
            values = [None if index in failures else value for index, value in enumerate(values)] if failures else values
        try:
            return array_of(values, schema)
        except RecordError:
            # At least one is bad: found below, one by one.
            pass
        kept: list[object] = []
        for index, value in enumerate(values):
            try:
                array_of([value], schema)
                kept.append(value)
            except RecordError as error:
                failures[index] = Failure.of_value(Stage.CONVERT, error, value, self._target.value, schema)
                kept.append(None)
        return array_of(kept, schema if len(failures) < len(kept) else None)


class _Bodies(Sequence[bytes]):
    """Of each row a message with it alone, made when it is asked for."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> "_Bodies": ...
    def __getitem__(self, index: int | slice) -> "bytes | _Bodies":
        if isinstance(index, slice):
            return _Bodies(self._rows.slice(*index.indices(len(self))[:2]))
        return self._rows.alone(index).pack()


def _headers(headers: Sequence[Mapping[str, str]], bodies: Sequence[bytes], failures: dict[int, Failure]) -> pa.Array:
    found = []
    for index, each in enumerate(headers):
        try:
            found.append(pa.scalar(list(each.items()), HEADERS))
        except (pa.ArrowException, ValueError, TypeError) as error:
            failures.setdefault(index, Failure.of_value(Stage.CONVERT, error, bodies[index], RowsEncoder))
            found.append(pa.scalar([], HEADERS))
    return pa.array(found, HEADERS)


def _larger(rows: Rows, start: int, limit: int) -> Iterator[int]:
    """The rows of which none fits into a message; what the schema takes is within the other half."""
    if rows.size > limit // 2:
        if len(rows) == 1:
            if len(rows.pack()) > limit:
                yield start
            return
        first, second = _halves(rows)
        yield from _larger(first, start, limit)
        yield from _larger(second, start + len(first), limit)


def _halves(rows: Rows) -> tuple[Rows, Rows]:
    middle = len(rows) // 2
    return rows.slice(0, middle), rows.slice(middle, len(rows))
