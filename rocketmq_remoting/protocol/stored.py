"""Decodes stored messages, the body of an answer to a pull.

Layout of one: size, magic, checksum, queue id, flag (4 bytes each), queue offset, physical offset (8), system flag (4),
born time (8), born host (8, or 20 with IPv6), store time (8), store host (8 or 20), reconsume times (4), prepared
offset (8), body length (4), body, topic length (1, or 2 in version 2), topic, properties length (2), properties.

On a batch topic one stored message is a unit: its body holds many messages in the form of a send request.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from rocketmq_remoting.batch import DecodedBatch, Source, decode_numbered
from rocketmq_remoting.errors import ProtocolError
from rocketmq_remoting.message import IPV6_BORN_FLAG, IPV6_STORE_FLAG
from rocketmq_remoting.numbered import concat_properties
from rocketmq_remoting.protocol.compression import COMPRESSED_FLAG, MAX_BODY_BYTES, UnpacksToMore, compression_of, decompress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocketmq_remoting.model import MessageQueue

MAGIC_V1 = 0xDAA320A7
MAGIC_V2 = 0xDAA320AB
NEED_UNWRAP_FLAG = 1 << 6
INNER_BATCH_FLAG = 1 << 7

# Size, magic, queue offset, physical offset, system flag, store time, body length, with both hosts IPv4.
_IPV4 = struct.Struct(">iI12xq8xi16xq20xi")
_INNER = struct.Struct(">i12xi")
_SIZE_AND_MAGIC = struct.Struct(">iI")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_UNUSUAL = COMPRESSED_FLAG | IPV6_BORN_FLAG | IPV6_STORE_FLAG | NEED_UNWRAP_FLAG | INNER_BATCH_FLAG
_INNER_COUNT = re.compile(rb"(?:\A|\x02)INNER_NUM\x01(\d{1,5})\x02")
_BORN_HOST_AT = 48
_IPV6_EXTRA = 12


def decode_stored(
    queue: MessageQueue, buffer: bytes, *, end: int | None = None, most_unpacked: int = MAX_BODY_BYTES
) -> DecodedBatch:
    """Decode the body of an answer to a pull: every message in it, units unwrapped, bodies unpacked.

    What producers have written is not trusted: a body that can't be unpacked and a unit that can't be unwrapped are `damaged`,
    and all others are read.

    Args:
        queue: where it comes from.
        buffer: the answer's body.
        end: the offset behind its last message, as the broker says it; None: not known.
        most_unpacked: compressed bodies become at most so many bytes together; what would be more is left in the answer, see
            `DecodedBatch.is_cut`. A message that comes first may become `MAX_BODY_BYTES`.

    Raises:
        ProtocolError: what the broker has written is cut short or contradicts itself.
        Unsupported: a body is compressed with something whose package is not installed.
    """
    columns = _Columns(buffer, end, most_unpacked)
    try:
        columns.read()
    except (struct.error, IndexError) as error:
        msg = f"stored messages of {queue} are cut short: {error}"
        raise ProtocolError(msg) from error
    return DecodedBatch(
        queue,
        columns.bodies,
        columns.offsets,
        concat_properties([*columns.before, columns.properties]),
        columns.times,
        [Source(buffer, columns.positions)] if columns.positions else [],
        columns.units,
        damaged=columns.damaged,
        unpacked_bytes=columns.unpacked_bytes,
        is_cut=columns.is_cut,
    )


class _Columns:
    __slots__ = (
        "before",
        "bodies",
        "buffer",
        "damaged",
        "end",
        "is_cut",
        "most_unpacked",
        "offsets",
        "positions",
        "properties",
        "times",
        "units",
        "unpacked_bytes",
    )

    def __init__(self, buffer: bytes, end: int | None, most_unpacked: int) -> None:
        self.buffer = buffer
        self.end = end
        self.most_unpacked = most_unpacked
        self.damaged: dict[int, ProtocolError] = {}
        self.unpacked_bytes = 0
        self.is_cut = False
        self.bodies: list[bytes] = []
        self.offsets: list[int] = []
        self.properties: list[bytes] = []
        # The properties of messages before those.
        self.before: list[Sequence[bytes]] = []
        self.times: list[int] = []
        self.positions: list[int] = []
        self.units = 0

    def read(self) -> None:
        # The loop of the hot path: names are local, a message costs five appends and two slices.
        buffer = self.buffer
        unpack = _IPV4.unpack_from
        body_offset = _IPV4.size
        add_body, add_offset, add_properties = self.bodies.append, self.offsets.append, self.properties.append
        add_time, add_position = self.times.append, self.positions.append
        at = 0
        end = len(buffer)
        while at < end:
            size, magic, offset, sys_flag, stored, length = unpack(buffer, at)
            if magic != MAGIC_V1 or sys_flag & _UNUSUAL:
                at = self._read_unusual(at)
                continue
            body_at = at + body_offset
            topic_at = body_at + length
            if length < 0:
                raise _contradiction(at)
            properties_at = topic_at + buffer[topic_at] + 3
            after = properties_at + (buffer[properties_at - 2] << 8 | buffer[properties_at - 1])
            if after != at + size or after > end:
                raise _contradiction(at)
            add_body(buffer[body_at:topic_at])
            add_offset(offset)
            add_properties(buffer[properties_at:after])
            add_time(stored)
            add_position(at)
            self.units += 1
            at = after

    def _read_unusual(self, at: int) -> int:
        """Read one stored message of any form; return where the next to read begins."""
        buffer = self.buffer
        size: int
        magic: int
        size, magic = _SIZE_AND_MAGIC.unpack_from(buffer, at)
        if magic not in {MAGIC_V1, MAGIC_V2}:
            msg = f"no stored message begins at byte {at} of the answer: magic {magic:#x}"
            raise ProtocolError(msg)
        (offset,) = _LONG.unpack_from(buffer, at + 20)
        (sys_flag,) = _INT.unpack_from(buffer, at + 36)
        time_at = at + _BORN_HOST_AT + 8 + (_IPV6_EXTRA if sys_flag & IPV6_BORN_FLAG else 0)
        (stored,) = _LONG.unpack_from(buffer, time_at)
        length_at = time_at + 28 + (_IPV6_EXTRA if sys_flag & IPV6_STORE_FLAG else 0)
        length: int = _INT.unpack_from(buffer, length_at)[0]
        topic_at = length_at + 4 + length
        if length < 0:
            raise _contradiction(at)
        if magic == MAGIC_V1:
            properties_at = topic_at + buffer[topic_at] + 3
        else:
            properties_at = topic_at + (buffer[topic_at] << 8 | buffer[topic_at + 1]) + 4
        after = properties_at + (buffer[properties_at - 2] << 8 | buffer[properties_at - 1])
        if after != at + size or after > len(buffer):
            raise _contradiction(at)
        body, raw_properties = buffer[length_at + 4 : topic_at], buffer[properties_at:after]
        self.units += 1
        said = room = None
        is_unit = bool(sys_flag & NEED_UNWRAP_FLAG and sys_flag & INNER_BATCH_FLAG)
        if is_unit:
            inner = _INNER_COUNT.search(raw_properties)
            said, room = int(inner[1]) if inner is not None else None, self._room(offset, after)
        if sys_flag & COMPRESSED_FLAG:
            try:
                plain = self._unpack(body, sys_flag)
            except ProtocolError as error:
                self._add_damaged(error, body, raw_properties, offset, stored, at, _offsets_of(said, room))
                return after
            if plain is None:
                self.is_cut = True
                self.units -= 1
                return len(buffer)
            body = plain
        if is_unit:
            self._unwrap(body, raw_properties, offset, stored, at, said, room)
        else:
            self._add(body, raw_properties, offset, stored, at)
        return after

    def _add(self, body: bytes, raw_properties: bytes, offset: int, stored: int, at: int) -> None:
        self.bodies.append(body)
        self.offsets.append(offset)
        self.properties.append(raw_properties)
        self.times.append(stored)
        self.positions.append(at)

    def _unpack(self, body: bytes, sys_flag: int) -> bytes | None:
        """Unpack a body; None: it would be more than is wanted, so this message is left in the answer."""
        # The first one is given out whatever it becomes, or reading would never get past it.
        left = self.most_unpacked - self.unpacked_bytes if self.bodies else MAX_BODY_BYTES
        try:
            plain = decompress(body, compression_of(sys_flag), max(0, min(left, MAX_BODY_BYTES)))
        except UnpacksToMore:
            if left >= MAX_BODY_BYTES:
                raise
            return None
        self.unpacked_bytes += len(plain)
        return plain

    def _add_damaged(
        self, error: ProtocolError, body: bytes, raw_properties: bytes, base: int, stored: int, at: int, count: int
    ) -> None:
        """Keep at its offset what can't be read; of a unit none of its offsets is missing, and its bytes are there once."""
        for offset in range(base, base + count):
            self._add(body if offset == base else b"", raw_properties if offset == base else b"", offset, stored, at)
            self.damaged[offset] = error

    def _unwrap(
        self, unit: bytes, raw_properties: bytes, base: int, stored: int, at: int, said: int | None, room: int | None
    ) -> None:
        """Read the messages of a unit; the first one's offset is `base`."""
        try:
            bodies, properties = _messages_of(unit, said, room)
        except (ProtocolError, struct.error, IndexError) as error:
            damage = ProtocolError(f"a unit of messages that can't be unwrapped: {error}")
            self._add_damaged(damage, unit, raw_properties, base, stored, at, _offsets_of(said, room))
            return
        count = len(bodies)
        self.bodies += bodies
        self.before += (self.properties[:], properties)
        self.properties.clear()
        self.offsets.extend(range(base, base + count))
        self.times.extend([stored] * count)
        self.positions.extend([at] * count)

    def _room(self, base: int, after: int) -> int | None:
        """How many offsets there are up to what follows in the queue; None: not known."""
        following: int | None = _LONG.unpack_from(self.buffer, after + 20)[0] if after < len(self.buffer) else self.end
        return None if following is None or following <= base else following - base


