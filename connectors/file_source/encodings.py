"""Files that are not UTF-8. Pure.

Each byte is a character in these encodings, and those of ASCII are the same: lines end where they end in UTF-8, so that positions
stay the bytes of the file.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate

from connectors.file_source.records import FIRST_PART, INVALID_TEXT, Cut, Format
from rocketconnect_sdk.columns.compact import Column, Texts
from rocketconnect_sdk.record import Offset, Rejected

UTF8 = "utf-8"
ENCODINGS = (UTF8, "latin-1", "iso-8859-15", "cp1250", "cp1251", "cp1252", "koi8-r")
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
CONVERTED = "iconv -f utf-16 -t utf-8 in.csv > out.csv"


class Transcoded(Format):
    """What a format reads, of a file in another encoding.

    Args:
        inner: The format; a longer record in UTF-8 than its limit is a Rejected.
        encoding: One of ENCODINGS.
    """

    def __init__(self, inner: Format, encoding: str) -> None:
        super().__init__(inner.limit, replace=inner.replace)
        self._inner = inner
        self._encoding = encoding
        self.gathers, self.rest_seconds, self.path_header = inner.gathers, inner.rest_seconds, inner.path_header
        self._take_schemas()

    @property
    def needs_header(self) -> bool:
        """See Format."""
        return self._inner.needs_header

    def header(self, line: bytes) -> None:
        """See Format."""
        try:
            self._inner.header(line.decode(self._encoding).encode())
        except UnicodeDecodeError as error:
            msg = f"the header is no row: byte {error.start} is not {self._encoding}"
            raise ValueError(msg) from None
        self._take_schemas()

    def cut(self, data: bytes, at: int, *, last: bool) -> Cut:
        """See Format."""
        if data.isascii():
            return self._inner.cut(data, at, last=last)
        # A byte that is no character of the encoding is none of UTF-8 either, behind whole characters.
        text = data.decode(self._encoding, "surrogateescape").encode("utf-8", "surrogateescape")
        cut = self._inner.cut(text, at, last=last)
        if not cut.used:
            return cut
        places = dict(zip(_ends(text), _ends(data), strict=True))
        ends = [offset[0] - at for offset in cut.offsets]
        offsets = [(at + places[end], *offset[1:]) for end, offset in zip(ends, cut.offsets, strict=True)]
        values = cut.values
        if not isinstance(values, Texts | Column) and Rejected in set(map(type, values)):
            values = [
                self._rejected(value, _original(data, places, end, value.length, offset)) if isinstance(value, Rejected) else value
                for value, end, offset in zip(values, ends, offsets, strict=True)
            ]
        return Cut(values, offsets, places[cut.used], cut.keys)

    def _rejected(self, value: Rejected, original: bytes) -> Rejected:
        """The same of the bytes of the file."""
        reason = value.reason
        if value.error == INVALID_TEXT:
            try:
                original.decode(self._encoding)
            except UnicodeDecodeError as error:
                reason = f"not {self._encoding}: byte {error.start} is no character of it; see encoding.errors"
        first, digest = original[:FIRST_PART], sha256(original).hexdigest()
        return replace(value, reason=reason, original=first, length=len(original), sha256=digest)

    def _take_schemas(self) -> None:
        self.schema = self._inner.schema
        self.key_schema = self._inner.key_schema


def _original(data: bytes, places: dict[int, int], end: int, length: int, offset: Offset) -> bytes:
    """The bytes of the file that a record of so many bytes of UTF-8 is made of, which ends there in them."""
    newline = 1 if len(offset) == 1 else 0
    return data[places[end - newline - length] : places[end] - newline]


def _ends(data: bytes) -> Sequence[int]:
    """The beginning, behind each newline, and the end."""
    lines = data.split(b"\n")
    return [0, *accumulate(len(line) + 1 for line in lines[:-1]), len(data)]


def encoding_problem(name: str) -> str | None:
    """What is wrong with the option encoding."""
    if name in ENCODINGS:
        return None
    if name.lower().replace("_", "-").startswith(("utf-16", "utf16", "utf-32", "utf32")):
        return "has lines that do not end with one byte, which positions count"
    return f"is none of {', '.join(ENCODINGS)}"
