"""One file, read record by record from where it was left."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from threading import Event

from connectors.file_source.content import Content, Plain, open_content
from connectors.file_source.identity import HEAD_BYTES, FileCoordinate, Identity, Places, head_of
from connectors.file_source.records import FIRST_PART, NOTHING, Cut, Format, located, too_long
from connectors.file_source.rotation.copies import Copies
from connectors.file_source.rotation.dealing import Dealing
from connectors.file_source.rotation.fingerprint import SEEN_BYTES, Fingerprint, bytes_between
from connectors.file_source.rotation.formers import Former, Formers
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, SourceBatch

_COUNTED = 1 << 24
"""So many bytes are looked through for a message."""
_LOOKED_AT = 8192
"""A NUL byte in so many first bytes makes a file a binary one."""


class _LongLine:
    """A line that no message can hold: hashed as it goes by, so that it is never in memory as a whole."""

    def __init__(self) -> None:
        self._hash = sha256()
        self._length = 0
        self._first = b""

    def add(self, data: bytes) -> None:
        self._hash.update(data)
        self._length += len(data)
        self._first += data[: FIRST_PART - len(self._first)]

    def cut(self, offset: Offset, limit: int) -> Cut:
        return Cut([too_long(self._first, self._length, self._hash.hexdigest(), limit)], [offset], 0)


class Reader:
    """Reads one file, from the place where it was left to its present end, and on as it grows.

    Args:
        path: Where it was found. It may be renamed later.
        places: What is known of files.
        formers: What they held when they were read.
        copies: Tells whether it is the copy of another one.
        dealing: Tells whether it is of this task.
        make_format: Gives a Format for it.
        gzip: It is compressed.
        known_only: It is read only if something of it was read before.
        stopping: Ends a long read early.
        alone: It is the only file of its source, and each that was read before was in its place.
        original: The file that it is a copy of, where that is known.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        places: Places,
        formers: Formers,
        copies: Copies,
        dealing: Dealing,
        make_format: Callable[[], Format],
        *,
        gzip: bool,
        known_only: bool,
        stopping: Event,
        alone: bool = False,
        original: Former | None = None,
    ) -> None:
        self.path = path
        self._known_only = known_only
        self._is_alone = alone
        self.foreign = False
        """It is of another task, or none of those that were read before, and so it is not read."""
        self.was_read = False
        """It is foreign, and something of it was read before this task started."""
        self.alike: Mapping[int, FileCoordinate] = {}
        """Where other files that began alike were read to, by their inodes, when this one is begun."""
        self.lost: Former | None = None
        """What stood in it, or in its place, until it was emptied, written anew or replaced: there may have been more."""
        self.original = original
        """The file that it goes on with."""
        self._places = places
        self._formers = formers
        self._copies = copies
        self._dealing = dealing
        self._looked_back = False
        self._make_format = make_format
        self._stopping = stopping
        self._content: Content = open_content(path, gzip=gzip)
        self.key = (self._content.device, self._content.inode)
        self._written_anew = False
        self._too_short = False
        self._is_unended = False
        self._begin()

    def _begin(self) -> None:
        self._format = self._make_format()
        self._place: FileCoordinate | None = None
        self._identity = Identity(*self.key, self._content.born_ns, 0)
        self._head = b""
        self._data = b""
        self._at = 0
        self._tail = b""
        self._checked = -1, -1
        self._noted: Offset = (0,)
        self._owes_newline = False
        self._long: _LongLine | None = None
        self._unseen = False
        self._counted = 0, 0
        self._has_header = self._format.needs_header

    @property
    def stored_size(self) -> int:
        """How many bytes the file has on disk."""
        return self._content.stored_size

    @property
    def remaining(self) -> int:
        """How many bytes are not read yet, those of a line without its end too; 0 for a file with nothing but a header.

        Whole lines that the next ones may go on with are read.
        """
        if self._too_short:
            return self._content.stored_size if self._is_unended else 0
        return self.unfinished - (self._data.rfind(b"\n") + 1 if self._format.gathers else 0)

    @property
    def unfinished(self) -> int:
        """How many bytes are no records yet: not read, or of a line without its end."""
        return max(0, self._content.stored_size - self._content.stored_read) + len(self._data)

    def read(self, size: int, *, last: bool, quiet: float = 0.0) -> SourceBatch | None:
        """The next records; None: there is no whole one now.

        Args:
            size: About how many bytes of the content to read at once.
            last: Nothing more will come: what stands at the end without a newline is a record, too.
            quiet: For so many seconds nothing came.

        Raises:
            OSError: it cannot be read now.
            PermanentError: it is not what the configuration says.
        """
        if self._place is not None and self._is_another():
            if (cut := self._cut_gathered()).values:
                # It is nowhere else. What is there now is looked at the next time.
                self._checked = -1, -1
                return self._batch(cut, 0)
            self.lost = self._former()
            self._begin()
            self._written_anew = True
        if self._place is None:
            self._too_short = not self._recognise(whole=last)
            if self._too_short:
                self._is_unended = not self.foreign and self._is_told_of and self._content.head(_LOOKED_AT)[-1:] not in (b"\n", b"")
                return None
        while not self._stopping.is_set():
            piece = b"" if self._unseen else self._content.read(size)
            self._data += piece
            if not piece and not self._unseen and not (last and (self._data or self._long)):
                is_over = 0 < self._format.rest_seconds <= quiet
                cut = self._cut_gathered() if is_over else NOTHING
                return self._batch(cut, 0) if cut.values else self._note()
            at_end = last and not piece and not self._unseen
            self._unseen = False
            cut = self._cut(last=at_end)
            if cut.values:
                return self._batch(cut, len(piece))
        return None

    def close(self) -> None:
        """Closes the file."""
        self._content.close()

    @property
    def _is_told_of(self) -> bool:
        """Of several tasks that hold a file open because nobody knows how it begins, one tells of it."""
        head = head_of(self._content.head(HEAD_BYTES), 1, whole=True)
        return head is not None and self._dealing.has(head)

    def _is_another(self) -> bool:
        """Whether the file was emptied or written anew in its place."""
        state = self._content.stored_state
        if state == self._checked:
            return False
        self._checked = state
        if state[0] < self._content.stored_read or self._content.head(len(self._head)) != self._head:
            return True
        return isinstance(self._content, Plain) and self._content.between(self._at - len(self._tail), self._at) != self._tail

    def _recognise(self, *, whole: bool) -> bool:
        """Finds out which file it is, and goes to where it was left. False: it is too short to tell."""
        first = self._content.head(HEAD_BYTES)
        head = head_of(first, 2 if self._format.needs_header else 1, whole=whole)
        if head is None:
            self._look_back(shorter=True)
            return False
        self._identity = replace(self._identity, head=head)
        self.foreign = not self._dealing.has(head) or (self._known_only and not self._places.knows(self._identity))
        if self.foreign:
            if not self._known_only and not self._written_anew:
                self._look_back()
            self.was_read = self._places.knows(self._identity)
            return False
        if self._format.needs_header and not self._read_header(whole=whole):
            return False
        is_new = not self._places.knows(self._identity)
        if is_new and not self._written_anew and not self._is_alone and self.original is None:
            if self._copies.may_be_unfinished(self._content, self.path):
                return False
            self.original = self._copies.original_of(self._content, self.path)
            if self.original is None and not whole and self._copies.may_be_emptied(self._content, self.path):
                return False
        begin = self._at
        self._head = first
        if self._is_alone and is_new:
            self.alike = self._places.alike(self._identity)
        place = self._places.anew(self._identity) if self._written_anew else self._places.of(self._identity)
        if is_new and self.original is not None:
            place = replace(place, offset=self.original.offset)
        elif is_new and not self._written_anew:
            self._look_back()
        if place.offset == (0,) or not (self._holds_what_was_read(place) and self._go_to(place.offset)):
            if place.offset != (0,):
                self._look_back()
                place = self._places.anew(self._identity)
            self._refuse_binary()
            self._content.seek(begin)
            self._at = begin
        self._written_anew = False
        self._tail = bytes_between(self._content, max(0, self._at - SEEN_BYTES), self._at)
        self._content.seek(self._at)
        self._place = place
        return True

    def _holds_what_was_read(self, place: FileCoordinate) -> bool:
        """Whether the content before a stored place is what was read; where nothing is known of it, the place itself decides."""
        known = self._formers.fingerprint(place.partition, place.offset)
        return known is None or known.fits(self._content)

    def _look_back(self, *, shorter: bool = False) -> None:
        """Looks for what stood here before. `shorter`: it is not told yet what stands here now, only whether that is less."""
        if self._looked_back:
            return
        former = self._formers.not_held_any_more(
            self._content, self.path, self._dealing.is_of, alone=self._is_alone, shorter=shorter
        )
        if former is not None:
            self.lost, self._looked_back = former, True

    def _former(self) -> Former | None:
        """What was read of it until now."""
        if self._place is None or self._place.offset == (0,):
            return None
        partition = self._place.partition
        known = Fingerprint.of(self._head, self._tail, self._at)
        return Former(partition, self._place.offset, known, str(self.path), self._formers.next_turn(partition))

    def _note(self) -> SourceBatch | None:
        """All is read: a batch that stores beside the offset what stands before it. None: it was stored, or there is nothing."""
        former = self._former()
        if former is None or former.offset == self._noted:
            return None
        self._noted = former.offset
        self._formers.keep(former)
        return SourceBatch(former.partition, [], [], end=former.offset, resume=former.note())

    def _pass(self, data: bytes) -> None:
        """Content has become records, or is none."""
        self._at += len(data)
        self._tail = (self._tail + data[-SEEN_BYTES:])[-SEEN_BYTES:]

    def _go_to(self, offset: Offset) -> bool:
        """Goes to a stored offset. False: the file is not the one that was read, because there is no end of a line."""
        end, unterminated = offset[0], len(offset) > 1
        if not self._content.seek(end - 1):
            return False
        before = self._content.read(1)
        if before != b"\n" and not (unterminated and before):
            return False
        self._at = end
        self._owes_newline = unterminated
        return True

    def _read_header(self, *, whole: bool) -> bool:
        self._content.seek(0)
        data = b""
        limit = self._format.limit
        while b"\n" not in data and len(data) <= limit:
            piece = self._content.read(_LOOKED_AT)
            if not piece:
                break
            data += piece
        line, newline, _ = data.partition(b"\n")
        if not newline and not whole and len(data) <= limit:
            return False
        try:
            if len(line) > limit:
                msg = f"the header has more than {limit} bytes"
                raise ValueError(msg)  # noqa: TRY301  # one answer for all faults of a header
            self._format.header(line)
        except ValueError as error:
            msg = f"{self.path}: {error}"
            raise PermanentError(msg) from None
        self._at = len(line) + len(newline)
        return True

    def _refuse_binary(self) -> None:
        if b"\0" in self._content.head(_LOOKED_AT):
            msg = f"{self.path} is a binary file: it has NUL bytes; this source reads text"
            raise PermanentError(msg)

    def _cut(self, *, last: bool) -> Cut:
        if self._owes_newline and not self._skip_newline(last=last):
            return Cut([], [], 0)
        if self._long is not None:
            return self._cut_long(self._long, last=last)
        cut = self._format.cut(self._data, self._at, last=last)
        self._pass(self._data[: cut.used])
        self._data = self._data[cut.used :]
        self._owes_newline = cut.used > 0 and len(cut.offsets) > 0 and len(cut.offsets[-1]) > 1
        if not cut.used and len(self._data) > self._format.limit and b"\n" not in self._data:
            self._long = _LongLine()
            self._long.add(self._data)
            self._pass(self._data)
            self._data = b""
        return cut

    def _cut_gathered(self) -> Cut:
        """The record of whole lines that waits for more of them, as it is."""
        end = self._data.rfind(b"\n") + 1
        if not self._format.gathers or not end or self._owes_newline:
            return NOTHING
        cut = self._format.cut(self._data[:end], self._at, last=True)
        self._pass(self._data[: cut.used])
        self._data = self._data[cut.used :]
        return cut

    def _cut_long(self, line: _LongLine, *, last: bool) -> Cut:
        part, newline, self._data = self._data.partition(b"\n")
        line.add(part)
        self._pass(part + newline)
        if not newline and not last:
            return Cut([], [], 0)
        self._long = None
        self._unseen = self._data != b""
        self._owes_newline = not newline
        return line.cut((self._at,) if newline else (self._at, 1), self._format.limit)

    def _skip_newline(self, *, last: bool) -> bool:
        """The line before was taken without its newline: if that comes now, it is none of an empty line. False: not known yet."""
        if not self._data or (self._data == b"\r" and not last):
            return False
        for newline in (b"\n", b"\r\n"):
            if self._data.startswith(newline):
                self._pass(newline)
                self._data = self._data[len(newline) :]
        self._owes_newline = False
        return True

    def _lines_before(self, at: int) -> int | None:
        """How many lines stand before a byte, without the header; None: too many bytes, or compressed ones."""
        if at > _COUNTED or not isinstance(self._content, Plain):
            return None
        begin, lines = self._counted
        self._counted = at, lines + self._content.between(begin, at).count(b"\n")
        return self._counted[1] - self._has_header

    def _batch(self, cut: Cut, size: int) -> SourceBatch:
        if self._place is None:
            msg = "a file is recognised before it is read"
            raise AssertionError(msg)
        self._place = FileCoordinate(self._place.partition, self._place.generation, cut.offsets[-1])
        self._places.moved(self._identity, self._place)
        if (former := self._former()) is not None:
            self._formers.keep(former)
        return SourceBatch(
            self._place.partition,
            located(cut, self.path, self._lines_before),
            cut.offsets,
            keys=cut.keys,
            headers=[{self._format.path_header: str(self.path)}] * len(cut.offsets) if self._format.path_header else None,
            schema=self._format.schema,
            key_schema=self._format.key_schema,
            size=cut.used or size,
        )
