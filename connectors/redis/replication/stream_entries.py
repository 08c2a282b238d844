"""Entries of a stream, as a snapshot packs them. Pure. https://github.com/redis/redis: src/t_stream.c."""

from collections.abc import Iterator, Sequence
from struct import unpack

_DELETED = 1
_SAME_FIELDS = 2


def entries_of(node: bytes, elements: Sequence[bytes]) -> Iterator[tuple[bytes, list[bytes]]]:
    """The entries of a node that were not deleted: their ids, and names and values in turns.

    Args:
        node: The id of its first entry, from which those of the others are counted.
        elements: What is packed in it: the number of the entries and of deleted ones, the names of the first entry's fields, and
            then all entries.

    Raises:
        struct.error, IndexError, ValueError: it is damaged.
    """
    ms, sequence = unpack(">QQ", node)
    count, deleted, names = map(int, elements[:3])
    shared = elements[3 : 3 + names]
    at = 4 + names
    for _ in range(count + deleted):
        flags, ms_more, sequence_more = map(int, elements[at : at + 3])
        at += 3
        if flags & _SAME_FIELDS:
            fields = [part for pair in zip(shared, elements[at : at + names], strict=True) for part in pair]
            at += names
        else:
            size = 2 * int(elements[at])
            fields = list(elements[at + 1 : at + 1 + size])
            at += 1 + size
        # How many elements the entry has stands behind it.
        at += 1
        if not flags & _DELETED:
            yield b"%d-%d" % (ms + ms_more, sequence + sequence_more), fields