def _offsets_of(said: int | None, room: int | None) -> int:
    """How many offsets what can't be read has: as the properties of a unit say, and never more than there are."""
    return max(1, said or 1 if room is None else min(said or 1, room))


def _messages_of(unit: bytes, said: int | None, room: int | None) -> tuple[list[bytes], Sequence[bytes]]:
    """Return the bodies and properties of the messages of a unit.

    Raises:
        ProtocolError, struct.error, IndexError: it is none, or not one for so many offsets.
    """
    found: tuple[list[bytes], Sequence[bytes]] = (None if said is None else decode_numbered(unit, said)) or _walk(unit)
    count = len(found[0])
    # Anybody can set the flags of a unit; of real ones the broker counts the messages.
    if not count or (room is not None and count > room):
        msg = f"it has {count} messages" if room is None else f"it has {count} messages in the place of {room}"
        raise ProtocolError(msg)
    return found


def _walk(unit: bytes) -> tuple[list[bytes], list[bytes]]:
    """Read the bodies and properties of the messages of a unit one by one."""
    unpack = _INNER.unpack_from
    bodies: list[bytes] = []
    properties: list[bytes] = []
    add_body, add_properties = bodies.append, properties.append
    at = 0
    end = len(unit)
    while at < end:
        size, length = unpack(unit, at)
        after = at + size
        properties_at = at + length + 22
        if length < 0 or after > end or properties_at + (unit[properties_at - 2] << 8 | unit[properties_at - 1]) != after:
            msg = f"the message at byte {at} of it contradicts its own lengths"
            raise ProtocolError(msg)
        add_body(unit[at + 20 : properties_at - 2])
        add_properties(unit[properties_at:after])
        at = after
    return bodies, properties


def _contradiction(at: int) -> ProtocolError:
    return ProtocolError(f"the stored message at byte {at} of the answer contradicts its own lengths")
