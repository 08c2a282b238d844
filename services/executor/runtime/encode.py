"""Records of a source become messages. Pure, apart from the converters' own work."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rocketconnect_sdk.compact import Texts
from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import NO_HEADERS, Offset, Rejected, SourceBatch
from rocketconnect_sdk.schema import Schema
from rocketmq_remoting.errors import RocketMQError
from rocketmq_remoting.model import MessageQueue
from rocketmq_remoting.protocol.properties import decode_properties, encode_properties
from services.executor.runtime.failures import ErrorPolicy, Failure, RecordFailed, Stage, beyond, dead_letter, place_of, written
from services.executor.runtime.marks import Stamper, mark_key
from services.executor.runtime.pieces import Piece, ReadBatch
from services.executor.runtime.queue_map import deal, queue_of_partition

T = TypeVar("T")

EXTENSION = "connect-ext-"
TIMESTAMP = "connect.timestamp"
TOMBSTONE = "connect-tombstone"
KEY_BASE64 = "connect-key-base64"
"""A key that is not plain text; RocketMQ's own KEYS can only hold text."""

_KEPT = ("KEYS", "TAGS")


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
    """

    batch: ReadBatch
    pieces: list[Piece]
    failures: Mapping[int, Failure]
    error: RecordFailed | None = None
    count: int = 0


class Encoder:
    """Encodes the batches of one run of a source task, in one thread."""

    def __init__(self, target: Target, incarnation: Callable[[str], int]) -> None:
        self._target = target
        self._incarnation = incarnation
        self._stampers: dict[str, tuple[str, Stamper]] = {}

    def encode(self, batch: SourceBatch, read_at: float) -> Encoded:
        """Makes pieces of a batch that is not empty."""
        target = self._target
        failures: dict[int, Failure] = {}
        bodies = _convert(target.value, target.source, batch.values, batch.schema, failures)
        keys = _keys(target.key, target.source, batch, bodies, failures)
        extras = _extras(batch, keys, bodies, failures)
        for index, body in enumerate(bodies) if max(map(len, bodies)) > target.record_bytes else ():
            if len(body) > target.record_bytes and index not in failures:
                failures[index] = _too_large(body, target.record_bytes)
        count, error = self._bad(batch, failures)
        end = batch.offsets[count - 1] if count else ()
        read = ReadBatch(batch.partition, mark_key(target.uid, batch.partition), end, read_at)
        encoded = Encoded(read, [], failures, error, count)
        if count:
            columns = _Columns(batch, bodies[:count], keys and keys[:count], extras, count)
            self._pieces(encoded, columns)
        return encoded

    def _bad(self, batch: SourceBatch, failures: dict[int, Failure]) -> tuple[int, RecordFailed | None]:
        """How many records go on: those before the first bad one that the policy does not let pass, or all."""
        for index in sorted(failures):
            try:
                partition, offset = batch.partition, batch.offsets[index]
                self._target.policy.check(failures[index], place_of(partition, offset), beyond(partition, offset))
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
        bad = sorted(encoded.failures) if target.policy.dead_letter_topic else []
        dead = [
            _Dead(
                encoded.failures[index],
                offsets[index],
                properties[index],
                b"" if columns.extras is None else columns.extras[index],
                (batch.topics[index] if batch.topics is not None else "") or target.topic,
            )
            for index in bad
        ]
        if columns.extras is not None:
            properties = [own + extra for own, extra in zip(properties, columns.extras, strict=False)]
        for topic, of_topic in _by_topic(batch.topics, columns.count, encoded.failures, target.topic):
            queues = target.queues(topic)
            keys = None if columns.keys is None else _pick(columns.keys, of_topic)
            for number, dealt in deal(batch.partition, keys, len(queues)).items():
                indexes = dealt if of_topic is None or dealt is None else [of_topic[i] for i in dealt]
                indexes = of_topic if indexes is None else indexes
                if indexes is not None and not indexes:
                    continue
                picked = (_pick(offsets, indexes), _pick(columns.bodies, indexes), _pick(properties, indexes))
                piece = Piece(encoded.batch, queues[number], key, incarnation, *picked)
                encoded.pieces += piece.split(target.batch_bytes, target.batch_records)
        if bad:
            encoded.pieces += self._dead(encoded.batch, dead).split(target.batch_bytes, target.batch_records)
        encoded.batch.open_pieces = len(encoded.pieces)

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
        queue = queues[queue_of_partition(batch.partition, len(queues))]
        offsets = [letter.offset for letter in letters]
        return Piece(batch, queue, batch.key, self._incarnation(batch.partition), offsets, bodies, properties, dead=True)

    def _stamper(self, partition: str) -> tuple[str, Stamper]:
        found = self._stampers.get(partition)
        if found is None:
            target = self._target
            stamper = Stamper(target.uid, target.epoch, partition, self._incarnation(partition))
            found = self._stampers[partition] = (mark_key(target.uid, partition), stamper)
        return found


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


def _convert(
    converter: Converter, source: object, values: Sequence[object], schema: Schema | None, failures: dict[int, Failure]
) -> list[bytes]:
    """The bytes of each value; empty for None and for those that are added to the failures."""
    if isinstance(values, Texts) or (Rejected not in set(map(type, values)) and None not in values):
        try:
            return converter.encode_many(values, schema)
        except RecordError:
            # At least one is bad: found below, one by one.
            pass
    encoded = []
    for index, value in enumerate(values):
        body = b""
        if isinstance(value, Rejected):
            failures[index] = Failure.of_rejected(value, source)
        elif value is not None:
            try:
                body = converter.encode(value, schema)
            except RecordError as error:
                failures[index] = Failure.of_value(Stage.CONVERT, error, value, converter)
        encoded.append(body)
    return encoded


def _keys(
    converter: Converter, source: object, batch: SourceBatch, bodies: Sequence[bytes], failures: dict[int, Failure]
) -> list[bytes | None] | None:
    if batch.keys is None:
        return None
    bad: dict[int, Failure] = {}
    encoded = _convert(converter, source, batch.keys, batch.key_schema, bad)
    for index, failure in bad.items():
        # The dead letter keeps the value: the message says what is wrong with the key.
        failures.setdefault(index, failure.of_bytes(bodies[index]))
    return [None if key is None or index in bad else encoded[index] for index, key in enumerate(batch.keys)]


def _extras(
    batch: SourceBatch, keys: Sequence[bytes | None] | None, bodies: Sequence[bytes], failures: dict[int, Failure]
) -> list[bytes] | None:
    """The encoded properties of each record besides RCPOS; None: no record has any."""
    if batch.properties is not None:
        return [_encoded(index, properties, bodies, failures) for index, properties in enumerate(batch.properties)]
    tombstones = not isinstance(batch.values, Texts) and None in batch.values
    if keys is None and batch.headers is None and batch.timestamps_ms is None and not tombstones:
        return None
    extras = []
    for index in range(len(batch)):
        properties: dict[str, str] = {}
        key = None if keys is None else keys[index]
        if key is not None:
            properties.update(_key_property(key))
        for name, value in (batch.headers[index] if batch.headers is not None else NO_HEADERS).items():
            if value:
                properties[name if name in _KEPT else EXTENSION + name] = value
        if batch.timestamps_ms is not None:
            properties[TIMESTAMP] = str(batch.timestamps_ms[index])
        if batch.values[index] is None:
            properties[TOMBSTONE] = "1"
        extras.append(_encoded(index, properties, bodies, failures))
    return extras


def _encoded(index: int, properties: Mapping[str, str], bodies: Sequence[bytes], failures: dict[int, Failure]) -> bytes:
    try:
        return encode_properties(properties)
    except RocketMQError as error:
        failures.setdefault(index, Failure.of_value(Stage.CONVERT, error, bodies[index], Encoder))
        return b""


def _key_property(key: bytes) -> dict[str, str]:
    try:
        text = key.decode()
    except UnicodeDecodeError:
        text = ""
    if text and text.isprintable():
        return {"KEYS": text}
    return {KEY_BASE64: base64.b64encode(key).decode() or "="}


def _too_large(body: bytes, limit: int) -> Failure:
    message = f"the value takes {len(body)} bytes and a message may hold {limit}"
    return Failure.of_value(Stage.CONVERT, RecordTooLarge(message), body, Encoder)


class RecordTooLarge(RecordError):
    """A value does not fit into a message."""


def _by_topic(
    topics: Sequence[str] | None, count: int, failures: Mapping[int, Failure], default: str
) -> list[tuple[str, list[int] | None]]:
    """The indexes of the records of each topic; None: all of them."""
    if topics is None:
        return [(default, None if not failures else [index for index in range(count) if index not in failures])]
    dealt: dict[str, list[int]] = {}
    for index in range(count):
        if index not in failures:
            dealt.setdefault(topics[index] or default, []).append(index)
    return list(dealt.items())


def _pick(column: Sequence[T], indexes: Sequence[int] | None) -> Sequence[T]:
    return column if indexes is None else [column[index] for index in indexes]
