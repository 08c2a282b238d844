"""An object as a file that is read piece by piece."""

import io

from connectors.object_store_source.listing import Found, Objects

PIECE = 4 << 20
"""So much is asked for at once, at least."""


class Content(io.RawIOBase):
    """The bytes of an object.

    Args:
        objects: Where it is.
        found: Which.

    Raises, when it is read:
        Gone: see there.
    """

    def __init__(self, objects: Objects, found: Found) -> None:
        super().__init__()
        self._objects = objects
        self._found = found
        self._at = 0

    def readable(self) -> bool:
        """See io."""
        return True

    def seekable(self) -> bool:
        """See io."""
        return True

    def tell(self) -> int:
        """See io."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """See io."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._found.size}[whence]
        return self._at

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]  # what BufferedReader gives
        """See io."""
        length = min(len(buffer), self._found.size - self._at)
        if length <= 0:
            return 0
        data = self._objects.read(self._found, self._at, length)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def opened(objects: Objects, found: Found) -> io.BufferedReader:
    """The bytes of an object, asked for in large pieces."""
    return io.BufferedReader(Content(objects, found), PIECE)
