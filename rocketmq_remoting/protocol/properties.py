"""Message properties: `name U+0001 value U+0002` for each."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from itertools import count
from typing import TYPE_CHECKING

from rocketmq_remoting.errors import InvalidMessage, MessageTooLarge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocketmq_remoting.model import Message

TAGS = "TAGS"
KEYS = "KEYS"
UNIQUE_KEY = "UNIQ_KEY"
DELAY_LEVEL = "DELAY"
DELIVER_AT_MS = "TIMER_DELIVER_MS"
WAIT_STORE = "WAIT"
# The length of the properties is a signed short.
MAX_PROPERTIES_BYTES = 32_767

_SEPARATORS = re.compile("[\x01\x02]")


def encode_properties(properties: Mapping[str, str]) -> bytes:
    """Encode properties as they stand in a message.

    Raises:
        InvalidMessage: a name or value is empty or holds a separator; RocketMQ would drop or tear it.
        MessageTooLarge: more than 32,767 bytes.
    """
    parts = []
    for name, value in properties.items():
        if not name or not value or _SEPARATORS.search(name) or _SEPARATORS.search(value):
            msg = (
                f"property {name!r}={value!r}: neither name nor value may be empty or hold U+0001 or U+0002; leave "
                "the property out or encode its value"
            )
            raise InvalidMessage(msg)
        parts.append(f"{name}\x01{value}\x02")
    encoded = "".join(parts).encode()
    if len(encoded) > MAX_PROPERTIES_BYTES:
        msg = f"the properties take {len(encoded)} bytes and RocketMQ allows {MAX_PROPERTIES_BYTES}: put large values into the body"
        raise MessageTooLarge(msg)
    return encoded


def decode_properties(raw: bytes) -> dict[str, str]:
    """Decode the properties of a message; what has no name or no value is left out, as RocketMQ's own client does."""
    decoded = {}
    for pair in raw.decode(errors="replace").split("\x02"):
        name, _, value = pair.partition("\x01")
        if name and value:
            decoded[name] = value
    return decoded


def message_properties(message: Message, unique_key: str | None = None) -> bytes:
    """Return the encoded properties of a message, with its tags, keys and times.

    Raises:
        InvalidMessage: as `encode_properties`.
    """
    properties = dict(message.properties)
    if message.tags:
        properties[TAGS] = message.tags
    if message.keys:
        properties[KEYS] = message.keys
    if message.delay_level:
        properties[DELAY_LEVEL] = str(message.delay_level)
    if message.deliver_at_ms:
        properties[DELIVER_AT_MS] = str(message.deliver_at_ms)
    if unique_key is not None:
        properties.setdefault(UNIQUE_KEY, unique_key)
    return encode_properties(properties)


class UniqueKeys:
    """Makes client message ids (`UNIQ_KEY`) in RocketMQ's layout: host, process, salt, time in the month, counter.

    Safe for concurrent use.
    """

    def __init__(self) -> None:
        self._fixed = (_host_address() + (os.getpid() & 0xFFFF).to_bytes(2, "big") + os.urandom(4)).hex().upper()
        self._counter = count()
        self._lock = threading.Lock()
        self._month = (0, 0)
        self._month_start_ms = 0

    def next(self) -> str:
        """Return a new id of 32 hexadecimal digits."""
        now_ms = time.time_ns() // 1_000_000
        local = time.localtime(now_ms // 1000)
        with self._lock:
            if self._month != (local.tm_year, local.tm_mon):
                self._month = (local.tm_year, local.tm_mon)
                self._month_start_ms = int(time.mktime((*self._month, 1, 0, 0, 0, 0, 0, -1))) * 1000
            start = self._month_start_ms
            number = next(self._counter)
        return f"{self._fixed}{(now_ms - start) & 0xFFFFFFFF:08X}{number & 0xFFFF:04X}"


def _host_address() -> bytes:
    try:
        return socket.inet_aton(socket.gethostbyname(socket.gethostname()))
    except OSError:
        # A host that can't resolve its own name still sends: the address only helps people to read the id.
        return os.urandom(4)
