"""Messages of one queue become records for a sink. Pure, apart from the converters' own work."""

import base64
import binascii
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import SinkBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import SourceMark
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.numbered import NumberedProperties
from rocketmq_remoting.protocol.properties import UNIQUE_KEY, decode_properties
from services.executor.runtime.encode import EXTENSION, KEY_BASE64, TIMESTAMP, TOMBSTONE
from services.executor.runtime.failures import ErrorPolicy, Failure, RecordFailed, Stage, beyond
from services.executor.runtime.marks import PROPERTY, behind
from services.executor.runtime.queues import text

T = TypeVar("T")

_INTERNAL = frozenset({PROPERTY, TIMESTAMP, TOMBSTONE, KEY_BASE64})
_INTERNAL_PREFIX = "connect-replay-"
_SYSTEM = re.compile(r"[A-Z][A-Z0-9_]*|__.*")
_RECORD_BYTES = 100
_KEPT = frozenset({"KEYS", "TAGS"})


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A message that could not be converted or written: its queue offset, why, and its encoded properties where they are known."""

    queue: str
    offset: int
    failure: Failure
    raw_properties: bytes = b""


@dataclass(slots=True)
class Part:
    """The records of a range of a queue.

    Attributes:
        queue: "topic/broker/queue".
        start: The queue offset at which the range begins.
        until: The queue offset behind it.
        marks: The marks that are higher behind it.
        records: What is to be written; may be empty.
        read: How many messages the range had.
        doubles: How many of them were there already.
        bad: Those that could not be converted.
        arrived: Monotonic time.
        error: The task is to fail behind this part.
        array: The values as an Arrow array, where the engine wants one.
        table: The records as an Arrow table, where the engine wants one.
        stored_ms: When the broker stored the message before `until`; 0: not known.
    """

    queue: str
    start: int
    until: int
    marks: Mapping[str, SourceMark]
    records: SinkBatch
    read: int
    doubles: int
    bad: Sequence[BadRecord] = ()
    arrived: float = 0.0
    error: Exception | None = None
    array: Any = None
    table: Any = None
    stored_ms: int = 0

    @property
    def held_bytes(self) -> int:
        """About how much memory it takes."""
        return self.records.size + _RECORD_BYTES * len(self.records)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a sink looks at.

    Attributes:
        keys: Keys.
        timestamps: Times.
        headers: Headers.
        array: Makes an Arrow array of values of a schema; a RecordError when one does not fit.
    """

    keys: bool = True
    timestamps: bool = True
    headers: bool = False
    array: Callable[[Sequence[object], Schema | None], object] | None = None


