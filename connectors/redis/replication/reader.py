"""Reads what a snapshot is made of: lengths, strings, times.

https://github.com/redis/redis: src/rdb.c.
"""

from struct import unpack
from typing import IO

from connectors.redis.replication.packed import unpacked_lzf

_SIX_BITS = 0x3F
_SKIP = 1 << 20


class Reader:
    """Reads a snapshot from its beginning.

    Args:
        file: The snapshot.

    Attributes:
        budget: So many bytes of strings may still be read; below 0: they are passed, and told as empty.
        expire: When fields of a hash expire, of those that do, in milliseconds since 1970.

    All methods raise EOFError where the snapshot ends, and ValueError where something else stands there.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.budget = 0
        self.expire: dict[bytes, int] = {}

    @property
    def at(self) -> int:
        """So many bytes were read."""
        return self._file.tell()

    def take(self, size: int) -> bytes:
        """So many bytes."""
        data = self._file.read(size)
        if len(data) < size:
            msg = "it ends there"
            raise EOFError(msg)
        return data

    def byte(self) -> int:
        """One byte."""
        return self.take(1)[0]

    def moment(self) -> int:
        """Milliseconds since 1970."""
        return int(unpack("<q", self.take(8))[0])

    def length(self) -> int:
        """A length, or another number that is not negative."""
        number, is_length = self._coded()
        if not is_length:
            msg = f"an encoding {number} stands where a length should"
            raise ValueError(msg)
        return number

    def _coded(self) -> tuple[int, bool]:
        """A length, or how a string is encoded, and whether it is the length."""
        first = self.byte()
        if first < 0x40:
            return first, True
        if first < 0x80:
            return (first & _SIX_BITS) << 8 | self.byte(), True
        if first == 0x80:
            return int(unpack(">I", self.take(4))[0]), True
        if first == 0x81:
            return int(unpack(">Q", self.take(8))[0]), True
        return first & _SIX_BITS, False

    def string(self) -> bytes:
        """A string; empty where the key is too large already."""
        number, is_length = self._coded()
        if not is_length and number < 3:
            return b"%d" % int.from_bytes(self.take(1 << number), "little", signed=True)
        packed = number
        if not is_length:
            packed, number = self.length(), self.length()
            if packed > number:
                msg = f"{packed:,} bytes stand for {number:,}, and are said to be compressed"
                raise ValueError(msg)
        self.budget -= number
        if self.budget < 0:
            for begin in range(0, packed, _SKIP):
                self.take(min(_SKIP, packed - begin))
            return b""
        data = self.take(packed)
        return data if is_length else unpacked_lzf(data, number)

    def strings(self, for_each: int = 1) -> list[bytes]:
        """How many things there are, and so many strings for each."""
        return [self.string() for _ in range(self.length() * for_each)]

    def module_parts(self) -> None:
        """Passes what a module has written."""
        while code := self.length():
            if code in (1, 2):
                self.length()
            elif code in (3, 4):
                self.take(4 if code == 3 else 8)
            else:
                self.string()
