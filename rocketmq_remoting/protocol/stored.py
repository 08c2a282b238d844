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

from rocketmq_remoting.batch import IPV6_BORN_FLAG, IPV6_STORE_FLAG, DecodedBatch, Source, decode_numbered
from rocketmq_remoting.errors import ProtocolError
from rocketmq_remoting.numbered import concat_properties
from rocketmq_remoting.protocol.compression import COMPRESSED_FLAG, compression_of, decompress

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


def decode_stored(queue: MessageQueue, buffer: bytes) -> DecodedBatch:
    """Decode the body of an answer to a pull: every message in it, units unwrapped, bodies unpacked.

    Raises:
        ProtocolError: the bytes are cut short or contradict themselves.
        Unsupported: a body is compressed with something whose package is not installed.
    """
    columns = _Columns(buffer)
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
    )


class _Columns:
    __slots__ = ("before", "bodies", "buffer", "offsets", "positions", "properties", "times", "units")

    def __init__(self, buffer: bytes) -> None:
        self.buffer = buffer
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
        """Read one stored message of any form; return where the next begins."""
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
        body = buffer[length_at + 4 : topic_at]
        if sys_flag & COMPRESSED_FLAG:
            body = decompress(body, compression_of(sys_flag))
        if sys_flag & NEED_UNWRAP_FLAG and sys_flag & INNER_BATCH_FLAG:
            self._unwrap(body, buffer[properties_at:after], offset, stored, at)
        else:
            self.bodies.append(body)
            self.offsets.append(offset)
            self.properties.append(buffer[properties_at:after])
            self.times.append(stored)
            self.positions.append(at)
        self.units += 1
        return after

    def _unwrap(self, unit: bytes, raw_properties: bytes, base: int, stored: int, position: int) -> None:
        """Read the messages of a unit; the first one's offset is `base`."""
        before = len(self.bodies)
        inner = _INNER_COUNT.search(raw_properties)
        numbered = decode_numbered(unit, int(inner[1])) if inner is not None else None
        if numbered is None:
            self._walk(unit, position)
        else:
            bodies, properties = numbered
            self.bodies += bodies
            self.before += (self.properties[:], properties)
            self.properties.clear()
        count = len(self.bodies) - before
        self.offsets.extend(range(base, base + count))
        self.times.extend([stored] * count)
        self.positions.extend([position] * count)

    def _walk(self, unit: bytes, position: int) -> None:
        """Read the messages of a unit one by one."""
        unpack = _INNER.unpack_from
        add_body, add_properties = self.bodies.append, self.properties.append
        at = 0
        end = len(unit)
        while at < end:
            size, length = unpack(unit, at)
            after = at + size
            properties_at = at + length + 22
            if length < 0 or after > end or properties_at + (unit[properties_at - 2] << 8 | unit[properties_at - 1]) != after:
                raise _contradiction(position)
            add_body(unit[at + 20 : properties_at - 2])
            add_properties(unit[properties_at:after])
            at = after


def _contradiction(at: int) -> ProtocolError:
    return ProtocolError(f"the stored message at byte {at} of the answer contradicts its own lengths")
