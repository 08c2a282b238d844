"""One file, read record by record from where it was left."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event

from connectors.file_source.content import Content, Plain, open_content
from connectors.file_source.identity import HEAD_BYTES, FileCoordinate, Identity, Places, head_of
from connectors.file_source.reading.cutting import Cutting
from connectors.file_source.reading.passage import Passage
from connectors.file_source.records import HEADER_FIX, NOTHING, Cut, Format, located
from connectors.file_source.rotation.copies import Copies
from connectors.file_source.rotation.dealing import Dealing
from connectors.file_source.rotation.descent import Descent
from connectors.file_source.rotation.fingerprint import SEEN_BYTES, Fingerprint, bytes_between
from connectors.file_source.rotation.formers import Former, Formers, file_of, named_file
from connectors.file_source.rotation.hands import Hands
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.record import Offset, SourceBatch

_COUNTED = 1 << 24
"""So many bytes are looked through for a message."""
_LOOKED_AT = 8192
"""A NUL byte in so many first bytes makes a file a binary one."""


class Reader:
    """Reads one file, from the place where it was left to its present end, and on as it grows.

    Args:
        path: Where it was found. It may be renamed later.
        places: What is known of files.
        formers: What they held when they were read.
        copies: Tells whether it is the copy of another one.
        dealing: Tells whether it is of this task.
        hands: Tells which partitions other files are read under.
        make_format: Gives a Format for it.
        gzip: It is compressed.
        known_only: It is read only if something of it was read before.
        stopping: Ends a long read early.
        alone: It is the only file of its source, and each that was read before was in its place.
        original: The file that it is a copy of, where that is known: it is read on under the partition of that one.

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
        hands: Hands,
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
        self.original: Former | None = None
        """The file that it goes on with, when that was found out."""
        self.waits = False
        """Whether it is a copy can't be told yet, or which file it is is not stored yet."""
        self.gives_soon = False
        """Its records come as soon as it is stored which file it is."""
        self._places = places
        self._formers = formers
        self._dealing = dealing
        self._hands = hands
        self._looked_back = False
        self._make_format = make_format
        self._stopping = stopping
        self._content: Content = open_content(path, gzip=gzip)
        self.key = (self._content.device, self._content.inode)
        self._descent = Descent(self._content, self.key, copies, formers, hands, stopping, original)
        self._written_anew = False
        self._too_short = False
        self._is_unended = False
        self._place: FileCoordinate | None = None
        self._begin()

    def _begin(self) -> None:
        self._format = self._make_format()
        self._leave()
        self._identity = Identity(*self.key, self._content.born_ns, 0)
        self._cutting = Cutting(self._format)
        self._is_announced = False
        self._checked = -1, -1
        self._noted: Offset = (0,)
        self._counted = 0, 0
        self._has_header = self._format.needs_header
        self.gives_soon = False

    @property
    def born(self) -> tuple[int, int]:
        """Its inode, and when it was made, in ns."""
        return self._content.inode, self._content.born_ns

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
        return self.unfinished - self._cutting.gathered

    @property
    def unfinished(self) -> int:
        """How many bytes are no records yet: not read, or of a line without its end."""
        return max(0, self._content.stored_size - self._content.stored_read) + len(self._cutting.data)

    def read(self, size: int, most: int, *, last: bool, quiet: float = 0.0) -> Sequence[SourceBatch]:
        """The next records; nothing: there is no whole one now.

        Where positions are stored, each batch is followed by one without records, that stores beside its end what tells the file.

        Args:
            size: About how many bytes of the content to read at once.
            most: So many records a batch has at most.
            last: Nothing more will come: what stands at the end without a newline is a record, too.
            quiet: For so many seconds nothing came.

        Raises:
            OSError: it cannot be read now.
            PermanentError: it is not what the configuration says.
        """
        if self._place is not None and self._is_another():
            if (cut := self._cutting.cut_gathered()).values:
                # It is nowhere else. What is there now is looked at the next time.
                self._checked = -1, -1
                return self._batches(cut, 0, most)
            self.lost = self._former()
            self._begin()
            self._written_anew = True
        if self._place is None:
            self._too_short = not self._recognise(whole=last)
            if self._too_short:
                self._is_unended = not self.foreign and self._is_told_of and self._content.head(_LOOKED_AT)[-1:] not in (b"\n", b"")
                return ()
        if self._place is not None:
            announced = self._announced(self._place)
            self.waits = self.gives_soon = announced is not None
            if announced is not None:
                return announced
        while not self._stopping.is_set():
            piece = b"" if self._cutting.is_ahead else self._content.read(size)
            if not piece and not self._cutting.is_left(last=last):
                is_over = 0 < self._format.rest_seconds <= quiet
                cut = self._cutting.cut_gathered() if is_over else NOTHING
                return self._batches(cut, 0, most) if cut.values else self._note()
            cut = self._cutting.cut(piece, last=last)
            if cut.values:
                return self._batches(cut, len(piece), most)
            self._passage.forget()
        return ()

    @property
    def _passage(self) -> Passage:
        return self._cutting.passage

    def close(self) -> None:
        """Closes the file."""
        self._leave()
        self._content.close()

    def _leave(self) -> None:
        if self._place is not None:
            self._hands.leave(self._place.partition, self.key)
        self._place = None

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
        if state[0] < self._content.stored_read or self._content.head(len(self._passage.head)) != self._passage.head:
            return True
        at, tail = self._passage.at, self._passage.tail
        return isinstance(self._content, Plain) and self._content.between(at - len(tail), at) != tail

    def _recognise(self, *, whole: bool) -> bool:
        """Finds out which file it is, and goes to where it was left. False: it is too short to tell."""
        self.waits = False
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
        is_found = is_new and not self._written_anew
        self.waits = is_found and not self._descent.is_told(self.path, alone=self._is_alone, whole=whole)
        if self.waits:
            return False
        if self._is_alone and is_new:
            self.alike = self._places.alike(self._identity)
        self._place = self._found(self._descent.original if is_found else None, is_new=is_found)
        self._descent.original, self._written_anew = None, False
        at = self._passage.at
        self._cutting.passage = Passage(first, at, bytes_between(self._content, max(0, at - SEEN_BYTES), at))
        self._content.seek(at)
        self._hands.take(self._place.partition, self.key)
        return True

    def _found(self, original: Former | None, *, is_new: bool) -> FileCoordinate:
        """Where reading goes on, or begins; goes there."""
        begin = self._passage.at
        if original is not None and not self._descent.is_read:
            place = original.place
        else:
            place = self._places.anew(self._identity) if self._written_anew else self._places.of(self._identity)
            if original is not None:
                # All of it was read in what it is made of. Who opens it again in this run goes on there, too.
                place = replace(place, offset=self._descent.end())
                self._places.moved(self._identity, place)
            elif is_new:
                self._look_back()
        if not (is_held := self._holds_what_was_read(place)) or place.offset == (0,) or not self._go_to(place.offset):
            if place.offset != (0,) or not is_held:
                self._look_back()
                place = self._places.anew(self._identity)
            self._refuse_binary()
            self._passage.at = begin
        elif original is not None:
            self.original = original
        if original is not None and place.partition == original.partition:
            self._places.copied(original.identity, self._identity, place)
        return place

    def _holds_what_was_read(self, place: FileCoordinate) -> bool:
        """Whether the content before a place is what was read; where nothing is known of it, the place itself decides."""
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
        if self._place is None or (self._place.offset == (0,) and not self._is_announced):
            return None
        return self._former_at(self._place.partition, self._place.offset, self._passage.at)

    def _former_at(self, partition: str, offset: Offset, end: int) -> Former:
        """What was read of it up to an offset, and, if that is no record, up to the byte `end`."""
        known = self._passage.fingerprint(end) if offset > (0,) else Fingerprint.of_beginning(self._passage.head)
        file = file_of(self._content)
        copy = "" if file == named_file(partition) else file
        return Former(partition, offset, known, str(self.path), self._formers.next_turn(partition), copy)

    def _announced(self, place: FileCoordinate) -> Sequence[SourceBatch] | None:
        """What is to be stored before a record is given, or nothing while that is under way; None: records may be given."""
        partition = place.partition
        if self._is_announced or not self._hands.is_new(partition):
            self._is_announced = self._is_announced or partition in self._hands.stored
            return () if self._hands.must_wait(partition) else None
        self._is_announced = True
        former = self._former_at(partition, place.offset, self._passage.at)
        self._formers.keep(former)
        return [former.noted()]

    def _note(self) -> Sequence[SourceBatch]:
        """All is read: a batch that stores beside the offset what stands before it. Nothing: it was stored, or there is nothing."""
        former = self._former()
        if former is None or former.offset == self._noted:
            return ()
        self._noted = former.offset
        self._formers.keep(former)
        return [former.noted()]

    def _go_to(self, offset: Offset) -> bool:
        """Goes to a stored offset. False: the file is not the one that was read, because there is no end of a line."""
        end, unterminated = offset[0], len(offset) > 1
        if not self._content.seek(end - 1):
            return False
        before = self._content.read(1)
        if before != b"\n" and not (unterminated and before):
            return False
        self._passage.at = end
        self._cutting.owes_newline = unterminated
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
            msg = f"{self.path}: {error}. {HEADER_FIX}"
            raise PermanentError(msg) from None
        self._passage.at = len(line) + len(newline)
        return True

    def _refuse_binary(self) -> None:
        if b"\0" in self._content.head(_LOOKED_AT):
            msg = f"{self.path} is a binary file: it has NUL bytes; this source reads text"
            raise PermanentError(msg)

    def _lines_before(self, at: int) -> int | None:
        """How many lines stand before a byte, without the header; None: too many bytes, or compressed ones."""
        if at > _COUNTED or not isinstance(self._content, Plain):
            return None
        begin, lines = self._counted
        self._counted = at, lines + self._content.between(begin, at).count(b"\n")
        return self._counted[1] - self._has_header

    def _batches(self, cut: Cut, size: int, most: int) -> Sequence[SourceBatch]:
        if self._place is None:
            msg = "a file is recognised before it is read"
            raise AssertionError(msg)
        self._place = FileCoordinate(self._place.partition, self._place.generation, cut.offsets[-1])
        self._places.moved(self._identity, self._place)
        if (former := self._former()) is not None:
            self._formers.keep(former)
        batch = SourceBatch(
            self._place.partition,
            located(cut, self.path, self._lines_before),
            cut.offsets,
            keys=cut.keys,
            headers=[{self._format.path_header: str(self.path)}] * len(cut.offsets) if self._format.path_header else None,
            schema=self._format.schema,
            key_schema=self._format.key_schema,
            size=cut.used or size,
        )
        batches = [batch] if len(batch) <= most else [batch.slice(begin, begin + most) for begin in range(0, len(batch), most)]
        if self._hands.stores:
            ends = [each.offsets[-1] for each in batches]
            notes = [self._former_at(batch.partition, end, end[0]).noted() for end in ends]
            batches = [each for pair in zip(batches, notes, strict=True) for each in pair]
            self._noted = self._place.offset
        self._passage.forget()
        return batches
