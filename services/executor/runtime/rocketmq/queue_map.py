"""Which queue a record goes to. Pure, and fixed for a revision (invariant 4)."""

from collections.abc import Mapping, Sequence
from zlib import crc32


def queue_of_partition(partition: str, queues: int) -> int:
    """The index of the queue of all records of a source partition that have no key."""
    return crc32(partition.encode()) % queues


def queue_of_key(key: bytes, queues: int) -> int:
    """The index of the queue of all records with this key."""
    return crc32(key) % queues


def deal(partition: str, keys: Sequence[bytes | None] | None, queues: int) -> Mapping[int, list[int] | None]:
    """Deals the records of a batch out.

    Returns: by the index of the queue, the indexes of its records in their order; None: all of them.
    """
    own = queue_of_partition(partition, queues)
    if keys is None or queues == 1:
        return {own: None}
    dealt: dict[int, list[int]] = {}
    for index, key in enumerate(keys):
        dealt.setdefault(own if key is None else queue_of_key(key, queues), []).append(index)
    return dealt
