"""How a snapshot packs small collections into one string. Pure.

https://github.com/redis/redis: src/listpack.c, src/ziplist.c, src/intset.c, src/zipmap.c, and LZF of liblzf.
"""

from collections.abc import Iterator
from struct import unpack_from

_END = 255
_LISTPACK_HEAD = 6
_ZIPLIST_HEAD = 10
_LONG = 254
_BACKLENS = ((127, 1), (16382, 2), (2097150, 3), (268435454, 4))
_NUMBERS = {0xF1: 2, 0xF2: 3, 0xF3: 4, 0xF4: 8}
_ZIPLIST_NUMBERS = {0xC0: 2, 0xD0: 4, 0xE0: 8, 0xF0: 3, 0xFE: 1}


def unpacked_lzf(data: bytes, size: int) -> bytes:
    """What was compressed by LZF; `size` is its length.

    Raises:
        ValueError: it has another length.
    """
    out = bytearray()
    at, end = 0, len(data)
    # Three bytes may stand for hundreds: behind what was told nothing more is made.
    while at < end and len(out) <= size:
        control = data[at]
        at += 1
        if control < 32:
            out += data[at : at + control + 1]
            at += control + 1
            continue
        length = control >> 5
        if length == 7:
            length += data[at]
            at += 1
        begin = len(out) - ((control & 31) << 8) - data[at] - 1
        at += 1
        length += 2
        if begin < 0:
            break
        while length > 0:
            # What is copied may reach into what the copy itself has made.
            some = out[begin : begin + length]
            out += some
            length -= len(some)
    if len(out) != size:
        msg = f"compressed data became {len(out):,} bytes, where {size:,} were told"
        raise ValueError(msg)
    return bytes(out)


def listpack(data: bytes) -> Iterator[bytes]:
    """The elements of a listpack; numbers as their text.

    Raises:
        IndexError, struct.error: it is damaged.
    """
    at = _LISTPACK_HEAD
    while (first := data[at]) != _END:
        if first < 0x80:
            value, size = b"%d" % first, 1
        elif first < 0xC0:
            size = 1 + (first & 0x3F)
            value = data[at + 1 : at + size]
        elif first < 0xE0:
            number = (first & 0x1F) << 8 | data[at + 1]
            value, size = b"%d" % (number - (1 << 13) if number >> 12 else number), 2
        elif first < 0xF0:
            size = 2 + ((first & 0xF) << 8 | data[at + 1])
            value = data[at + 2 : at + size]
        elif first == 0xF0:
            size = 5 + int(unpack_from("<I", data, at + 1)[0])
            value = data[at + 5 : at + size]
        else:
            size = 1 + _NUMBERS.get(first, 8)
            value = b"%d" % int.from_bytes(data[at + 1 : at + size], "little", signed=True)
        yield value
        at += size + next((length for most, length in _BACKLENS if size <= most), 5)


def ziplist(data: bytes) -> Iterator[bytes]:
    """The elements of a ziplist, as servers before Redis 7 have them.

    Raises:
        IndexError, struct.error: it is damaged.
    """
    at = _ZIPLIST_HEAD
    while data[at] != _END:
        at += 5 if data[at] == _LONG else 1
        first = data[at]
        if first < 0xC0:
            if first < 0x40:
                head, size = 1, first
            elif first < 0x80:
                head, size = 2, (first & 0x3F) << 8 | data[at + 1]
            else:
                head, size = 5, int(unpack_from(">I", data, at + 1)[0])
            yield data[at + head : at + head + size]
            at += head + size
        elif (size := _ZIPLIST_NUMBERS.get(first, 0)) > 0:
            yield b"%d" % int.from_bytes(data[at + 1 : at + 1 + size], "little", signed=True)
            at += 1 + size
        else:
            yield b"%d" % ((first & 0xF) - 1)
            at += 1


def intset(data: bytes) -> Iterator[bytes]:
    """The members of a set of integers."""
    size, count = unpack_from("<II", data)
    for number in range(count):
        yield b"%d" % int.from_bytes(data[8 + number * size : 8 + (number + 1) * size], "little", signed=True)


def zipmap(data: bytes) -> Iterator[bytes]:
    """Names and values in turns of a map, as servers before Redis 2.6 have it.

    Raises:
        IndexError, struct.error: it is damaged.
    """
    at = 1
    is_value = False
    while (first := data[at]) != _END:
        size, head = (int(unpack_from("<I", data, at + 1)[0]), 5) if first == _LONG else (first, 1)
        at += head
        unused = data[at] if is_value else 0
        at += is_value
        yield data[at : at + size]
        at += size + unused
        is_value = not is_value
