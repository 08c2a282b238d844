"""Messages of one queue become records for a sink. Pure, apart from the converters' own work."""

import base64
import binascii
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeVar

from rocketconnect_sdk.columns.compact import Column, picked
from rocketconnect_sdk.columns.rows import is_packed
from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import SourceMark
from rocketconnect_sdk.stages import Stage
from rocketconnect_sdk.transforms.base import Record, Records, one_by_one
from rocketconnect_sdk.transforms.chain import Chain
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.numbered import NumberedProperties
from rocketmq_remoting.protocol.properties import UNIQUE_KEY, decode_properties
from services.executor.runtime.errors.failure import Failure
from services.executor.runtime.errors.policy import ErrorPolicy, RecordFailed
from services.executor.runtime.rocketmq.properties import KEY_BASE64, TIMESTAMP, TOMBSTONE
from services.executor.runtime.rocketmq.queue_names import text
from services.executor.runtime.sink.decode.headers import headers_of
from services.executor.runtime.sink.decode.made import Made
from services.executor.runtime.sink.decode.origins import topic_of
from services.executor.runtime.sink.decode.part import DecodeSettings, Part
from services.executor.runtime.sink.decode.source_time import source_ms
from services.executor.runtime.sink.decode.taken import Taken, whole_messages
from services.executor.runtime.sink.duplicates import behind
from services.executor.runtime.transforms import failure_of

T = TypeVar("T")

_PACKED = RecordError(
    "the message holds rows that value.converter=arrow packed, which no other converter reads: set value.converter=arrow here, too"
)
"""What a converter says of such bytes itself leads nobody to them."""


