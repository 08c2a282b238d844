"""The type of a column as TABLE_MAP has it.

https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Table__map__event.html; the COMPRESSED types are
MariaDB's own.
"""

from dataclasses import dataclass
from enum import IntEnum

from connectors.mysql_cdc_source.binlog.cursor import Cursor
from connectors.mysql_cdc_source.binlog.errors import MalformedEvent
from connectors.mysql_cdc_source.binlog.values.charsets import BINARY


class Type(IntEnum):
    """The types that rows have. MySQL has more numbers, which never get into a log."""

    TINY = 1
    SHORT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    NULL = 6
    TIMESTAMP = 7
    LONGLONG = 8
    INT24 = 9
    DATE = 10
    TIME = 11
    DATETIME = 12
    YEAR = 13
    NEWDATE = 14
    VARCHAR = 15
    BIT = 16
    TIMESTAMP2 = 17
    DATETIME2 = 18
    TIME2 = 19
    BLOB_COMPRESSED = 140
    VARCHAR_COMPRESSED = 141
    VECTOR = 242
    JSON = 245
    NEWDECIMAL = 246
    ENUM = 247
    SET = 248
    TINY_BLOB = 249
    MEDIUM_BLOB = 250
    LONG_BLOB = 251
    BLOB = 252
    VAR_STRING = 253
    STRING = 254
    GEOMETRY = 255


NUMERIC = frozenset(
    {Type.TINY, Type.SHORT, Type.INT24, Type.LONG, Type.LONGLONG, Type.FLOAT, Type.DOUBLE, Type.NEWDECIMAL, Type.YEAR}
)
"""Those that have a bit among the signs."""
CHARACTER = frozenset({Type.STRING, Type.VAR_STRING, Type.VARCHAR, Type.BLOB, Type.VARCHAR_COMPRESSED, Type.BLOB_COMPRESSED})
"""Those that have a collation; in MariaDB GEOMETRY too."""
_FRACTIONS = frozenset({Type.TIME2, Type.DATETIME2, Type.TIMESTAMP2})
_ONE_BYTE = _FRACTIONS | frozenset(
    {
        Type.FLOAT,
        Type.DOUBLE,
        Type.BLOB,
        Type.TINY_BLOB,
        Type.MEDIUM_BLOB,
        Type.LONG_BLOB,
        Type.GEOMETRY,
        Type.VECTOR,
        Type.JSON,
        Type.BLOB_COMPRESSED,
    }
)
_TWO_BYTES = frozenset(
    {Type.VARCHAR, Type.VAR_STRING, Type.VARCHAR_COMPRESSED, Type.BIT, Type.NEWDECIMAL, Type.STRING, Type.ENUM, Type.SET}
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        type: Its type; ENUM and SET, where the log wraps them in STRING.
        length: Of CHAR and VARCHAR the bytes at most; of blobs the bytes of their length; of ENUM, SET and BIT those of a value.
        precision: Of DECIMAL all its digits.
        scale: Of DECIMAL the digits behind the point; of times those of their seconds.
        nullable: Whether it may be NULL.
        name: None when the log does not say it (binlog_row_metadata is not FULL).
        unsigned: None when it is no number, or the log does not say it.
        charset: `binary` for bytes; None when it has none, or the log does not say it.
        labels: Of ENUM and SET; None when the log does not say them.
        geometry: The number of its kind (1 POINT, 2 LINESTRING, ...).
        extension: uuid, inet4 or inet6: what only the table's definition says, as the log has BINARY for them.
        visible: Whether SELECT * has it (MySQL 8).
    """

    type: Type
    length: int = 0
    precision: int = 0
    scale: int = 0
    nullable: bool = True
    name: str | None = None
    unsigned: bool | None = None
    charset: str | None = None
    labels: tuple[str, ...] | None = None
    geometry: int | None = None
    extension: str | None = None
    visible: bool = True

    @property
    def extension_candidates(self) -> tuple[str, ...]:
        """Which of MariaDB's extension types it may be."""
        if self.type is not Type.STRING or self.charset not in {None, BINARY} or self.extension:
            return ()
        return {16: ("uuid", "inet6"), 4: ("inet4",)}.get(self.length, ())


def read_column(code: int, metadata: Cursor, *, nullable: bool) -> Column:
    """A column of its type and its metadata.

    Raises:
        MalformedEvent: there is no such type.
    """
    try:
        kind = Type(code)
    except ValueError:
        msg = f"a column has the type number {code}, which is unknown; leave its table out with a filter, or change its type"
        raise MalformedEvent(msg) from None
    first = metadata.uint(1) if kind in _ONE_BYTE or kind in _TWO_BYTES else 0
    second = metadata.uint(1) if kind in _TWO_BYTES else 0
    if kind is Type.STRING:
        return _string(first, second, nullable=nullable)
    if kind is Type.BIT:
        return Column(kind, second + (first > 0), precision=second * 8 + first, nullable=nullable)
    if kind is Type.NEWDECIMAL:
        return Column(kind, precision=first, scale=second, nullable=nullable)
    if kind in _FRACTIONS:
        return Column(kind, scale=first, nullable=nullable)
    if kind in {Type.ENUM, Type.SET}:
        first, second = second, 0
    return Column(kind, first | second << 8, nullable=nullable)


def _string(first: int, second: int, *, nullable: bool) -> Column:
    if first in {Type.ENUM, Type.SET}:
        return Column(Type(first), second, nullable=nullable)
    # Two bits of a length above 255 are hidden, inverted, in the type.
    if first & 0x30 != 0x30:
        return Column(Type.STRING, second | ((first & 0x30) ^ 0x30) << 4, nullable=nullable)
    return Column(Type.STRING, second, nullable=nullable)
