"""Reads the fields of an event in turn, and never past its end.

https://mariadb.com/kb/en/protocol-data-types/ and https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_data_types.html
"""

from connectors.mysql_cdc_source.binlog.errors import MalformedEvent


class Cursor:
    """A place in some bytes.

    Raises:
        MalformedEvent: from every read: the bytes end before the field does.
    """

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        """The next bytes, exactly so many."""
        end = self.at + size
        if end > len(self.data):
            msg = f"the event ends at byte {len(self.data)}, within a field that ends at {end}"
            raise MalformedEvent(msg)
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def rest(self) -> bytes:
        """All bytes that are left."""
        return self.take(self.left)

    def uint(self, size: int) -> int:
        """A little-endian number of so many bytes."""
        return int.from_bytes(self.take(size), "little")

    def packed(self) -> int:
        """A length-encoded integer."""
        first = self.uint(1)
        if first < 0xFB:
            return first
        size = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(first)
        if size is None:
            msg = f"byte {self.at - 1} is {first:#x}, which begins no length-encoded integer"
            raise MalformedEvent(msg)
        return self.uint(size)

    def text(self, size: int) -> str:
        """UTF-8 text of so many bytes, such as a name; what is none is shown escaped."""
        return self.take(size).decode("utf-8", "backslashreplace")