class Decoder:
    """Decodes what a sink task pulls; used by one thread."""

    def __init__(self, key: Converter, value: Converter, policy: ErrorPolicy, wanted: Wanted) -> None:
        self._key = key
        self._value = value
        self._policy = policy
        self._wanted = wanted

    def decode(
        self, batch: DecodedBatch, kept: Sequence[int] | None, start: int, marks: Mapping[str, SourceMark], now: float
    ) -> list[Part]:
        """The parts of a pulled batch: one, unless the schema changes in it.

        Args:
            batch: At least one message.
            kept: The indexes of those that are no doubles; None: all.
            start: The queue offset at which its range begins.
            marks: That move with it.
            now: Monotonic time.
        """
        queue = text(batch.queue)
        bodies = batch.bodies if kept is None else [batch.bodies[i] for i in kept]
        raws = batch.raw_properties if kept is None else [batch.raw_properties[i] for i in kept]
        offsets = batch.offsets if kept is None else [batch.offsets[i] for i in kept]
        times = batch.store_timestamps_ms if kept is None else [batch.store_timestamps_ms[i] for i in kept]
        columns = self._columns(raws, times, lambda index: batch[index if kept is None else kept[index]].message_id)
        until = batch.offsets[-1] + 1
        bad: dict[int, Failure] = columns.bad
        values, schemas = self._values(bodies, columns.tombstones, bad)
        arrays = self._arrays(values, schemas, bodies, bad)
        error = self._first_error(queue, offsets, bad)
        stop = len(bodies)
        if error is not None:
            # Invariant 5: nothing behind the bad record moves.
            stop = min(bad)
            until = offsets[stop]
            bad = {}
        parts = []
        for first, last, schema in _same_schema(schemas, bad, stop):
            good = [i for i in range(first, last) if i not in bad] if bad else range(first, last)
            records = SinkBatch(
                queue,
                batch.queue.topic,
                _pick(values, good),
                _pick(offsets, good),
                None if columns.keys is None else _pick(columns.keys, good),
                None if columns.times is None else _pick(columns.times, good),
                None if columns.headers is None else _pick(columns.headers, good),
                schema,
                sum(map(len, _pick(bodies, good))),
            )
            failed = [BadRecord(queue, offsets[i], _whole(bad[i], bodies[i]), raws[i]) for i in range(first, last) if i in bad]
            part = Part(queue, start, until, {}, records, len(records) + len(failed), 0, failed, now)
            if self._wanted.array is not None:
                part.array = arrays.get((first, last)) or self._wanted.array(records.values, schema)
            parts.append(part)
        if not parts:
            nothing = SinkBatch(queue, batch.queue.topic, [], [])
            empty = self._wanted.array([], None) if self._wanted.array is not None else None
            parts.append(Part(queue, start, until, {}, nothing, 0, 0, arrived=now, array=empty))
        for part, following in pairwise(parts):
            part.until = following.start = _first_offset(following)
        for part in parts:
            part.stored_ms = _stored_before(batch, part.until)
        last_part = parts[-1]
        last_part.error = error
        if error is not None or len(parts) > 1:
            # A position and its marks belong together: what is a double now is one after a restart between two parts, too.
            for part in parts:
                part.marks = behind(raws[bisect_left(offsets, part.start) : bisect_left(offsets, part.until)])
        if error is None:
            last_part.marks = marks
            last_part.doubles = len(batch) - len(bodies)
            last_part.read += last_part.doubles
        return parts

    def _values(
        self, bodies: Sequence[bytes], tombstones: frozenset[int], bad: dict[int, Failure]
    ) -> tuple[Sequence[object], Sequence[Schema | None] | Schema | None]:
        """The values, and either the schema of all or that of each."""
        if not tombstones and not bad:
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
                    bad[index] = Failure.of_value(Stage.CONVERT, error, body, self._value)
            values.append(value)
            schemas.append(schema)
        return values, schemas

    def _arrays(
        self,
        values: Sequence[object],
        schemas: Sequence[Schema | None] | Schema | None,
        bodies: Sequence[bytes],
        bad: dict[int, Failure],
    ) -> dict[tuple[int, int], object]:
        """Arrays of ranges without bad records; values that their schema does not allow are added to the bad ones."""
        make = self._wanted.array
        found: dict[tuple[int, int], object] = {}
        if make is None:
            return found
        for first, last, schema in _same_schema(schemas, bad, len(values)):
            try:
                found[first, last] = make(values[first:last], schema)
            except RecordError:
                for index in range(first, last):
                    try:
                        make([values[index]], schema)
                    except RecordError as error:
                        bad[index] = Failure.of_value(Stage.CONVERT, error, bodies[index], self._value)
        return {} if bad else found

    def _first_error(self, queue: str, offsets: Sequence[int], bad: Mapping[int, Failure]) -> RecordFailed | None:
        for index in sorted(bad):
            try:
                offset = offsets[index]
                self._policy.check(bad[index], f"queue {queue}, offset {offset}", beyond(queue, (offset + 1,)))
            except RecordFailed as error:
                return error
        return None

    def _columns(self, raws: Sequence[bytes], stored: Sequence[int], message_id: Callable[[int], str]) -> "_Columns":
        # Where they differ in a number only, all have the same names.
        joined = raws[0] if isinstance(raws, NumberedProperties) else b"".join(raws)
        wanted = self._wanted
        keyed = wanted.keys and (b"KEYS\x01" in joined or KEY_BASE64.encode() in joined)
        timed = wanted.timestamps and TIMESTAMP.encode() in joined
        tombstones = TOMBSTONE.encode() in joined
        columns = _Columns(times=stored if wanted.timestamps else None)
        if not keyed and not timed and not tombstones and not wanted.headers:
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
                times.append(int(given) if given.isdecimal() else stored[index])
            if TOMBSTONE in properties:
                buried.add(index)
            if wanted.headers:
                # As RocketMQ's consumers show it: what the producer called the message, otherwise where the broker has it.
                headers.append(_headers(properties, properties.get(UNIQUE_KEY) or message_id(index)))
        columns.keys = keys if keyed else None
        columns.times = times if timed else columns.times
        columns.headers = headers if wanted.headers else None
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


def _headers(properties: Mapping[str, str], message_id: str) -> Mapping[str, str]:
    """As RocketMQ Connect shows them: extensions without their prefix, RocketMQ's own properties with another one, and the id."""
    headers = {}
    for name, value in properties.items():
        if name in _INTERNAL or name.startswith(_INTERNAL_PREFIX):
            continue
        if name.startswith(EXTENSION):
            headers[name.removeprefix(EXTENSION)] = value
        elif name in _KEPT or not _SYSTEM.fullmatch(name):
            headers[name] = value
        else:
            headers[f"MQ-SYS-{name}"] = value
    headers["MQ-SYS-MSG_ID"] = message_id
    return headers


def _same_schema(
    schemas: Sequence[Schema | None] | Schema | None, bad: Mapping[int, Failure], stop: int
) -> list[tuple[int, int, Schema | None]]:
    """Ranges of equal schemas before `stop`."""
    if not stop:
        return []
    if schemas is None or isinstance(schemas, Schema):
        return [(0, stop, schemas)]
    ranges: list[tuple[int, int, Schema | None]] = []
    first = 0
    held: Schema | None = None
    for index in range(stop):
        if index in bad or schemas[index] is None:
            continue
        if held is not None and schemas[index] != held:
            ranges.append((first, index, held))
            first = index
        held = schemas[index]
    ranges.append((first, stop, held))
    return ranges


def _pick(column: Sequence[T], which: Sequence[int]) -> Sequence[T]:
    if len(which) == len(column):
        return column
    return column[which.start : which.stop] if isinstance(which, range) else [column[index] for index in which]


def _stored_before(batch: DecodedBatch, until: int) -> int:
    index = bisect_left(batch.offsets, until) - 1
    return batch.store_timestamps_ms[index] if index >= 0 else 0


def _whole(failure: Failure, body: bytes) -> Failure:
    """Of the whole message: where its key is bad, the body must not be lost."""
    return failure if failure.original is body else failure.of_bytes(body)


def _first_offset(part: Part) -> int:
    offsets = [*part.records.offsets[:1], *(bad.offset for bad in part.bad[:1])]
    return min(offsets)