class Decoder:
    """Decodes what a sink task pulls; used by one thread."""

    def __init__(self, key: Converter, value: Converter, policy: ErrorPolicy, wanted: DecodeSettings, chain: Chain) -> None:
        self._key = key
        self._value = value
        self._policy = policy
        self._wanted = wanted
        self._chain = chain
        # What transforms may look at, and what the columns of JSON are only after them.
        self._looked_at = (
            replace(wanted, keys=True, timestamps=True, headers=True, header_names=(), rows_as=None) if chain else wanted
        )

    def decode(
        self,
        batch: DecodedBatch,
        kept: Sequence[int] | None,
        start: int,
        marks: Mapping[str, SourceMark],
        now: float,
        before: Mapping[str, SourceMark],
    ) -> list[Part]:
        """The parts of a pulled batch: one, unless the schema changes in it.

        Args:
            batch: At least one message; all of one topic (see by_topic).
            kept: The indexes of those that are no duplicates; None: all.
            start: The queue offset at which its range begins.
            marks: That move with it.
            now: Monotonic time.
            before: The marks before the batch.

        Raises:
            SystemAway, RetriableError: a converter or transform needs a system that does not answer; the same again later.
            PermanentError: of a converter or transform.
        """
        del before
        queue, topic = text(batch.queue), topic_of(batch)
        messages = range(len(batch)) if kept is None else kept
        taken = self._take(batch, messages)
        made, bad, offsets = taken.made, taken.bad, taken.offsets
        if self._chain:
            made = self._transformed(made, topic, taken.bodies.__getitem__, bad)
            if taken.rows is not None:
                made = whole_messages(made, taken)
        arrays = self._arrays(made, taken.bodies, bad)
        error = self._first_error(queue, taken)
        stop, until = len(offsets), batch.offsets[-1] + 1
        if error is not None:
            # Invariant 5: nothing behind the bad record moves, and nothing of its message.
            until = offsets[min(bad)]
            stop = bisect_left(offsets, until)
            bad = {}
        parts = []
        whole = made.batch(queue, topic, offsets, self._wanted)
        whole.rows = taken.rows
        left_out = bad.keys() | made.dropped
        for first, last, schema in taken.at_messages(made.ranges(left_out, stop)):
            good = [i for i in range(first, last) if i not in left_out] if left_out else range(first, last)
            goes_to = topic if made.topics is None or not good else made.topics[good[0]]
            records = replace(whole.take(good), topic=goes_to, schema=schema, size=taken.size(good))
            failed = [taken.bad_record(queue, i, bad[i]) for i in range(first, last) if i in bad]
            dropped = sum(first <= i < last for i in made.dropped)
            part = Part(queue, start, until, {}, records, len(records) + len(failed) + dropped, 0, failed, now, topic=topic)
            if good:
                part.first_ms, part.last_ms = (source_ms(batch[taken.indexes[i]]) for i in (good[0], good[-1]))
            if self._wanted.array is not None:
                part.array = arrays.get((first, last)) or self._wanted.array(records.values, schema)
            parts.append(part)
        if not parts:
            nothing = SinkBatch(queue, topic, [], [])
            empty = self._wanted.array([], None) if self._wanted.array is not None else None
            parts.append(Part(queue, start, until, {}, nothing, 0, 0, arrived=now, array=empty, topic=topic))
        for part, following in pairwise(parts):
            part.until = following.start = _first_offset(following)
        for part in parts:
            part.stored_ms = _stored_before(batch, part.until)
        last_part = parts[-1]
        last_part.error = error
        if error is not None or len(parts) > 1:
            # A position and its marks belong together: what is a double now is one after a restart between two parts, too.
            ours, raws = _some(batch.offsets, messages), _some(batch.raw_properties, messages)
            for part in parts:
                part.marks = behind(raws[bisect_left(ours, part.start) : bisect_left(ours, part.until)])
        if error is None:
            last_part.marks = marks
            last_part.duplicates = len(batch) - len(messages)
            last_part.read += last_part.duplicates
        return parts

    def _take(self, batch: DecodedBatch, messages: Sequence[int]) -> Taken:
        """The records of some messages of a batch, before the transforms."""
        bodies, raws = _some(batch.bodies, messages), _some(batch.raw_properties, messages)
        offsets, times = _some(batch.offsets, messages), _some(batch.store_timestamps_ms, messages)
        columns = self._columns(raws, times, lambda index: batch[messages[index]].message_id)
        bad: dict[int, Failure] = columns.bad
        if batch.damaged:
            bad.update(_damaged(batch, offsets, bodies))
        values, schemas = self._values(bodies, columns.tombstones, bad)
        return Taken(messages, bodies, raws, offsets, Made(values, schemas, columns.keys, columns.times, columns.headers), bad)

    def _values(
        self, bodies: Sequence[bytes], tombstones: frozenset[int], bad: dict[int, Failure]
    ) -> tuple[Sequence[object], Sequence[Schema | None] | Schema | None]:
        """The values, and either the schema of all or that of each."""
        if not tombstones and not bad:
            rows = None if self._looked_at.rows_as is None else self._value.decode_rows(bodies, self._looked_at.rows_as)
            if rows is not None:
                return Column(rows), None
            try:
                return self._value.decode_many(bodies)
            except RecordError:
                # Some are bad, or schemas differ: found below, one by one.
                pass
        values: list[object] = []
        schemas: list[Schema | None] = []
        for index, body in enumerate(bodies):
            value, schema = None, schemas[-1] if schemas else None
            if index not in tombstones and index not in bad:
                try:
                    value, schema = self._value.decode(body)
                except RecordError as error:
                    bad[index] = Failure.of_value(Stage.CONVERT, _PACKED if is_packed(body) else error, body, self._value)
            values.append(value)
            schemas.append(schema)
        return values, schemas

    def _transformed(self, made: "Made", topic: str, original: Callable[[int], bytes], bad: dict[int, Failure]) -> "Made":
        """What has become of those that are not bad; those that could not be changed are added to these.

        Args:
            made: Before the transforms.
            topic: Where they come from.
            original: The bytes that a dead letter of one keeps.
            bad: By index.
        """
        count = len(made.values)
        runs: list[Records] = []
        for first, last, schema in made.ranges(bad.keys(), count):
            good = [i for i in range(first, last) if i not in bad] if bad else range(first, last)
            columns = [None if column is None else picked(column, good) for column in (made.keys, made.times, made.headers)]
            done = self._chain.run(Records(picked(made.values, good), good, topic, schema, None, *columns))
            bad.update({index: failure_of(failed, original(index)) for index, failed in done.failed.items()})
            runs += done.runs
        if len(runs) == 1 and len(runs[0]) == count:
            (run,) = runs
            topics = run.topics or ([run.topic] * count if run.topic != topic else None)
            return Made(run.values, run.schema, run.keys, run.timestamps_ms, run.headers, topics)
        return _scattered(runs, count, bad)

    def _arrays(self, made: "Made", bodies: Sequence[bytes], bad: dict[int, Failure]) -> dict[tuple[int, int], object]:
        """Arrays of ranges without bad and dropped records; values that their schema does not allow are added to the bad ones."""
        make = self._wanted.array
        found: dict[tuple[int, int], object] = {}
        if make is None:
            return found
        for first, last, schema in made.ranges(bad.keys() | made.dropped, len(bodies)):
            try:
                found[first, last] = make(made.values[first:last], schema)
            except RecordError:
                for index in range(first, last):
                    try:
                        make([made.values[index]], schema)
                    except RecordError as error:
                        bad[index] = Failure.of_value(Stage.CONVERT, error, bodies[index], self._value)
        return {} if bad or made.dropped else found

    def _first_error(self, queue: str, taken: Taken) -> RecordFailed | None:
        for index in sorted(taken.bad):
            record = taken.bad_record(queue, index, taken.bad[index])
            try:
                self._policy.check(record.failure, record.place, record.beyond)
            except RecordFailed as error:
                return error
        return None

    def _columns(self, raws: Sequence[bytes], stored: Sequence[int], message_id: Callable[[int], str]) -> "_Columns":
        # Where they differ in a number only, all have the same names.
        joined = raws[0] if isinstance(raws, NumberedProperties) else b"".join(raws)
        wanted = self._looked_at
        keyed = wanted.keys and (b"KEYS\x01" in joined or KEY_BASE64.encode() in joined)
        timed = wanted.timestamps and TIMESTAMP.encode() in joined
        # A whole message has the body that it has.
        tombstones = not wanted.whole and TOMBSTONE.encode() in joined
        headed = wanted.headers and wanted.may_have_headers(joined)
        columns = _Columns(times=stored if wanted.timestamps else None)
        if not keyed and not timed and not tombstones and not headed:
            return columns
        keys: list[object] = []
        times: list[int] = []
        headers: list[Mapping[str, str]] = []
        buried = set()
        for index, raw in enumerate(raws):
            properties = decode_properties(raw)
            if keyed:
                keys.append(self._decode_key(index, properties, columns.bad))
            if timed:
                given = properties.get(TIMESTAMP, "")
                # Before 1970 it is negative.
                times.append(int(given) if given.removeprefix("-").isdecimal() else stored[index])
            if tombstones and TOMBSTONE in properties:
                buried.add(index)
            if headed:
                # As RocketMQ's consumers show it: what the producer called the message, otherwise where the broker has it.
                named = properties.get(UNIQUE_KEY) or message_id(index)
                headers.append(properties if wanted.whole else headers_of(properties, named))
        columns.keys = keys if keyed else None
        columns.times = times if timed else columns.times
        columns.headers = headers if headed else None
        columns.tombstones = frozenset(buried)
        return columns

    def _decode_key(self, index: int, properties: Mapping[str, str], bad: dict[int, Failure]) -> object:
        coded = properties.get(KEY_BASE64)
        try:
            if coded is not None:
                return self._key.decode(base64.b64decode(coded if coded != "=" else ""))[0]
            return self._key.decode(properties["KEYS"].encode())[0] if "KEYS" in properties else None
        except (RecordError, binascii.Error) as error:
            bad[index] = Failure.of_value(Stage.CONVERT, error, coded or properties.get("KEYS", ""), self._key)
            return None


