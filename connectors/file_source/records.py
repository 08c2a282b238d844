"""Bytes of a file into records: text lines, JSON lines, CSV. Pure."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import accumulate, compress, count
from operator import add
from pathlib import Path
from shlex import quote

from connectors.file_source.documents import MARK, beginning
from rocketconnect_sdk.columns.compact import Column, Numbers, Texts
from rocketconnect_sdk.converters.json.reading import NotJson, value_of, values_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.record import Offset, Rejected
from rocketconnect_sdk.schema import STRING, Schema
from rocketconnect_sdk.wording.counts import counted

FIRST_PART = 4096
"""How much of a record is kept that is not read."""

INVALID_TEXT = "InvalidUtf8"
"""The class of the error of bytes that are no text."""


@dataclass(slots=True)
class Cut:
    """What was found in a piece of a file.

    Attributes:
        values: The records.
        offsets: Where each of them ends: (the byte behind its newline,), or (its last byte + 1, 1) when the file ends without one.
        used: How many bytes of the piece they are made of.
        keys: Their keys; None: none has one.
    """

    values: Sequence[object]
    offsets: Sequence[Offset]
    used: int
    keys: Sequence[object] | None = None


NOTHING = Cut([], [], 0)
HEADER_FIX = (
    "Correct the first line of the file, or set csv.header=false and name all columns in `columns`: the first line is then a row."
)


def rejected(error: str, reason: str, original: bytes) -> Rejected:
    """Stands for a record whose bytes are all there."""
    return Rejected(error, reason, original[:FIRST_PART], len(original), sha256(original).hexdigest())


def too_long(first: bytes, length: int, digest: str, limit: int) -> Rejected:
    """Stands for a record that no message can hold."""
    reason = f"the record has {length} bytes, and a message holds {limit}"
    return Rejected("RecordTooLarge", reason, first[:FIRST_PART], length, digest)


def located(cut: Cut, path: Path, lines_before: Callable[[int], int | None]) -> Sequence[object]:
    """The values of a cut; those that could not be read say in which file, and between which bytes of its content, they stand.

    Args:
        cut: What was found.
        path: Where.
        lines_before: How many lines stand before a byte; None: not known.
    """
    if isinstance(cut.values, Texts | Column) or Rejected not in set(map(type, cut.values)):
        return cut.values
    pairs = zip(cut.values, cut.offsets, strict=True)
    return [_located(value, offset, path, lines_before) if isinstance(value, Rejected) else value for value, offset in pairs]


def _located(value: Rejected, offset: Offset, path: Path, lines_before: Callable[[int], int | None]) -> Rejected:
    begin = offset[0] - (1 if len(offset) == 1 else 0) - value.length
    reason = f"{path}, bytes {begin} to {offset[0]}: {value.reason}"
    return replace(value, reason=reason, advice=_advice(path, lines_before(begin)))


def _advice(path: Path, lines: int | None) -> str:
    """How a record of a file is corrected: first what happens where the file is replaced."""
    within = f"write into the file that is there: `cp CORRECTED {quote(str(path))}`, then restart the connector, which goes on here"
    if lines == 0:
        return f"To correct it, {within}."
    before = "all lines before it are" if lines is None else f"{counted(lines, 'line')} before it {'is' if lines == 1 else 'are'}"
    return (
        f"To correct it, do not replace the file (mv and most editors do): it would be a new one, read from its beginning, and "
        f"{before} sent again. Instead {within}."
    )


class Format(ABC):
    """How a file is made of records. One instance for each file.

    Args:
        limit: A longer record is a Rejected.
        replace: Bytes that are not UTF-8 become U+FFFD; otherwise their record is a Rejected.
    """

    schema: Schema | None = None
    key_schema: Schema | None = None
    gathers: bool = False
    """Several lines may be one record: what was read of the last one is cut again when more has come."""
    rest_seconds: float = 0.0
    """A record of lines that may go on is over when nothing came for so long; 0: when the next one begins."""
    path_header: str = ""
    """The header of each record that has the path of its file; empty: there is none."""

    def __init__(self, limit: int, *, replace: bool) -> None:
        self.limit = limit
        self.replace = replace

    @property
    def needs_header(self) -> bool:
        """The file begins with a header that must be given to `header` before anything is cut."""
        return False

    def header(self, line: bytes) -> None:
        """Takes the first line of the file, without its newline. Raises ValueError when it is no header."""
        del line

    @abstractmethod
    def cut(self, data: bytes, at: int, *, last: bool) -> Cut:
        """The whole records at the beginning of data.

        Args:
            data: A piece of the file that begins with a record.
            at: The offset of the piece.
            last: The file ends with it: a record without a newline is whole, too.
        """

    def decode(self, line: bytes) -> "str | Rejected":
        """The text of a line."""
        try:
            return line.decode("utf-8", "replace" if self.replace else "strict")
        except UnicodeDecodeError as error:
            reason = f"not UTF-8: {error.reason} at byte {error.start}; see encoding.errors"
            return rejected(INVALID_TEXT, reason, line)

    def too_long(self, record: bytes) -> Rejected:
        """Stands for a record that is longer than the limit."""
        return too_long(record, len(record), sha256(record).hexdigest(), self.limit)


@dataclass(slots=True)
class Lines:
    """The lines at the beginning of a piece.

    Attributes:
        block: Their bytes, without the last newline.
        parts: Each of them, without its newline.
        offsets: As in Cut.
        used: How many bytes they are, with the last newline.
    """

    block: bytes
    parts: list[bytes]
    offsets: Sequence[Offset]
    used: int


def whole_lines(data: bytes, at: int, *, last: bool) -> Lines | None:
    """The lines that a piece begins with, without the mark of a file; None: there is none. See Format.cut."""
    unterminated = last and data != b"" and not data.endswith(b"\n")
    end = len(data) if unterminated else data.rfind(b"\n")
    if end < 0:
        return None
    begin = len(MARK) if at == 0 and data.startswith(MARK) else 0
    if begin == len(data):
        return Lines(b"", [], [], end)
    block = data[begin:end]
    parts = block.split(b"\n")
    # Each ends one byte behind its newline.
    offsets: Sequence[Offset] = Numbers(list(map(add, accumulate(map(len, parts)), count(at + begin + 1))))
    if unterminated:
        offsets = [*offsets[:-1], (at + end, 1)]
    return Lines(block, parts, offsets, end if unterminated else end + 1)


class Text(Format):
    """A record is a line, without its end: a newline, or a carriage return and a newline. An empty line is an empty record."""

    schema = STRING

    def cut(self, data: bytes, at: int, *, last: bool) -> Cut:
        """See Format."""
        lines = whole_lines(data, at, last=last)
        if lines is None:
            return NOTHING
        parts = lines.parts
        values: Sequence[object]
        try:
            # Whole lines: a newline is never a part of another character.
            lines.block.isascii() or lines.block.decode()
            values = Texts(parts if b"\r" not in lines.block else [part.removesuffix(b"\r") for part in parts])
        except UnicodeDecodeError:
            texts = map(self.decode, parts)
            values = [text.removesuffix("\r") if isinstance(text, str) else text for text in texts]
        if len(lines.block) > self.limit:
            values = [self._within(value, part) for value, part in zip(values, parts, strict=True)]
        return Cut(values, lines.offsets, lines.used)

    def _within(self, value: object, part: bytes) -> object:
        return value if len(part) <= self.limit else self.too_long(part)


class JsonLines(Format):
    """A record is a line that holds a JSON value. Blank lines are no records.

    Args:
        key: The field of an object that is its key; empty: no keys.
    """

    def __init__(self, limit: int, *, replace: bool, key: str = "") -> None:
        super().__init__(limit, replace=replace)
        self._key = key

    def cut(self, data: bytes, at: int, *, last: bool) -> Cut:
        """See Format."""
        lines = whole_lines(data, at, last=last)
        if lines is None:
            return NOTHING
        kept = [not part.isspace() and part != b"" for part in lines.parts]
        parts = lines.parts if all(kept) else list(compress(lines.parts, kept))
        offsets = lines.offsets if len(parts) == len(kept) else list(compress(lines.offsets, kept))
        read = values_of(parts) if len(lines.block) <= self.limit else None
        values = list(map(self._value, parts)) if read is None else read
        keys = [value.get(self._key) if isinstance(value, dict) else None for value in values] if self._key else None
        return Cut(values, offsets, lines.used, keys)

    def _value(self, part: bytes) -> object:
        if len(part) > self.limit:
            return self.too_long(part)
        text = self.decode(part)
        if isinstance(text, Rejected):
            return text
        try:
            return value_of(text)
        except NotJson as error:
            return rejected("InvalidJson", f"the line is not JSON: {error}{beginning(part)}", part)
        except RecordError as error:
            return rejected("InvalidJson", str(error), part)
