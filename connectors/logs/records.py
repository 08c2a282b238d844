"""Bytes of a log file into records. Pure."""

from hashlib import sha256

from connectors.file_source.records import NOTHING, Cut, Format, rejected, too_long, whole_lines
from connectors.logs.forms import Read
from connectors.logs.gathering import Gathering
from connectors.logs.unfit import Unfit
from rocketconnect_sdk.record import Rejected
from rocketconnect_sdk.schema import Schema


class LogRecords(Format):
    """Lines, gathered and read.

    Args:
        limit: See Format.
        replace: See Format.
        gathering: Which lines are one record; None: each is.
        read: What their text becomes.
        schema: Of values; None: they say it themselves.
        key: The field that is the key; empty: there are no keys.
        unread: The field that has a text which can't be read; empty: such a record is a Rejected.
        keeps_blank: A record of blank lines is one.
    """

    def __init__(
        self,
        limit: int,
        *,
        replace: bool,
        gathering: Gathering | None,
        read: Read,
        schema: Schema | None = None,
        key: str = "",
        unread: str = "",
        keeps_blank: bool = False,
    ) -> None:
        super().__init__(limit, replace=replace)
        self.schema = schema
        self.gathers = gathering is not None
        self._gathering = gathering
        self._read = read
        self._key = key
        self._unread = unread
        self._keeps_blank = keeps_blank

    def cut(self, data: bytes, at: int, *, last: bool) -> Cut:
        """See Format."""
        lines = whole_lines(data, at, last=last)
        if lines is None:
            return NOTHING
        if self._gathering is None:
            spans = [(number, number + 1) for number in range(len(lines.parts))]
        else:
            spans = list(self._gathering.spans(lines.parts, len(data) - lines.used, last=last))
        if not spans:
            return Cut([], [], 0 if lines.parts else lines.used)
        is_whole = spans[-1][1] == len(lines.parts)
        used = lines.used if is_whole else lines.offsets[spans[-1][1] - 1][0] - at
        kept = [(begin, end) for begin, end in spans if self._keeps_blank or any(map(bytes.strip, lines.parts[begin:end]))]
        values = [self._value(lines.parts[begin:end]) for begin, end in kept]
        keys = [value.get(self._key) if isinstance(value, dict) else None for value in values] if self._key else None
        return Cut(values, [lines.offsets[end - 1] for _, end in kept], used, keys)

    def _value(self, parts: list[bytes]) -> object:
        original = b"\n".join(parts)
        if len(original) > self.limit:
            return too_long(original, len(original), sha256(original).hexdigest(), self.limit)
        text = self.decode(original)
        if isinstance(text, Rejected):
            return text
        text = text.replace("\r\n", "\n").removesuffix("\r")
        try:
            return self._read(text)
        except Unfit as error:
            return {self._unread: text} if self._unread else rejected(error.kind, str(error), original)