@dataclass(slots=True)
class _Columns:
    keys: Sequence[object] | None = None
    times: Sequence[int] | None = None
    headers: Sequence[Mapping[str, str]] | None = None
    tombstones: frozenset[int] = frozenset()
    bad: dict[int, Failure] = field(default_factory=dict)


def _scattered(runs: Sequence[Records], count: int, bad: Collection[int]) -> Made:
    """Each record at the index it came with."""
    made = [Record(None)] * count
    for index, record in one_by_one(runs):
        made[index] = record
    there = {index for run in runs for index in run.indexes}
    topics = [record.topic for record in made]
    return Made(
        [record.value for record in made],
        [None if record.value is None else record.schema for record in made],
        [record.key for record in made],
        [record.timestamp_ms for record in made],
        [record.headers for record in made],
        topics,
        frozenset(index for index in range(count) if index not in there and index not in bad),
    )


def _some(column: Sequence[T], places: Sequence[int]) -> Sequence[T]:
    """What is at increasing places; of all it is the column itself."""
    return column if len(places) == len(column) else [column[place] for place in places]


def _stored_before(batch: DecodedBatch, until: int) -> int:
    index = bisect_left(batch.offsets, until) - 1
    # Of one that a filter has left out it is not known.
    return batch.store_timestamps_ms[index] if index >= 0 and batch.offsets[index] == until - 1 else 0


def damaged(batch: DecodedBatch, offset: int, body: bytes) -> Failure:
    """Of a message whose content can't be read from what the broker has (`DecodedBatch.damaged`)."""
    return Failure.of_value(Stage.CONVERT, batch.damaged[offset], body, DecodedBatch)


def _damaged(batch: DecodedBatch, offsets: Sequence[int], bodies: Sequence[bytes]) -> dict[int, Failure]:
    return {i: damaged(batch, offset, bodies[i]) for i, offset in enumerate(offsets) if offset in batch.damaged}


def _first_offset(part: Part) -> int:
    offsets = [*part.records.offsets[:1], *(bad.offset for bad in part.bad[:1])]
    return min(offsets)
