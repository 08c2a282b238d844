"""Where a consumer group goes on in the copy of a queue. Pure: messages are looked at through a function.

Each copy carries where its original is, and the copies of one queue are in its order. So the place is found by halving, and what
else is in the queue of the copies is passed over.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

MOST_WINDOWS = 64
"""So many windows without a copy of the queue are looked at in a row, before an earlier place is taken."""
_STEP = 32


@dataclass(frozen=True, slots=True)
class Copy:
    """A message that was copied.

    Attributes:
        position: Its offset.
        topic: The topic of the original.
        queue: Its queue, "broker-a/3".
        offset: The offset of the original.
    """

    position: int
    topic: str
    queue: str
    offset: int


@dataclass(frozen=True, slots=True)
class Window:
    """Some messages in a row.

    Attributes:
        next: The offset behind them.
        copies: Those that are copies.
        has_own: There are others.
    """

    next: int
    copies: Sequence[Copy] = field(default=())
    has_own: bool = False


Look = Callable[[int], Window]
"""The messages from an offset on, at least one where there are any."""


@dataclass(frozen=True, slots=True)
class Translated:
    """Where a group goes on.

    Attributes:
        position: The place of the first copy that it has not read, or the end; an earlier one where too much else lies between.
        has_own: Messages were seen on the way that are no copies.
    """

    position: int
    has_own: bool


def translated(look: Look, begin: int, end: int, topic: str, queue: str, offset: int) -> Translated:
    """Where a group goes on among the copies that goes on at `offset` of a queue.

    Args:
        look: Gives the messages of the queue with the copies.
        begin: Its first offset: all copies before were read.
        end: The offset behind its last one.
        topic: That of the originals.
        queue: Theirs, "broker-a/3".
        offset: Where the group goes on there.
    """
    low, high, found = begin, end, end
    is_sure, has_own = True, False
    while low < high:
        middle = (low + high) // 2
        next_ = _next_copy(look, middle, high, topic, queue)
        has_own = has_own or next_.has_own
        if next_.copy is None:
            # What was not seen may hold unread ones: then nothing behind `low` is taken.
            is_sure = is_sure and next_.seen_to >= high
            high = middle
        elif next_.copy.offset < offset:
            low = next_.copy.position + 1
        else:
            found, high, is_sure = next_.copy.position, middle, True
    return Translated(found if is_sure else low, has_own)


def read_of_own(look: Look, begin: int, end: int, at: int, topic: str, queue: str) -> int | None:
    """Up to where a group that reads there has read what is no copy here: by the copies of that which are there.

    Args:
        look: Gives the messages of the queue that the group reads.
        begin: Its first offset.
        end: The offset behind its last one.
        at: Where the group goes on.
        topic: The topic here.
        queue: The queue here.

    Returns:
        The offset here of the first one that it has not read; None: no copies of this queue are there, as far as was looked.
    """
    if (copy := _next_copy(look, at, end, topic, queue).copy) is not None:
        return copy.offset
    # What is not there yet it has not read: it has read what the last one that is there is a copy of.
    last = at
    for _ in range(MOST_WINDOWS):
        first = max(begin, last - _STEP)
        if first >= last:
            return None
        newest, upto = None, first
        while (copy := _next_copy(look, upto, last, topic, queue).copy) is not None:
            newest, upto = copy, copy.position + 1
        if newest is not None:
            return newest.offset + 1
        last = first
    return None


def passed(look: Look, at: int, end: int, topic: str, queues: Container[str]) -> int:
    """Up to where, from an offset on, all messages are copies of these queues: what a group has read of them does not come again.

    Args:
        look: Gives the messages of the queue with the copies.
        at: The first one; all before it were read.
        end: The offset of the first copy that was not read.
        topic: That of the originals.
        queues: Theirs, "broker-a/3".

    Returns:
        The offset of the first other one, at most `end`; an earlier one where there is too much to look at.
    """
    for _ in range(MOST_WINDOWS):
        if at >= end:
            break
        window = look(at)
        for copy in window.copies:
            # Where there are others, one of these may be in each gap.
            if copy.topic != topic or copy.queue not in queues or (window.has_own and copy.position != at):
                return min(at, end)
            at = copy.position + 1
        if window.has_own:
            break
        at = max(window.next, at)
    return min(at, end)


@dataclass(frozen=True, slots=True)
class _Next:
    copy: Copy | None
    seen_to: int
    has_own: bool


def _next_copy(look: Look, at: int, end: int, topic: str, queue: str) -> _Next:
    """The first copy of a queue from an offset on, up to where was looked, and whether there were messages that are no copies."""
    has_own = False
    for _ in range(MOST_WINDOWS):
        if at >= end:
            break
        window = look(at)
        has_own = has_own or window.has_own
        for copy in window.copies:
            if copy.position < end and (copy.topic, copy.queue) == (topic, queue):
                return _Next(copy, copy.position + 1, has_own)
        at = max(window.next, at + 1)
    return _Next(None, at, has_own)
