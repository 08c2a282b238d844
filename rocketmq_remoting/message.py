"""A message as a broker stores it."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rocketmq_remoting.protocol.properties import KEYS, TAGS, decode_properties

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocketmq_remoting.model import MessageQueue


IPV6_BORN_FLAG = 1 << 4


IPV6_STORE_FLAG = 1 << 5


_PHYSICAL_OFFSET_AT = 28


_SYS_FLAG_AT = 36


_BORN_TIMESTAMP_AT = 40


_BORN_HOST_AT = 48


_LONG = struct.Struct(">q")


_INT = struct.Struct(">i")


@dataclass(frozen=True, kw_only=True)
class PulledMessage:
    """A message as a broker stores it. What is seldom needed is read from the answer's bytes when asked for.

    Attributes:
        queue: where it comes from.
        queue_offset: its place there.
        body: the payload, unpacked.
        raw_properties: its encoded properties.
        store_timestamp_ms: when the broker stored it, milliseconds since 1970.
    """

    queue: MessageQueue
    queue_offset: int
    body: bytes
    raw_properties: bytes
    store_timestamp_ms: int
    _buffer: bytes
    _at: int

    @cached_property
    def properties(self) -> Mapping[str, str]:
        """All properties, RocketMQ's own (upper case) among them."""
        return decode_properties(self.raw_properties)

    @property
    def tags(self) -> str:
        """The tag, or an empty string."""
        return self.properties.get(TAGS, "")

    @property
    def keys(self) -> str:
        """The keys, or an empty string."""
        return self.properties.get(KEYS, "")

    @property
    def sys_flag(self) -> int:
        """The system flag as stored."""
        return int(_INT.unpack_from(self._buffer, self._at + _SYS_FLAG_AT)[0])

    @property
    def born_timestamp_ms(self) -> int:
        """When the producer made it, milliseconds since 1970 of the producer's clock."""
        return int(_LONG.unpack_from(self._buffer, self._at + _BORN_TIMESTAMP_AT)[0])

    @property
    def born_host(self) -> str:
        """The producer's `address:port`."""
        return _host(self._buffer, self._at + _BORN_HOST_AT, ipv6=bool(self.sys_flag & IPV6_BORN_FLAG))

    @property
    def store_host(self) -> str:
        """The broker's `address:port`."""
        return _host(self._buffer, self._store_host_at, ipv6=bool(self.sys_flag & IPV6_STORE_FLAG))

    @property
    def reconsume_times(self) -> int:
        """How often a consumer group sent it back."""
        length = 20 if self.sys_flag & IPV6_STORE_FLAG else 8
        return int(_INT.unpack_from(self._buffer, self._store_host_at + length)[0])

    @property
    def message_id(self) -> str:
        """The broker's id: its address and the place in its log; on a batch topic the id of the whole unit."""
        length = 20 if self.sys_flag & IPV6_STORE_FLAG else 8
        host = self._buffer[self._store_host_at : self._store_host_at + length]
        physical = self._buffer[self._at + _PHYSICAL_OFFSET_AT : self._at + _PHYSICAL_OFFSET_AT + 8]
        return (host + physical).hex().upper()

    @property
    def _store_host_at(self) -> int:
        return self._at + _BORN_HOST_AT + (20 if self.sys_flag & IPV6_BORN_FLAG else 8) + 8


def _host(buffer: bytes, at: int, *, ipv6: bool) -> str:
    length = 16 if ipv6 else 4
    address = socket.inet_ntop(socket.AF_INET6 if ipv6 else socket.AF_INET, buffer[at : at + length])
    (port,) = _INT.unpack_from(buffer, at + length)
    return f"[{address}]:{port}" if ipv6 else f"{address}:{port}"
