"""Bodies that are packed, unpacked within a limit: a few bytes may stand for as many as nobody has room for. Pure."""

import zlib

_PART = 64 << 10
_MOST_MEMBERS = 1_000
"""Who packs piece by piece makes a few. Each begins with more work than an empty one is worth."""
_GZIP, _ZLIB, _BARE = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS


class NotPacked(ValueError):
    """It is not packed so. The text says what it is."""


class TooLong(ValueError):
    """It stands for more bytes than there may be."""


def ungzipped(data: bytes, most_bytes: int) -> bytes:
    """What is in a gzip, which may be several behind each other.

    Raises:
        NotPacked: it is none, or not whole.
        TooLong: see there.
    """
    made, at, members = bytearray(), 0, 0
    unpacker = zlib.decompressobj(_GZIP)
    while True:
        # What stands behind the end of one is copied each time, so it is to be little.
        part = data[at : at + _PART]
        at += len(part)
        made += _unpacked(unpacker, part, most_bytes - len(made), "gzip")
        if unpacker.eof:
            at -= len(unpacker.unused_data)
            members += 1
            if at == len(data):
                return bytes(made)
            if members == _MOST_MEMBERS:
                msg = f"has more than {_MOST_MEMBERS:,} gzips behind each other"
                raise NotPacked(msg)
            unpacker = zlib.decompressobj(_GZIP)
        elif at == len(data):
            msg = "is no whole gzip"
            raise NotPacked(msg)


def undeflated(data: bytes, most_bytes: int) -> bytes:
    """What `deflate` stands for: zlib's form, or what some servers take it for, which has no head. Raises as ungzipped."""
    has_head = len(data) > 1 and data[0] & 15 == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0
    unpacker = zlib.decompressobj(_ZLIB if has_head else _BARE)
    made = _unpacked(unpacker, data, most_bytes, "deflate")
    if not unpacker.eof:
        msg = "is no whole deflate"
        raise NotPacked(msg)
    return made


def _unpacked(unpacker: "zlib._Decompress", data: bytes, most_bytes: int, form: str) -> bytes:
    try:
        # One more than there may be tells that there are more; and 0 would be no limit.
        made = unpacker.decompress(data, most_bytes + 1)
    except zlib.error as error:
        msg = f"is no {form}: {error}"
        raise NotPacked(msg) from None
    if len(made) > most_bytes:
        raise TooLong
    return made
