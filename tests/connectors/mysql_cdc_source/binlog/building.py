"""Events made by hand, and those of a recorded log."""

import zlib
from collections.abc import Iterator
from pathlib import Path

from connectors.mysql_cdc_source.binlog import header as types
from connectors.mysql_cdc_source.binlog.decoder import Decoder
from connectors.mysql_cdc_source.binlog.events import Event

RECORDED = Path(__file__).parent / "recorded" / "mariadb-10.11.binlog"
"""All types of MariaDB 10.11.19, inserted, updated and deleted, compressed events too."""
_MAGIC = 4


def recorded() -> Iterator[bytes]:
    """The events of the recorded log."""
    data = RECORDED.read_bytes()
    at = _MAGIC
    while at < len(data):
        size = int.from_bytes(data[at + 9 : at + 13], "little")
        yield data[at : at + size]
        at += size


def event(kind: int, body: bytes, *, checksum: bool = False, server_id: int = 1, end: int = 1000) -> bytes:
    """An event with this body."""
    size = types.SIZE + len(body) + (types.CHECKSUM_SIZE if checksum else 0)
    numbers = [(1_700_000_000, 4), (kind, 1), (server_id, 4), (size, 4), (end, 4), (0, 2)]
    made = b"".join(number.to_bytes(width, "little") for number, width in numbers) + body
    return made + zlib.crc32(made).to_bytes(4, "little") if checksum else made


def with_body(given: bytes, body: bytes) -> bytes:
    """An event of the same kind with another body, whole again: its size and its checksum are right."""
    head = bytearray(given[: types.SIZE])
    head[9:13] = (types.SIZE + len(body) + types.CHECKSUM_SIZE).to_bytes(4, "little")
    made = bytes(head) + body
    return made + zlib.crc32(made).to_bytes(4, "little")


def description(version: str, *, checksum: bool = False) -> bytes:
    """The FORMAT_DESCRIPTION of a server."""
    body = (4).to_bytes(2, "little") + version.encode().ljust(50, b"\0") + bytes(4) + bytes([types.SIZE]) + bytes(42)
    if not checksum:
        return event(types.FORMAT_DESCRIPTION, body + b"\0" + bytes(4))
    return event(types.FORMAT_DESCRIPTION, body + b"\1", checksum=True)


def mysql() -> Decoder:
    """A decoder of a log of MySQL 8 without checksums."""
    decoder = Decoder()
    list(decoder.decode(description("8.0.36")))
    return decoder


def one(decoder: Decoder, raw: bytes) -> Event:
    """The only event of some bytes."""
    ((_, found),) = decoder.decode(raw)
    return found


def sized(text: str) -> bytes:
    """A text behind its length in one byte."""
    return bytes([len(text.encode())]) + text.encode()


def table_map(columns: list[tuple[int, bytes]], *, table_id: int = 9, optional: bytes = b"") -> bytes:
    """A TABLE_MAP of shop.orders with these types and their metadata, every one of which may be NULL."""
    metadata = b"".join(raw for _, raw in columns)
    body = table_id.to_bytes(6, "little") + b"\1\0" + sized("shop") + b"\0" + sized("orders") + b"\0"
    body += bytes([len(columns), *(kind for kind, _ in columns)]) + bytes([len(metadata)]) + metadata
    return event(types.TABLE_MAP, body + b"\xff" * ((len(columns) + 7) // 8) + optional)


def field(kind: int, content: bytes) -> bytes:
    """A field of a TABLE_MAP's optional metadata."""
    return bytes([kind, len(content)]) + content


def rows_v2(kind: int, columns: int, content: bytes, *, table_id: int = 9, bitmaps: int = 1) -> bytes:
    """An event of rows of MySQL with all columns."""
    head = table_id.to_bytes(6, "little") + b"\1\0" + b"\2\0" + bytes([columns])
    return event(kind, head + b"\xff" * ((columns + 7) // 8) * bitmaps + content)
