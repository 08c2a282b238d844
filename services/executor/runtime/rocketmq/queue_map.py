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


def by_topic(
    topics: Sequence[str] | None, count: int, failures: Mapping[int, object], default: str
) -> list[tuple[str, list[int] | None]]:
    """The indexes of the records of each topic; None: all of them."""
    if topics is None or (count and topics.count(topics[0]) == len(topics)):
        topic = default if topics is None else topics[0] or default
        return [(topic, None if not failures else [index for index in range(count) if index not in failures])]
    dealt: dict[str, list[int]] = {}
    for index in range(count):
        if index not in failures:
            dealt.setdefault(topics[index] or default, []).append(index)
    return list(dealt.items())
