"""Many messages at once, as columns: what is sent in one request and what one pull brings.

No object is made for each message on the fast path; `PulledMessage` is built when somebody asks for it.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import compress as compress_columns
from types import MappingProxyType
from typing import TYPE_CHECKING

from rocketmq_remoting.errors import InvalidMessage, MessageTooLarge
from rocketmq_remoting.message import PulledMessage
from rocketmq_remoting.numbered import NumberedProperties, concat_properties
from rocketmq_remoting.protocol.compression import COMPRESSED_FLAG, compress
from rocketmq_remoting.protocol.properties import MAX_PROPERTIES_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rocketmq_remoting.model import Compression, MessageQueue

# Size, magic, checksum and flag (unused in a request), length of the body.
_BATCH_HEAD = struct.Struct(">iiiii")
_PROPERTIES_LENGTH = struct.Struct(">H")
BATCH_OVERHEAD_BYTES = _BATCH_HEAD.size + _PROPERTIES_LENGTH.size
# The count of a batch topic's unit (INNER_NUM) is a signed short.
MAX_BATCH_MESSAGES = 32_767
# A broker's default `maxMessageSize`, which bounds a whole batch.
MAX_BATCH_BYTES = 4 << 20

# Ends the name of a property.
_NAME_END = b"\x01"

_NOTHING: Mapping[int, Exception] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """Messages ready for one send request.

    Attributes:
        payload: the encoded messages.
        count: how many.
        sys_flag: how the bodies are compressed.
    """

    payload: bytes
    count: int
    sys_flag: int = 0

    @classmethod
    def concat(cls, batches: Sequence[EncodedBatch]) -> EncodedBatch:
        """Join batches whose bodies are compressed alike; at least one.

        Raises:
            MessageTooLarge: over 32,767 messages.
        """
        if len(batches) == 1:
            return batches[0]
        count = sum(batch.count for batch in batches)
        _check_count(count)
        return cls(b"".join([batch.payload for batch in batches]), count, batches[0].sys_flag)


def encode_batch(
    bodies: Sequence[bytes],
    properties: Sequence[bytes] | bytes = b"",
    *,
    compression: Compression | None = None,
    max_bytes: int = MAX_BATCH_BYTES,
) -> EncodedBatch:
    """Encode messages for one send request.

    Args:
        bodies: the payloads.
        properties: encoded properties (`encode_properties`), one for each body or the same for all.
        compression: compress every body; not for batch topics.
        max_bytes: the broker's `maxMessageSize`.

    Raises:
        InvalidMessage: no messages, or bodies and properties differ in number.
        MessageTooLarge: over 32,767 messages, 32,767 bytes of properties in one, or `max_bytes` in all.
    """
    if not bodies:
        raise InvalidMessage("a batch needs at least one message")
    _check_count(len(bodies))
    sys_flag = 0
    if compression is not None:
        bodies = [compress(body, compression) for body in bodies]
        sys_flag = COMPRESSED_FLAG | compression.value
    if isinstance(properties, bytes):
        payload = _encode_same_properties(bodies, properties)
    elif len(bodies) != len(properties):
        msg = f"{len(bodies)} bodies and {len(properties)} properties: give as many, or one for all"
        raise InvalidMessage(msg)
    elif isinstance(properties, NumberedProperties):
        payload = _encode_numbered(bodies, properties)
    else:
        payload = _encode_own_properties(bodies, properties)
    if len(payload) > max_bytes:
        msg = (
            f"a batch of {len(bodies)} messages takes {len(payload)} bytes and the limit is {max_bytes}: split it, or "
            "raise the broker's maxMessageSize and max_bytes"
        )
        raise MessageTooLarge(msg)
    return EncodedBatch(payload, len(bodies), sys_flag)


class _Heads(dict[int, bytes]):
    """What stands between two bodies, by the length of the second: a look-up is cheaper than packing five numbers."""

    def __init__(self, before: bytes, overhead: int) -> None:
        self._before = before
        self._overhead = overhead

    def __missing__(self, length: int) -> bytes:
        head = self[length] = self._before + _BATCH_HEAD.pack(length + self._overhead, 0, 0, 0, length)
        return head


def _encode_same_properties(bodies: Sequence[bytes], properties: bytes) -> bytes:
    _check_properties(len(properties))
    tail = _PROPERTIES_LENGTH.pack(len(properties)) + properties
    heads = _Heads(tail, BATCH_OVERHEAD_BYTES + len(properties))
    parts = [tail] * (2 * len(bodies) + 1)
    parts[0:-1:2] = map(heads.__getitem__, map(len, bodies))
    parts[1::2] = bodies
    parts[0] = parts[0][len(tail) :]
    return b"".join(parts)


def _encode_numbered(bodies: Sequence[bytes], properties: NumberedProperties) -> bytes:
    _check_properties(properties.length)
    tail = properties.tail
    heads = _Heads(tail, BATCH_OVERHEAD_BYTES + properties.length)
    # Columns are laid into each other; nothing here is done for a single message.
    parts = [_PROPERTIES_LENGTH.pack(properties.length) + properties.head] * (4 * len(bodies) + 1)
    parts[0:-1:4] = map(heads.__getitem__, map(len, bodies))
    parts[1::4] = bodies
    parts[3::4] = properties.digits
    parts[0] = parts[0][len(tail) :]
    parts[-1] = tail
    return b"".join(parts)


def decode_numbered(unit: bytes, count: int) -> tuple[list[bytes], NumberedProperties] | None:
    """Undo `encode_batch` for messages of one property each that differ in its last number; None: they are others.

    Args:
        unit: the encoded messages.
        count: how many there are.

    Raises:
        struct.error: it is cut short.
    """
    size, *_, length = _BATCH_HEAD.unpack_from(unit)
    first = unit[length + BATCH_OVERHEAD_BYTES : size]
    name, equals, value = first.partition(_NAME_END)
    # What stands between each body and its value. Searching is quicker than going from length to length.
    pieces = unit.split(unit[length + _BATCH_HEAD.size : length + BATCH_OVERHEAD_BYTES] + name + equals) if length >= 0 else []
    if len(pieces) != count + 1:
        return None
    properties = NumberedProperties.like(first, pieces[1:], len(name) + 1)
    if properties is None:
        return None
    begin = len(value) + _BATCH_HEAD.size
    bodies = [piece[begin:] for piece in pieces[:-1]]
    bodies[0] = pieces[0][_BATCH_HEAD.size :]
    # A guess so far. Encoded they are the same bytes, so these are the messages.
    return (bodies, properties) if _encode_numbered(bodies, properties) == unit else None


def _encode_own_properties(bodies: Sequence[bytes], properties: Sequence[bytes]) -> bytes:
    _check_properties(max(map(len, properties)))
    pack = _BATCH_HEAD.pack
    pack_length = _PROPERTIES_LENGTH.pack
    parts: list[bytes] = []
    append = parts.append
    for body, own in zip(bodies, properties, strict=True):
        size = len(body)
        length = len(own)
        append(pack(size + length + BATCH_OVERHEAD_BYTES, 0, 0, 0, size))
        append(body)
        append(pack_length(length))
        append(own)
    return b"".join(parts)


def _check_count(count: int) -> None:
    if count > MAX_BATCH_MESSAGES:
        msg = f"a batch of {count} messages: RocketMQ takes {MAX_BATCH_MESSAGES} at most, split it"
        raise MessageTooLarge(msg)


def _check_properties(length: int) -> None:
    if length > MAX_PROPERTIES_BYTES:
        msg = f"properties of {length} bytes: RocketMQ allows {MAX_PROPERTIES_BYTES} for a message"
        raise MessageTooLarge(msg)


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of one answer and, for each of its messages, where the stored unit that holds it begins."""

    buffer: bytes
    unit_positions: list[int]


