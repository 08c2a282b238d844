"""What of the content of a file tells it from others: its beginning, and what stands before the place where reading stopped."""

from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32

from connectors.file_source.content import Content, Plain
from rocketconnect_sdk.resume import JSON

SEEN_BYTES = 1024
"""So many bytes at the beginning, and as many before the end of what was read."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Of what was read of a file.

    Attributes:
        begin: How many bytes of its beginning, and their CRC.
        last: From which byte up to which, and the CRC of what stands there.
    """

    begin: tuple[int, int]
    last: tuple[int, int, int]

    @classmethod
    def of(cls, head: bytes, tail: bytes, end: int) -> "Fingerprint":
        """That of a file that begins with head, and has tail before the byte `end`."""
        head = head[:end]
        return cls((len(head), crc32(head)), (end - len(tail), end, crc32(tail)))

    @classmethod
    def of_beginning(cls, head: bytes) -> "Fingerprint":
        """That of a file that begins with head, of which nothing was read yet."""
        return cls((len(head), crc32(head)), (0, 0, crc32(b"")))

    def fits(self, content: Content) -> bool:
        """Whether a file has the same content up to there. Moves in it. Raises as seek and read do."""
        size, crc = self.begin
        if crc32(content.head(size)) != crc or (isinstance(content, Plain) and content.stored_size < self.last[1]):
            return False
        begin, end, crc = self.last
        return crc32(bytes_between(content, begin, end)) == crc if end > begin else True

    def written(self) -> JSON:
        """As it is stored beside an offset."""
        return [*self.begin, *self.last]


def bytes_between(content: Content, begin: int, end: int) -> bytes:
    """The bytes from one place to another, fewer where the content ends before. Moves in it, but where that is plain."""
    if isinstance(content, Plain):
        return content.between(begin, end)
    data = b""
    if content.seek(begin):
        while len(data) < end - begin and (piece := content.read(end - begin - len(data))):
            data += piece
    return data


def parsed(stored: Mapping[str, JSON]) -> Fingerprint | None:
    """The fingerprint that is stored beside an offset; None: there is none, as versions before this one wrote none."""
    match stored.get("fingerprint"):
        case [int(size), int(crc), int(begin), int(end), int(last)]:
            return Fingerprint((size, crc), (begin, end, last))
    return None
