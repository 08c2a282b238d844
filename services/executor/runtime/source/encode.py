"""Records of a source become messages. Pure, apart from the converters' own work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from rocketconnect_sdk.columns.compact import Column, Texts, picked
from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import Offset, Rejected, SourceBatch
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.stages import Stage
from rocketmq_remoting.alike import queue_alike
from rocketmq_remoting.errors import RocketMQError
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import decode_properties, encode_properties
from services.executor.runtime.errors.dead_letter import dead_letter
from services.executor.runtime.errors.failure import Failure, beyond, place_of, written
from services.executor.runtime.errors.policy import ErrorPolicy, RecordFailed
from services.executor.runtime.rocketmq.properties import extras_of, null_places
from services.executor.runtime.rocketmq.queue_map import by_topic, deal, queue_of_partition
from services.executor.runtime.rocketmq.source_marks import Stamper, mark_key
from services.executor.runtime.source.pieces import Piece, ReadBatch, too_large
from services.executor.runtime.source.takeover import Found

T = TypeVar("T")

_STAMPERS = 10_000
"""Invariant 7: of so many source partitions what marks their records is kept; a source may have ever new ones."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where records go and how they are written: fixed for a run.

    Attributes:
        connector: The name of the connector.
        uid: Its uid.
        task: The task.
        epoch: Its epoch.
        topic: For records that name none.
        queues: The queues of a topic, sorted; may make the topic, and then blocks.
        source: The source's task.
        key: Converts keys.
        value: Converts values.
        policy: Of bad records.
        batch_bytes: A piece is at most so large.
        batch_records: A piece has at most so many messages.
        record_bytes: A body is at most so large.
    """

    connector: str
    uid: str
    task: int
    epoch: int
    topic: str
    queues: Callable[[str], Sequence[MessageQueue]]
    source: object
    key: Converter
    value: Converter
    policy: ErrorPolicy
    batch_bytes: int
    batch_records: int
    record_bytes: int


@dataclass(slots=True)
class Encoded:
    """What became of a batch.

    Attributes:
        batch: It, with its pieces counted.
        pieces: In the order in which they are to be sent.
        failures: The records that are left out, by index.
        error: The task is to fail when the pieces are confirmed: errors.tolerance=none and a bad record; nothing behind that record
            is in the pieces.
        count: How many records it settles, the failures included.
        duplicates: How many records are in no piece because they are in the topic already.
    """

    batch: ReadBatch
    pieces: list[Piece]
    failures: Mapping[int, Failure]
    error: RecordFailed | None = None
    count: int = 0
    duplicates: int = 0


class Encoder:
    """Encodes the batches of one run of a source task, in one thread."""

    def __init__(self, target: Target, incarnation: Callable[[str], int], found: Found) -> None:
        self._target = target
        self._found = found
        self._incarnation = incarnation
        self._stamper = lru_cache(_STAMPERS)(self._made_stamper)

    def encode(self, batch: SourceBatch, read_at: float) -> Encoded:
        """Makes pieces of a batch.

        Raises:
            SystemAway, RetriableError: a converter needs a system that does not answer; nothing was done: the same again later.
        """
        target = self._target
        failures: dict[int, Failure] = {}
        if not len(batch):
            return Encoded(self._read(batch, 0, read_at), [], failures)
        bodies = _convert_by_topic(target, target.value, batch, batch.values, batch.schema, failures)
        keys = keys_of(target, batch, bodies, failures)
        extras, bad = extras_of(batch, keys, properties_by_topic(target, batch, failures))
        refused_extras(bad, bodies, failures)
        fitted, extras = self._fitted(batch, bodies, extras, failures)
        count, error = self._bad(batch, failures)
        encoded = Encoded(self._read(batch, count, read_at), [], failures, error, count)
        if count:
            columns = _Columns(batch, fitted[:count], keys and keys[:count], extras, count)
            self._pieces(encoded, columns)
        return encoded

    def _fitted(
        self, batch: SourceBatch, bodies: Sequence[bytes], extras: Sequence[bytes] | None, failures: dict[int, Failure]
    ) -> tuple[Sequence[bytes], Sequence[bytes] | None]:
        """Bodies and other properties as messages have them; records that no message can hold are added to the failures."""
        del batch
        limit = self._target.record_bytes
        for index, body in enumerate(bodies) if max(map(len, bodies)) > limit else ():
            if len(body) > limit and index not in failures:
                failures[index] = too_large(body, limit, Encoder)
        return bodies, extras

    def _read(self, batch: SourceBatch, count: int, read_at: float) -> ReadBatch:
        """A batch of which so many records go on."""
        end = batch.end if count == len(batch) else ()
        if count:
            end = end or batch.offsets[count - 1]
        made = ReadBatch(batch.partition, self.key(batch.partition), end, read_at).timed(batch.timestamps_ms, count)
        made.gone = batch.gone and not len(batch)
        if batch.resume is not None:
            # The map belongs to the end of the whole batch, and to no record within.
            made.resume, made.closes = batch.resume, count == len(batch)
        return made

    def _bad(self, batch: SourceBatch, failures: dict[int, Failure]) -> tuple[int, RecordFailed | None]:
        """How many records go on: those before the first bad one that the policy does not let pass, or all."""
        for index in sorted(failures):
            try:
                partition, offset = batch.partition, batch.offsets[index]
                self._target.policy.check_source(failures[index], place_of(partition, offset), beyond(partition, offset))
            except RecordFailed as error:
                # Invariant 5: nothing behind it moves; what is before it is sent and committed first.
                for later in [other for other in failures if other >= index]:
                    del failures[later]
                return index, error
        return len(batch), None

    def _pieces(self, encoded: Encoded, columns: "_Columns") -> None:
        target = self._target
        batch = columns.batch
        key, stamper = self._stamper(batch.partition)
        incarnation = self._incarnation(batch.partition)
        offsets = batch.offsets if columns.count == len(batch) else batch.offsets[: columns.count]
        properties = stamper.stamp(offsets)
        if columns.extras is not None:
            properties = [own + extra for own, extra in zip(properties, columns.extras, strict=False)]
        for topic, of_topic in by_topic(batch.topics, columns.count, encoded.failures, target.topic):
            if of_topic is not None and not of_topic:
                continue
            keys = None if columns.keys is None else _chosen(columns.keys, of_topic)
            first = offsets[0 if of_topic is None else of_topic[0]]
            for queue, dealt in self._deal(topic, batch, keys, first).items():
                indexes = dealt if of_topic is None or dealt is None else [of_topic[i] for i in dealt]
                indexes = of_topic if indexes is None else indexes
                if indexes is not None and not indexes:
                    continue
                own = (_chosen(offsets, indexes), _chosen(columns.bodies, indexes), _chosen(properties, indexes))
                piece = Piece(encoded.batch, queue, key, incarnation, *own)
                encoded.pieces += piece.split(target.batch_bytes, target.batch_records)
        encoded.pieces += self._letters(encoded, batch, columns.extras)
        encoded.batch.open_pieces = len(encoded.pieces)

    def _letters(self, encoded: Encoded, batch: SourceBatch, extras: Sequence[bytes] | None) -> list[Piece]:
        """The dead letters of a batch; extras as `_extras` gives them."""
        target = self._target
        bad = sorted(encoded.failures) if target.policy.dead_letter_topic else []
        if not bad:
            return []
        stamps = self._stamper(batch.partition)[1].stamp([batch.offsets[index] for index in bad])
        letters = [
            _Dead(
                encoded.failures[index],
                batch.offsets[index],
                stamp,
                b"" if extras is None else extras[index],
                (batch.topics[index] if batch.topics is not None else "") or target.topic,
            )
            for index, stamp in zip(bad, stamps, strict=True)
        ]
        return self._dead(encoded.batch, letters).split(target.batch_bytes, target.batch_records)

    def halves(self, piece: Piece) -> Sequence[Piece]:
        """What takes the place of a refused piece of one message that holds many records; none: it holds one."""
        del piece
        return ()

    def key(self, partition: str) -> str:
        """The mark key of a source partition."""
        return self._stamper(partition)[0]

    def dead_letter(self, failure: Failure, piece: Piece) -> Piece | None:
        """What takes the place of a piece of one message that the broker refuses; None: there is no dead-letter topic."""
        if not self._target.policy.dead_letter_topic:
            return None
        (stamp,) = self._stamper(piece.batch.partition)[1].stamp(piece.offsets)
        extra = piece.properties[0].removeprefix(stamp)
        return self._dead(piece.batch, [_Dead(failure, piece.offsets[0], stamp, extra, piece.queue.topic)])

    def _dead(self, batch: ReadBatch, letters: "Sequence[_Dead]") -> Piece:
        target = self._target
        queues = target.queues(target.policy.dead_letter_topic)
        bodies, properties = [], []
        for letter in letters:
            origin = {
                "connector.name": target.connector,
                "task.id": str(target.task),
                "source.partition": batch.partition,
                "source.offset": written(letter.offset),
                "topic": letter.topic,
            }
            body, said = dead_letter(
                letter.failure,
                origin,
                with_properties=target.policy.properties,
                body_limit=target.record_bytes,
                original=decode_properties(letter.extra),
            )
            bodies.append(body)
            properties.append(letter.stamp + encode_properties(said))
        number = queue_of_partition(batch.partition, len(queues))
        queue = self._lane(target.policy.dead_letter_topic, queues, batch.partition, letters[0].offset) or queues[number]
        offsets = [letter.offset for letter in letters]
        return Piece(batch, queue, batch.key, self._incarnation(batch.partition), offsets, bodies, properties, dead=True)

    def _deal(
        self, topic: str, batch: SourceBatch, keys: Sequence[bytes | None] | None, first: Offset
    ) -> Mapping[MessageQueue, list[int] | None]:
        """Deals records of a batch out to the queues of a topic, as queue_map.deal does, or to the one that the batch names.

        Args: the topic, the batch, the keys (None: no record has one), and the offset of the first record.

        Raises:
            PermanentError: see Found.lane.
        """
        queues, partition = self._target.queues(topic), batch.partition
        lane = self._lane(topic, queues, partition, first)
        if lane is not None:
            return {lane: None}
        if batch.queue is not None:
            return {queue_alike(*batch.queue, queues): None}
        return {queues[number]: dealt for number, dealt in deal(partition, keys, len(queues)).items()}

    def _lane(self, topic: str, queues: Sequence[MessageQueue], partition: str, first: Offset) -> MessageQueue | None:
        """See Found.lane."""
        return self._found.lane(topic, queues, self.key(partition), self._incarnation(partition), first)

    def _made_stamper(self, partition: str) -> tuple[str, Stamper]:
        target = self._target
        return mark_key(target.uid, partition), Stamper(target.uid, target.epoch, partition, self._incarnation(partition))


@dataclass(frozen=True, slots=True)
class _Dead:
    """A record that becomes a dead letter: why, where it was, its RCPOS, its other properties, and the topic it would go to."""

    failure: Failure
    offset: Offset
    stamp: bytes
    extra: bytes
    topic: str


@dataclass(slots=True)
class _Columns:
    batch: SourceBatch
    bodies: Sequence[bytes]
    keys: Sequence[bytes | None] | None
    extras: Sequence[bytes] | None
    count: int


def _convert_by_topic(
    target: Target,
    converter: Converter,
    batch: SourceBatch,
    values: Sequence[object],
    schema: Schema | None,
    failures: dict[int, Failure],
) -> list[bytes]:
    """As _convert, by a converter that knows where its messages go."""
    encoded = [b""] * len(values)
    for topic, indexes in by_topic(batch.topics if converter.by_topic else None, len(values), {}, target.topic):
        converter.for_topic(topic)
        if indexes is None:
            return _convert(converter, target.source, values, schema, failures)
        bad: dict[int, Failure] = {}
        for index, body in zip(indexes, _convert(converter, target.source, picked(values, indexes), schema, bad), strict=True):
            encoded[index] = body
        failures |= {indexes[number]: failure for number, failure in bad.items()}
    return encoded


def properties_by_topic(target: Target, batch: SourceBatch, bad: Mapping[int, Failure]) -> Sequence[Mapping[str, str]] | None:
    """The properties that the converter of values gives each message; None: it gives none."""
    converter = target.value
    if not converter.has_properties:
        return None
    told: list[Mapping[str, str]] = [{}] * len(batch)
    for topic, indexes in by_topic(batch.topics, len(batch), bad, target.topic):
        converter.for_topic(topic)
        for index in range(len(batch)) if indexes is None else indexes:
            if (value := batch.values[index]) is not None:
                told[index] = converter.properties_of(value, batch.schema)
    return told


def _convert(
    converter: Converter, source: object, values: Sequence[object], schema: Schema | None, failures: dict[int, Failure]
) -> list[bytes]:
    """The bytes of each value; empty for None and for those that are added to the failures."""
    if _are_all_values(values):
        nulls = null_places(values)
        try:
            return _runtime(nulls, len(values), converter.encode_many(_without(values, nulls), schema))
        except RecordError:
            # At least one is bad: found below, one by one.
            pass
    encoded = []
    for index, value in enumerate(values):
        body = b""
        if isinstance(value, Rejected):
            failures[index] = Failure.of_rejected(value, source)
        elif isinstance(value, Failure):
            failures[index] = value
        elif value is not None:
            try:
                body = converter.encode(value, schema)
            except RecordError as error:
                failures[index] = Failure.of_value(Stage.CONVERT, error, value, converter, schema)
        encoded.append(body)
    return encoded


def _are_all_values(values: Sequence[object]) -> bool:
    """Whether none of them is a bad one."""
    return isinstance(values, Texts | Column) or not {Rejected, Failure} & set(map(type, values))


def _without(values: Sequence[object], nulls: Sequence[int]) -> Sequence[object]:
    """Those that are there."""
    if not nulls:
        return values
    if isinstance(values, Column):
        return Column(values.array.drop_null())
    return [value for value in values if value is not None]


def _runtime(nulls: Sequence[int], count: int, bodies: list[bytes]) -> list[bytes]:
    """So many bodies: empty ones where there is no value."""
    if not nulls:
        return bodies
    there = iter(bodies)
    missing = set(nulls)
    return [b"" if index in missing else next(there) for index in range(count)]


def keys_of(target: Target, batch: SourceBatch, bodies: Sequence[bytes], failures: dict[int, Failure]) -> list[bytes | None] | None:
    """The bytes of each key, None for a record without one; records whose keys can't be converted are added to the failures."""
    if batch.keys is None:
        return None
    bad: dict[int, Failure] = {}
    encoded: list[bytes | None] = [*_convert_by_topic(target, target.key, batch, batch.keys, batch.key_schema, bad)]
    for index, failure in bad.items():
        # The dead letter keeps the value: the message says what is wrong with the key.
        failures.setdefault(index, failure.of_bytes(bodies[index]))
    for index in (*null_places(batch.keys), *bad):
        encoded[index] = None
    return encoded


def refused_extras(bad: Mapping[int, RocketMQError], bodies: Sequence[bytes], failures: dict[int, Failure]) -> None:
    """Adds the records whose properties cannot be encoded to the failures."""
    for index, error in bad.items():
        failures.setdefault(index, Failure.of_value(Stage.CONVERT, error, bodies[index], Encoder))


def _chosen(column: Sequence[T], indexes: Sequence[int] | None) -> Sequence[T]:
    """The elements at these places; None: all."""
    return column if indexes is None else picked(column, indexes)