_NOWHERE = Source(bytes(100), [0])


class DecodedBatch:
    """Messages of one queue in the order of their offsets, as columns of equal length.

    Immutable by convention; safe to share between threads.

    Attributes:
        queue: where they come from.
        bodies: the payloads, unpacked.
        offsets: their offsets in the queue.
        raw_properties: their encoded properties.
        store_timestamps_ms: when the broker stored them, milliseconds since 1970.
        units: in how many stored units they came: fewer than messages on a batch topic.
        damaged: by queue offset why what a message holds can't be read; its body is what the broker has. Of a unit
            the first message has that, and the others are empty.
        unpacked_bytes: how many bytes compressed bodies have become.
        is_cut: the answer held more messages; they would have unpacked to more than was asked for, and are pulled again.
    """

    __slots__ = (
        "_sources",
        "_starts",
        "bodies",
        "damaged",
        "is_cut",
        "offsets",
        "queue",
        "raw_properties",
        "store_timestamps_ms",
        "units",
        "unpacked_bytes",
    )

    def __init__(
        self,
        queue: MessageQueue,
        bodies: list[bytes],
        offsets: list[int],
        raw_properties: Sequence[bytes],
        store_timestamps_ms: list[int],
        sources: list[Source],
        units: int,
        *,
        damaged: Mapping[int, Exception] = _NOTHING,
        unpacked_bytes: int = 0,
        is_cut: bool = False,
    ) -> None:
        self.queue = queue
        self.bodies = bodies
        self.offsets = offsets
        self.raw_properties = raw_properties
        self.store_timestamps_ms = store_timestamps_ms
        self.units = units
        self.damaged = damaged
        self.unpacked_bytes = unpacked_bytes
        self.is_cut = is_cut
        self._sources = sources
        self._starts = _running_starts(sources)

    @classmethod
    def empty(cls, queue: MessageQueue) -> DecodedBatch:
        """Return a batch without messages."""
        return cls(queue, [], [], [], [], [], 0)

    @classmethod
    def unsent(cls, queue: MessageQueue, offset: int, body: bytes, properties: bytes, stored_ms: int = 0) -> DecodedBatch:
        """Return a batch of one message that no broker has: its id is of zeros, and it was made at no time."""
        return cls(queue, [body], [offset], [properties], [stored_ms], [_NOWHERE], 1)

    @classmethod
    def concat(cls, batches: Sequence[DecodedBatch]) -> DecodedBatch:
        """Join batches of one queue that follow each other; at least one."""
        if len(batches) == 1:
            return batches[0]
        return cls(
            batches[0].queue,
            [body for batch in batches for body in batch.bodies],
            [offset for batch in batches for offset in batch.offsets],
            concat_properties([batch.raw_properties for batch in batches]),
            [time for batch in batches for time in batch.store_timestamps_ms],
            [source for batch in batches for source in batch._sources],  # noqa: SLF001
            sum(batch.units for batch in batches),
            damaged={offset: error for batch in batches for offset, error in batch.damaged.items()},
            unpacked_bytes=sum(batch.unpacked_bytes for batch in batches),
            is_cut=batches[-1].is_cut,
        )

    def __len__(self) -> int:
        """How many messages."""
        return len(self.bodies)

    def __iter__(self) -> Iterator[PulledMessage]:
        """Iterate over the messages as objects."""
        return (self[index] for index in range(len(self.bodies)))

    def __getitem__(self, index: int) -> PulledMessage:
        """Return one message as an object; raise IndexError outside of [0, length)."""
        if not 0 <= index < len(self.bodies):
            raise IndexError(index)
        number = bisect_right(self._starts, index) - 1
        source = self._sources[number]
        return PulledMessage(
            queue=self.queue,
            queue_offset=self.offsets[index],
            body=self.bodies[index],
            raw_properties=self.raw_properties[index],
            store_timestamp_ms=self.store_timestamps_ms[index],
            _buffer=source.buffer,
            _at=source.unit_positions[index - self._starts[number]],
        )

    def messages(self) -> list[PulledMessage]:
        """Return all messages as objects; their properties are decoded when asked for."""
        return list(self)

    @property
    def nbytes(self) -> int:
        """About how many bytes this holds in memory: the answers, the bodies cut from them and what those became unpacked."""
        return sum(len(source.buffer) for source in self._sources) * 2 + self.unpacked_bytes

    def between(self, start: int, end: int | None = None) -> DecodedBatch:
        """Return the messages with offsets in [start, end)."""
        first = bisect_left(self.offsets, start)
        last = len(self.offsets) if end is None else bisect_left(self.offsets, end)
        if first == 0 and last == len(self.offsets):
            return self
        if first >= last:
            return DecodedBatch.empty(self.queue)
        sources = []
        for begin, source in zip(self._starts, self._sources, strict=True):
            positions = source.unit_positions[max(first - begin, 0) : max(last - begin, 0)]
            if positions:
                sources.append(Source(source.buffer, positions))
        return DecodedBatch(
            self.queue,
            self.bodies[first:last],
            self.offsets[first:last],
            self.raw_properties[first:last],
            self.store_timestamps_ms[first:last],
            sources,
            sum(len(set(source.unit_positions)) for source in sources),
            damaged=self._damaged_among(self.offsets[first:last]),
            unpacked_bytes=self.unpacked_bytes,
            is_cut=self.is_cut and last == len(self.offsets),
        )

    def select(self, keep: Sequence[bool]) -> DecodedBatch:
        """Return the messages whose place in `keep` is true."""
        sources = []
        for begin, source in zip(self._starts, self._sources, strict=True):
            flags = keep[begin : begin + len(source.unit_positions)]
            positions = list(compress_columns(source.unit_positions, flags))
            if positions:
                sources.append(Source(source.buffer, positions))
        return DecodedBatch(
            self.queue,
            list(compress_columns(self.bodies, keep)),
            list(compress_columns(self.offsets, keep)),
            list(compress_columns(self.raw_properties, keep)),
            list(compress_columns(self.store_timestamps_ms, keep)),
            sources,
            sum(len(set(source.unit_positions)) for source in sources),
            damaged=self._damaged_among(list(compress_columns(self.offsets, keep))),
            unpacked_bytes=self.unpacked_bytes,
            is_cut=self.is_cut,
        )

    def _damaged_among(self, offsets: Sequence[int]) -> Mapping[int, Exception]:
        return {offset: self.damaged[offset] for offset in offsets if offset in self.damaged} if self.damaged else _NOTHING


def _running_starts(sources: Sequence[Source]) -> list[int]:
    starts = []
    total = 0
    for source in sources:
        starts.append(total)
        total += len(source.unit_positions)
    return starts
