"""Which messages of several queues are shown. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice

from rocketmq_remoting.batch import DecodedBatch


@dataclass(frozen=True, slots=True)
class Message:
    """A message in a batch.

    Attributes:
        queue: "topic/broker/number".
        offset: In it.
        stored_ms: When the broker stored it.
        batch: What it was pulled with.
        index: Where it is there.
    """

    queue: str
    offset: int
    stored_ms: int
    batch: DecodedBatch
    index: int


def first(queues: Sequence[Sequence[Message]], most: int) -> list[Message]:
    """The oldest messages of all queues: of each queue those with which it begins, in their order."""
    return list(islice(merge(*queues, key=lambda message: message.stored_ms), most))


def last(queues: Sequence[Sequence[Message]], most: int) -> list[Message]:
    """The newest messages of all queues, the oldest of them first: of each queue those with which it ends, in their order."""
    newest = merge(*map(reversed, queues), key=lambda message: message.stored_ms, reverse=True)
    return list(islice(newest, most))[::-1]


def shared(sizes: Sequence[int], most: int) -> list[int]:
    """How many of each of several queues, which hold so many, make `most` of them together: as even as their sizes allow."""
    shares = [0] * len(sizes)
    left = most
    by_size = sorted(range(len(sizes)), key=sizes.__getitem__)
    for place, queue in enumerate(by_size):
        # What a short queue leaves is for the longer ones.
        shares[queue] = min(sizes[queue], left // (len(sizes) - place))
        left -= shares[queue]
    return shares
