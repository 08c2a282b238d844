"""Messages of pgoutput, as the server writes them."""

from struct import pack

from connectors.postgres_cdc_source.logical.types import TEXT, PgType, builtin
from connectors.postgres_cdc_source.logical.wire.messages import Decoder

# id integer (the key), name text, day date
COLUMNS = [(1, b"id", 23), (0, b"name", 25), (0, b"day", 1082)]
NULL, SAME = b"n", b"u"


def resolve(oid: int, modifier: int) -> PgType:
    return builtin(oid, modifier, 2) or TEXT


def relation(identity: bytes = b"d", oid: int = 7, columns: list[tuple[int, bytes, int]] = COLUMNS) -> bytes:
    parts = [bytes([flags]) + name + b"\0" + pack(">Ii", kind, -1) for flags, name, kind in columns]
    return b"R" + pack(">I", oid) + b"public\0t\0" + identity + pack(">H", len(columns)) + b"".join(parts)


def text(value: str) -> bytes:
    data = value.encode()
    return b"t" + pack(">I", len(data)) + data


def row(letter: bytes, *columns: bytes) -> bytes:
    return letter + pack(">H", len(columns)) + b"".join(columns)


def change(kind: bytes, *rows: bytes, oid: int = 7) -> bytes:
    return kind + pack(">I", oid) + b"".join(rows)


def frame(message: bytes, lsn: int = 0) -> bytes:
    return b"w" + pack(">QQq", lsn, lsn, 0) + message


def decoder(identity: bytes = b"d") -> Decoder:
    made = Decoder(resolve)
    made.decode(relation(identity))
    return made
