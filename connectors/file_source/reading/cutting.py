"""Content that was read and is no record yet, and the records that are cut from it. Pure."""

from hashlib import sha256

from connectors.file_source.reading.passage import Passage
from connectors.file_source.records import FIRST_PART, NOTHING, Cut, Format, too_long
from rocketconnect_sdk.record import Offset


class LongLine:
    """A line that no message can hold: hashed as it goes by, so that it is never in memory as a whole."""

    def __init__(self) -> None:
        self._hash = sha256()
        self._length = 0
        self._first = b""

    def add(self, data: bytes) -> None:
        """More of it."""
        self._hash.update(data)
        self._length += len(data)
        self._first += data[: FIRST_PART - len(self._first)]

    def cut(self, offset: Offset, limit: int) -> Cut:
        """What stands for it: it ends here, and a message holds so many bytes."""
        return Cut([too_long(self._first, self._length, self._hash.hexdigest(), limit)], [offset], 0)


class Cutting:
    """Of one file, from one place on.

    Args:
        form: What makes records.

    Attributes:
        data: What is no record yet.
        passage: What is.
        owes_newline: The line before was taken without its newline.
    """

    def __init__(self, form: Format) -> None:
        self.data = b""
        self.passage = Passage()
        self.owes_newline = False
        self._form = form
        self._long: LongLine | None = None
        self._unseen = False

    @property
    def gathered(self) -> int:
        """How many bytes of data are whole lines that the next ones may go on with."""
        return self.data.rfind(b"\n") + 1 if self._form.gathers else 0

    @property
    def is_ahead(self) -> bool:
        """Whether something is to be cut before more is read."""
        return self._unseen

    def is_left(self, *, last: bool) -> bool:
        """Whether there is something to cut, though nothing more was read. `last`: nothing more will be."""
        return self._unseen or (last and (self.data != b"" or self._long is not None))

    def cut(self, piece: bytes, *, last: bool) -> Cut:
        """The next records, of more content. `last`: nothing more will be read."""
        self.data += piece
        last = last and not piece and not self._unseen
        self._unseen = False
        if self.owes_newline and not self._skip_newline(last=last):
            return NOTHING
        if self._long is not None:
            return self._cut_long(self._long, last=last)
        cut = self._form.cut(self.data, self.passage.at, last=last)
        self._pass(cut.used)
        self.owes_newline = cut.used > 0 and len(cut.offsets) > 0 and len(cut.offsets[-1]) > 1
        if not cut.used and len(self.data) > self._form.limit and b"\n" not in self.data:
            self._long = LongLine()
            self._long.add(self.data)
            self._pass(len(self.data))
        return cut

    def cut_gathered(self) -> Cut:
        """The record of whole lines that waits for more of them, as it is."""
        if not (end := self.gathered) or self.owes_newline:
            return NOTHING
        cut = self._form.cut(self.data[:end], self.passage.at, last=True)
        self._pass(cut.used)
        return cut

    def _pass(self, size: int) -> None:
        self.passage.go_on(self.data[:size])
        self.data = self.data[size:]

    def _cut_long(self, line: LongLine, *, last: bool) -> Cut:
        part, newline, self.data = self.data.partition(b"\n")
        line.add(part)
        self.passage.go_on(part + newline)
        if not newline and not last:
            return NOTHING
        self._long = None
        self._unseen = self.data != b""
        self.owes_newline = not newline
        return line.cut((self.passage.at,) if newline else (self.passage.at, 1), self._form.limit)

    def _skip_newline(self, *, last: bool) -> bool:
        """If the newline that is owed comes now, it is none of an empty line. False: not known yet."""
        if not self.data or (self.data == b"\r" and not last):
            return False
        for newline in (b"\n", b"\r\n"):
            if self.data.startswith(newline):
                self._pass(len(newline))
        self.owes_newline = False
        return True
