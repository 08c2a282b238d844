"""What comes over a link before it is read: bytes in their order, and the snapshot before them."""

import tempfile
from typing import IO

_MEMORY = 4 << 20
_MARK = 40


class Spool:
    """Bytes in the order in which they came: some in memory, and what is more in a file without a name."""

    def __init__(self) -> None:
        self._first = bytearray()
        self._file: IO[bytes] | None = None
        self._begin = 0
        self._end = 0

    @property
    def left(self) -> int:
        """So many bytes have come and were not taken."""
        return len(self._first) + self._end - self._begin

    def feed(self, data: bytes) -> None:
        """Puts bytes behind those that are there."""
        if self._end == self._begin and len(self._first) + len(data) <= _MEMORY:
            self._first += data
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="rocketconnect-redis-")  # noqa: SIM115 - it lives as long as this
        self._file.seek(self._end)
        self._file.write(data)
        self._end += len(data)

    def take(self, size: int) -> bytes:
        """The next bytes, at most so many."""
        if self._first:
            data = bytes(self._first[:size])
            del self._first[:size]
            return data
        if self._file is None or self._end == self._begin:
            return b""
        self._file.seek(self._begin)
        data = self._file.read(min(size, self._end - self._begin))
        self._begin += len(data)
        if self._begin == self._end:
            self._begin = self._end = 0
            self._file.truncate(0)
        return data

    def close(self) -> None:
        """Gives the file back."""
        self._first.clear()
        self._begin = self._end = 0
        if self._file is not None:
            self._file.close()
            self._file = None


class Transfer:
    """A snapshot on its way into a file without a name.

    Attributes:
        file: The snapshot; when all of it has come, at its beginning.
        is_whole: All of it has come.
        size: So many bytes have come.
    """

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix="rocketconnect-redis-")  # noqa: SIM115 - it lives as long as this
        self.is_whole = False
        self.size = 0
        self._head = b""
        self._left = -1
        self._mark = b""
        self._tail = b""

    def feed(self, data: bytes) -> bytes:
        """Takes what has come. Returns: what stands behind the snapshot.

        Raises:
            ValueError: it begins with something else.
        """
        if self._left < 0 and not self._mark:
            # While the server makes the snapshot it sends empty lines.
            head, ending, data = (self._head + data).lstrip(b"\n").partition(b"\r\n")
            if not ending:
                self._head = head
                return b""
            self._begin(head)
        if self._mark:
            # How long it is nobody knows: a mark stands at its end, and nothing behind it before it is acknowledged.
            self._write(data)
            self._tail = (self._tail + data)[-_MARK:]
            if self._tail == self._mark:
                self.size -= _MARK
                self._end()
            return b""
        mine, rest = data[: self._left], data[self._left :]
        self._write(mine)
        self._left -= len(mine)
        if not self._left:
            self._end()
        return rest

    def close(self) -> None:
        """Gives the file back."""
        self.file.close()

    def _begin(self, head: bytes) -> None:
        if head.startswith(b"$EOF:") and len(head) == len(b"$EOF:") + _MARK:
            self._mark = head[len(b"$EOF:") :]
        elif head[:1] == b"$" and head[1:].isdigit():
            self._left = int(head[1:])
        else:
            msg = f"in the place of a snapshot stands {head[:200]!r}"
            raise ValueError(msg)

    def _write(self, data: bytes) -> None:
        self.file.write(data)
        self.size += len(data)

    def _end(self) -> None:
        self.is_whole = True
        self.file.seek(0)
