"""Of which file an open one is the copy, and where reading goes on in it."""

from dataclasses import dataclass
from pathlib import Path
from threading import Event

from connectors.file_source.content import Content, Plain
from connectors.file_source.rotation.copies import Copies
from connectors.file_source.rotation.dealing import Key
from connectors.file_source.rotation.formers import Former, Formers
from connectors.file_source.rotation.hands import Hands
from rocketconnect_sdk.record import Offset

_PIECE = 1 << 18


@dataclass(slots=True)
class Descent:
    """Of one file.

    More of its original may be in the topic than is stored: so a copy is read on under the partition of its original, when no other
    file is read under that. A packed file is one of its own, at its end, when all of it was read in its original and is stored:
    who writes may still go on in the original, which is held open.

    Attributes:
        content: The file.
        key: Which one.
        copies: Tells whether it is a copy.
        formers: What files held.
        hands: Which partitions are read in which files.
        stopping: Ends a long read early.
        original: The file that it is a copy of; None: it is none, or that is not known.
        is_read: All of it was read in its original.
    """

    content: Content
    key: Key
    copies: Copies
    formers: Formers
    hands: Hands
    stopping: Event
    original: Former | None = None
    is_read: bool = False
    _end: Offset | None = None

    def is_told(self, path: Path, *, alone: bool, whole: bool) -> bool:
        """Finds its original, if it has one. False: that can't be told yet.

        Args:
            path: Where it is.
            alone: It is the only file of its source: where it is a copy, that was told when it was opened.
            whole: Nothing more will come, and nothing is waited for.
        """
        if self.original is None and not alone:
            if self.copies.may_be_unfinished(self.content, path):
                return False
            self.original = self.copies.original_of(self.content, path)
            if self.original is None:
                return whole or not self.copies.may_be_emptied(self.content, path)
        return self.original is None or self._may_go_on(self.original, path)

    def _may_go_on(self, original: Former, path: Path) -> bool:
        """Whether it is its turn."""
        # More may have been read since.
        former = self.formers.of(original.partition) or original
        if self.copies.is_packed_away(self.content, path, original):
            end = self.end()
            self.is_read = min(former.offset, self.hands.stored.get(former.partition, (0,))) >= end
            if self.is_read or former.offset > end:
                return self.is_read
        if self.hands.in_other(former.partition, self.key):
            # Who reads it there finds that it was emptied, or reads it to its end.
            return False
        self.original = former
        return True

    def end(self) -> Offset:
        """Behind its last record, when nothing more is written into it."""
        if self._end is None:
            if isinstance(self.content, Plain):
                size = self.content.stored_size
                last = self.content.between(size - 1, size) if size else b""
            else:
                size, last = 0, b""
                self.content.seek(0)
                while not self.stopping.is_set() and (data := self.content.read(_PIECE)):
                    size, last = size + len(data), data[-1:]
            self._end = (size,) if last in (b"", b"\n") else (size, 1)
        return self._end
