"""The parts that messages are made of.

https://www.postgresql.org/docs/current/protocol-message-types.html
"""

from typing import NoReturn

from connectors.postgres_cdc_source.logical.errors import refuse
from connectors.postgres_cdc_source.logical.wire.events import Relation
from connectors.postgres_cdc_source.logical.wire.rows import NOT_PLAIN, Row, read_carefully
from connectors.postgres_cdc_source.logical.wire.values import Missing
from rocketconnect_sdk.wording.counts import counted

EPOCH_US = 946_684_800_000_000
"""2000-01-01, from which PostgreSQL counts, in microseconds since 1970."""


class Parts:
    """Takes one part of a message after the other. Each raises BadMessage where the message ends too early."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def refuse(self, what: str) -> NoReturn:
        """Raises BadMessage for what stands here."""
        refuse(what, self._data, self._at)

    def expect(self, length: int) -> int:
        """Returns where so many bytes begin, which are there."""
        if self._at + length > len(self._data):
            self.refuse(f"{length} bytes are missing")
        return self._at

    def expect_end(self) -> None:
        """Refuse what is left."""
        if self._at != len(self._data):
            self.refuse("the message is longer than what it says")

    def take(self, length: int) -> bytes:
        """So many bytes."""
        at = self.expect(length)
        self._at = at + length
        return self._data[at : self._at]

    def letter(self) -> str:
        """The byte that says a kind."""
        return self.take(1).decode("latin-1")

    def byte(self) -> int:
        """A number of 8 bits."""
        return self.take(1)[0]

    def int16(self) -> int:
        """Of 16 bits."""
        return int.from_bytes(self.take(2), "big")

    def int32(self) -> int:
        """Of 32 bits."""
        return int.from_bytes(self.take(4), "big")

    def signed32(self) -> int:
        """Of 32 bits with a sign."""
        return int.from_bytes(self.take(4), "big", signed=True)

    def int64(self) -> int:
        """Of 64 bits."""
        return int.from_bytes(self.take(8), "big")

    def time(self) -> int:
        """Microseconds since 1970."""
        return int.from_bytes(self.take(8), "big", signed=True) + EPOCH_US

    def text(self) -> str:
        """A text that ends with a zero byte."""
        end = self._data.find(b"\0", self._at)
        if end < 0:
            self.refuse("a name has no end")
        try:
            found = self._data[self._at : end].decode()
        except UnicodeDecodeError:
            self.refuse("a name is not UTF-8")
        self._at = end + 1
        return found

    def namespace(self) -> str:
        """The name of a schema."""
        return self.text() or "pg_catalog"

    def new(self, relation: Relation, letter: str) -> Row:
        """A row of kind N."""
        if letter != "N":
            self.refuse(f"a new row is missing: there is none of kind {letter!r}")
        return self._row(relation)

    def old(self, relation: Relation, letter: str) -> Row:
        """A row of kind O, or a key: K."""
        if letter not in "OK":
            self.refuse(f"a row is missing: there is none of kind {letter!r}")
        row = self._row(relation)
        if letter == "O":
            return row
        # The server writes null for what is not part of the key.
        return tuple(value if column.in_key else Missing.ABSENT for column, value in zip(relation.columns, row, strict=True))

    def _row(self, relation: Relation) -> Row:
        width = self.int16()
        if width != len(relation.columns):
            self.refuse(f"a row of {relation.name!r} has {counted(width, 'column')}, and its description {len(relation.columns)}")
        try:
            row, end = relation.read(self._data, self._at)
        except NOT_PLAIN:
            end = len(self._data) + 1
        if end > len(self._data):
            columns = [(column.name, column.type) for column in relation.columns]
            row, end = read_carefully(columns, self._data, self._at)
        self._at = end
        return row
