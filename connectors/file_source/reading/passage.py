"""What reading has passed of a file: what tells the file from others there, and at places just behind. Pure."""

from connectors.file_source.rotation.fingerprint import SEEN_BYTES, Fingerprint


class Passage:
    """How far a file was read, and what stands before that place.

    Attributes:
        head: How the file begins.
        at: Behind what was passed.
        tail: What stands before that, at most SEEN_BYTES.
    """

    def __init__(self, head: bytes = b"", at: int = 0, tail: bytes = b"") -> None:
        self.head = head
        self.at = at
        self.tail = tail
        self._before = b""
        self._passed = b""

    def go_on(self, data: bytes) -> None:
        """Content has become records, or is none."""
        self._before, self._passed = self.tail, data
        self.at += len(data)
        self.tail = (self.tail + data[-SEEN_BYTES:])[-SEEN_BYTES:]

    def forget(self) -> None:
        """No place within what was passed last is asked for any more."""
        self._before = self._passed = b""

    def fingerprint(self, end: int | None = None) -> Fingerprint:
        """That of the content up to where reading is, or up to a byte within what was passed last."""
        if end is None or end == self.at:
            return Fingerprint.of(self.head, self.tail, self.at)
        within = len(self._passed) - (self.at - end)
        tail = self._passed[max(0, within - SEEN_BYTES) : within]
        if within < SEEN_BYTES:
            tail = (self._before + tail)[-SEEN_BYTES:]
        return Fingerprint.of(self.head, tail, end)
