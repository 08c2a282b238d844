"""Packed messages of one queue become records for a sink: a part for each message, its columns as they are in the message."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rocketconnect_sdk.columns.compact import Column
from rocketconnect_sdk.columns.rows import Rows, unpack, values_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.sink import SourceMark
from rocketconnect_sdk.stages import Stage
from rocketconnect_sdk.transforms.chain import Chain
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.message import PulledMessage
from rocketmq_remoting.protocol.properties import UNIQUE_KEY, decode_properties
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.errors.policy import RecordFailed
from services.executor.runtime.rocketmq.queue_names import text
from services.executor.runtime.rocketmq.source_marks import parse
from services.executor.runtime.sink.decode.decoder import Decoder, damaged
from services.executor.runtime.sink.decode.headers import headers_of
from services.executor.runtime.sink.decode.made import Made
from services.executor.runtime.sink.decode.origins import topic_of
from services.executor.runtime.sink.decode.part import BadRecord, Part
from services.executor.runtime.sink.decode.source_time import source_ms
from services.executor.runtime.sink.duplicates import behind, there_up_to


class RowsDecoder(Decoder):
    """Decodes for value.converter=arrow. A message is bad as a whole when it cannot be read, and row by row otherwise."""

    def decode(
        self,
        batch: DecodedBatch,
        kept: Sequence[int] | None,
        start: int,
        marks: Mapping[str, SourceMark],
        now: float,
        before: Mapping[str, SourceMark],
    ) -> list[Part]:
        """See Decoder."""
        del marks  # each part has those of its message
        queue, topic = text(batch.queue), topic_of(batch)
        seen = dict(before)
        parts: list[Part] = []
        for index in range(len(batch)) if kept is None else kept:
            part = self._part(batch, topic, index, seen, now)
            part.start = start
            seen.update(part.marks)
            parts.append(part)
            if part.error is not None:
                return parts
            start = part.until
        until = batch.offsets[-1] + 1
        if not parts:
            parts.append(self._empty(queue, topic, start, now))
        parts[-1].until, parts[-1].stored_ms = until, batch.store_timestamps_ms[-1]
        left_out = len(batch) - (len(batch) if kept is None else len(kept))
        parts[-1].duplicates += left_out
        parts[-1].read += left_out
        return parts

    def _empty(self, queue: str, topic: str, start: int, now: float) -> Part:
        array = self._wanted.array([], None) if self._wanted.array is not None else None
        return Part(queue, start, start, {}, SinkBatch(queue, topic, [], []), 0, 0, arrived=now, array=array, topic=topic)

    def _part(self, batch: DecodedBatch, topic: str, index: int, seen: Mapping[str, SourceMark], now: float) -> Part:
        """Of one message."""
        queue = text(batch.queue)
        offset, body, raw = batch.offsets[index], batch.bodies[index], batch.raw_properties[index]
        part = self._empty(queue, topic, offset, now)
        part.until, part.stored_ms, part.marks = offset + 1, batch.store_timestamps_ms[index], behind([raw])
        if offset in batch.damaged:
            return self._with_bad(part, [BadRecord(queue, offset, damaged(batch, offset, body), raw)], 1)
        try:
            whole = unpack(body)
        except RecordError as error:
            bad = [BadRecord(queue, offset, Failure.of_value(Stage.CONVERT, error, body, self._value), raw)]
            return self._with_bad(part, bad, 1)
        rows = _fresh(whole, raw, seen)
        part.duplicates, part.read = len(whole) - len(rows), len(whole)
        first = len(whole) - len(rows)
        made, bad = self._made(batch, topic, index, whole, rows)
        good = sorted(set(range(len(rows))) - {found.row - first for found in bad if found.row is not None} - made.dropped)
        goes_to = made.topics[good[0]] if made.topics is not None and good else topic
        records = made.batch(queue, goes_to, [offset] * len(rows), self._wanted)
        records.rows = range(first, len(whole))
        part.records = records if len(good) == len(rows) else records.take(good)
        part.records.size = len(body) * len(good) // len(whole)
        if good:
            part.first_ms, part.last_ms = (_source_ms(rows, place, batch[index]) for place in (good[0], good[-1]))
        if self._wanted.array is not None:
            values = part.records.values
            part.array = values.array if isinstance(values, Column) else self._wanted.array(values, part.records.schema)
        return self._with_bad(part, bad, part.read)

    def _made(self, batch: DecodedBatch, topic: str, index: int, whole: Rows, rows: Rows) -> tuple[Made, list[BadRecord]]:
        """What the rows of a message have become, and which of them are bad."""
        queue, offset, raw = text(batch.queue), batch.offsets[index], batch.raw_properties[index]
        first = len(whole) - len(rows)
        bad: list[BadRecord] = []
        values: Sequence[object] = Column(rows.values)
        if self._wanted.array is None or self._chain:
            values = values_of(rows)
            bad += [self._bad(queue, offset, raw, whole, first + i, v) for i, v in enumerate(values) if isinstance(v, RecordError)]
            values = values if bad else Column(rows.values)
        keys = self._keys(queue, offset, raw, whole, rows, bad)
        times = self._times(rows, batch.store_timestamps_ms[index])
        made = Made(values, rows.schema, keys, times, self._all_headers(rows, batch, index))
        if not self._chain:
            return made, bad
        failures = {record.row - first: record.failure for record in bad if record.row is not None}

        def original(row: int) -> bytes:
            return whole.alone(first + row).pack()

        made = _alike(self._transformed(made, topic, original, failures), original, failures)
        return made, [BadRecord(queue, offset, failure, raw, first + row) for row, failure in sorted(failures.items())]

    def _with_bad(self, part: Part, bad: Sequence[BadRecord], read: int) -> Part:
        """With its bad records, where they may be left out; otherwise nothing of the message, at which the task is to fail."""
        for record in bad:
            try:
                self._policy.check(record.failure, record.place, record.beyond)
            except RecordFailed as error:
                # Invariant 5: nothing of the message moves. Its position is before it.
                failing = self._empty(part.queue, part.topic, part.start, part.arrived)
                failing.error = error
                return failing
        part.bad, part.read = bad, read
        return part

    def _bad(self, queue: str, offset: int, raw: bytes, whole: Rows, row: int, error: Exception) -> BadRecord:
        original = whole.alone(row).pack()
        return BadRecord(queue, offset, Failure.of_value(Stage.CONVERT, error, original, self._value), raw, row)

    def _keys(self, queue: str, offset: int, raw: bytes, whole: Rows, rows: Rows, bad: list[BadRecord]) -> Sequence[object] | None:
        if rows.keys is None or not self._wanted.keys:
            return None
        keys: list[object] = []
        first = len(whole) - len(rows)
        without = {record.row for record in bad}
        for index, key in enumerate(rows.keys.to_pylist()):
            if first + index in without:
                keys.append(None)
                continue
            try:
                keys.append(None if key is None else self._key.decode(key)[0])
            except RecordError as error:
                bad.append(self._bad(queue, offset, raw, whole, first + index, error))
                keys.append(None)
        return keys

    def _times(self, rows: Rows, stored: int) -> Sequence[int] | None:
        if not self._wanted.timestamps:
            return None
        if rows.timestamps_ms is None:
            return [stored] * len(rows)
        times: list[int] = rows.timestamps_ms.fill_null(stored).to_pylist()
        return times

    def _all_headers(self, rows: Rows, batch: DecodedBatch, index: int) -> Sequence[Mapping[str, str]] | None:
        if not self._wanted.headers:
            return None
        if rows.headers is None and not self._wanted.may_have_headers(batch.raw_properties[index]) and not self._chain:
            return None
        properties: dict[str, Any] = dict(decode_properties(batch.raw_properties[index]))
        of_message = headers_of(properties, properties.get(UNIQUE_KEY) or batch[index].message_id)
        own = [()] * len(rows) if rows.headers is None else rows.headers.to_pylist()
        return [{**of_message, **dict(each or ())} for each in own]


def _alike(made: Made, original: Callable[[int], bytes], failures: dict[int, Failure]) -> Made:
    """With one schema and one topic: a message is written as a whole. Rows with another one are bad."""
    ranges = made.ranges(failures.keys() | made.dropped, len(made.values))
    schema = ranges[0][2] if ranges else None
    for first, last, other in ranges[1:]:
        why = "has another schema than the first one" if other != schema else "goes to another topic than the first one"
        error = RecordError(f"after the transforms this row of a packed message {why}: set value.converter=json, or filter")
        for row in range(first, last):
            if row not in failures and row not in made.dropped:
                failures[row] = Failure.of_value(Stage.TRANSFORM, error, original(row), Chain)
    return replace(made, schemas=schema)


def _fresh(rows: Rows, raw: bytes, seen: Mapping[str, SourceMark]) -> Rows:
    """The rows of a message that are not there yet.

    What a zombie sent and its successor cut otherwise overlaps: whole messages are told apart by their RCPOS (marks.select), rows
    here. Only where the offsets in the body are of the partition that RCPOS names: in a replay they are of another one.
    """
    place = parse(raw)
    mark = None if place is None or place.key != rows.source else seen.get(place.key)
    there = () if place is None else there_up_to(mark, place.epoch, place.incarnation)
    return rows.above(there) if there else rows


def _source_ms(rows: Rows, place: int, message: PulledMessage) -> int | None:
    """The source's time of a row: its own, where rows have one."""
    if rows.timestamps_ms is None:
        return source_ms(message)
    own: int | None = rows.timestamps_ms[place].as_py()
    return own
