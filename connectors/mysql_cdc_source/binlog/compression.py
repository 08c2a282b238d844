"""What servers compress: events and columns of MariaDB with zlib, whole transactions of MySQL with zstd.

https://mariadb.com/kb/en/rows_event_v1v2-rows_compressed_event_v1/, https://mariadb.com/kb/en/storage-engine-independent-column-compression/
and https://dev.mysql.com/doc/dev/mysql-server/latest/classmysql_1_1binlog_1_1event_1_1Transaction__payload__event.html
"""

import zlib
from collections.abc import Iterator

from connectors.mysql_cdc_source.binlog import header
from connectors.mysql_cdc_source.binlog.cursor import Cursor
from connectors.mysql_cdc_source.binlog.errors import MalformedEvent

LARGEST = 1 << 30
"""No server makes an event or a value that is larger, so nothing larger is unpacked."""

_PAYLOAD_END, _PAYLOAD_COMPRESSION, _PAYLOAD_UNPACKED_SIZE = 0, 2, 3
_ZSTD, _NONE = 0, 255
_PIECE = 1 << 16


def unpack_body(packed: bytes) -> bytes:
    """The body of a compressed event of MariaDB: 0x80 and the number of bytes of the size, the size (big-endian), zlib.

    Raises:
        MalformedEvent: it is none.
    """
    cursor = Cursor(packed)
    head = cursor.uint(1)
    if head & 0x80 == 0 or head & 0x70 or not 1 <= head & 7 <= 4:
        msg = f"a compressed event begins with {head:#x}, which is no compression that is known"
        raise MalformedEvent(msg)
    return _inflate(cursor, int.from_bytes(cursor.take(head & 7), "big"), zlib.MAX_WBITS)


def unpack_column(packed: bytes) -> bytes:
    """The value of a COMPRESSED column of MariaDB: as an event's body, or 0x00 and the value as it is; nothing for an empty one.

    Raises:
        MalformedEvent: it is none.
    """
    if not packed:
        return b""
    head = packed[0]
    if head == 0:
        return packed[1:]
    if head & 0xF0 != 0x80 or not 1 <= head & 7 <= 4:
        msg = f"a compressed column begins with {head:#x}, which is no compression that is known"
        raise MalformedEvent(msg)
    cursor = Cursor(packed, 1)
    # Bit 3: without the header of zlib.
    return _inflate(cursor, int.from_bytes(cursor.take(head & 7), "big"), -zlib.MAX_WBITS if head & 8 else zlib.MAX_WBITS)


def _inflate(cursor: Cursor, size: int, wbits: int) -> bytes:
    if size > LARGEST:
        msg = f"compressed data say that they have {size} bytes; {LARGEST} are the most"
        raise MalformedEvent(msg)
    try:
        unpacked = zlib.decompressobj(wbits=wbits).decompress(cursor.rest(), size + 1)
    except zlib.error as error:
        msg = f"compressed data cannot be unpacked: {error}"
        raise MalformedEvent(msg) from error
    if len(unpacked) != size:
        msg = f"compressed data say that they have {size} bytes, and have {'more' if len(unpacked) > size else len(unpacked)}"
        raise MalformedEvent(msg)
    return unpacked


def payload_events(body: bytes) -> Iterator[bytes]:
    """The events within a TRANSACTION_PAYLOAD of MySQL, one by one; none has a checksum. Not run against a server.

    Raises:
        MalformedEvent: it is none.
    """
    cursor, fields = Cursor(body), {}
    while (field := cursor.packed()) != _PAYLOAD_END:
        fields[field] = Cursor(cursor.take(cursor.packed())).packed()
    packed = cursor.rest()
    compression, size = fields.get(_PAYLOAD_COMPRESSION, _NONE), fields.get(_PAYLOAD_UNPACKED_SIZE, len(packed))
    if compression not in {_ZSTD, _NONE}:
        msg = f"a transaction has the compression {compression}, which is unknown; set binlog_transaction_compression=OFF"
        raise MalformedEvent(msg)
    held, unpacked = bytearray(), 0
    for piece in _zstd(packed) if compression == _ZSTD else [packed]:
        held += piece
        unpacked += len(piece)
        at = 0
        while (event := _event_at(held, at)) is not None:
            yield event
            at += len(event)
        del held[:at]
    # What is cut off unpacks without an error.
    if held or unpacked != size:
        msg = f"a compressed transaction says that it has {size} bytes, and has {unpacked}, of which {len(held)} are no whole event"
        raise MalformedEvent(msg)


def _event_at(held: bytearray, at: int) -> bytes | None:
    if len(held) - at < header.SIZE:
        return None
    size = int.from_bytes(held[at + 9 : at + 13], "little")
    if not header.SIZE <= size <= LARGEST:
        msg = f"a transaction has an event that says it has {size} bytes"
        raise MalformedEvent(msg)
    return bytes(held[at : at + size]) if len(held) - at >= size else None


def _zstd(packed: bytes) -> Iterator[bytes]:
    import zstandard

    try:
        yield from zstandard.ZstdDecompressor(max_window_size=1 << 27).read_to_iter(packed, write_size=_PIECE)
    except zstandard.ZstdError as error:
        msg = f"a compressed transaction cannot be unpacked: {error}"
        raise MalformedEvent(msg) from error
