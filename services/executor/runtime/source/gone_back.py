"""What a topic knows of a source that the position service has forgotten: its store was put back from a backup. Pure.

Incarnations are stored before anything is sent under them, and so are the rows of tasks, with their epochs. So whatever stands in a
topic under a higher one than is stored was sent after the backup.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from rocketconnect_sdk.record import Offset
from rocketmq_remoting.model import MessageQueue
from services.executor.runtime.positions.client import Opened
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq.source_marks import mark_key
from services.executor.runtime.rocketmq.tail import Tail
from services.executor.runtime.source.pieces import Progress
from services.executor.runtime.source.takeover import ROW, Found

Known = Callable[[str], tuple[int, Offset]]
"""By mark key the incarnation and the position of a source partition, as the position service has them."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """What stands in the queues beyond the positions.

    Attributes:
        there: By queue and mark key the incarnation and the highest source offset.
        raised: By mark key the incarnation that the topic knows, where the position service knows a lower one.
    """

    there: Mapping[MessageQueue, Mapping[str, tuple[int, Offset]]]
    raised: Mapping[str, int] = field(default_factory=dict)


def beyond(tails: Mapping[MessageQueue, Tail], known: Known) -> Beyond:
    """What the ends of the queues hold beyond the positions.

    What is of a lower incarnation was sent before a move by hand, and is sent again. Where one is higher than the position service
    knows, the position is that of a backup: what is behind it is there under any incarnation from that of the backup on.
    """
    highest: dict[str, int] = {}
    for tail in tails.values():
        for key, reached in tail.reached.items():
            highest[key] = max(highest.get(key, 0), *reached)
    raised = {key: incarnation for key, incarnation in highest.items() if incarnation > known(key)[0]}
    there: dict[MessageQueue, dict[str, tuple[int, Offset]]] = {}
    for queue, tail in tails.items():
        there[queue] = {}
        for key, reached in tail.reached.items():
            stored, position = known(key)
            counting = [offset for incarnation, offset in reached.items() if incarnation >= stored]
            if counting and (mark := max(counting)) > position:
                there[queue][key] = (raised.get(key, stored), mark)
    return Beyond(there, raised)


def newest_epoch(positions: Mapping[str, Stored]) -> int:
    """The highest epoch of an owner that has stored where it began; 0: none has."""
    return max((stored.offset[0] for name, stored in positions.items() if name.startswith(ROW)), default=0)


def next_count(stored: Stored | None, epoch: int) -> int:
    """The count of the next row of an owner; `stored`: the one that is there."""
    # Before it was kept the offset was the epoch alone.
    return stored.offset[1] + 1 if stored is not None and stored.offset[:1] == (epoch,) and len(stored.offset) > 1 else 1


def progress_of(opened: Opened, uid: str, found: Found) -> Progress:
    """The progress of an owner, under the incarnations that the service or the topic knows."""
    known = {name: stored.incarnation for name, stored in opened.positions.items()}
    return Progress(known, opened.incarnation, lambda partition: found.raised(mark_key(uid, partition)))


def passing(moved: Mapping[str, Stored], found: Found, progress: Progress, key: Callable[[str], str]) -> dict[str, Stored]:
    """Tells what was found that positions have moved, and returns them as they are stored.

    Until a position has passed what was found it is stored under the incarnation of the backup: under the one that the topic
    knows, what was found under lower ones would count no longer for a successor.
    """
    stored = dict(moved)
    for partition, position in moved.items():
        name = key(partition)
        found.passed(name, position.incarnation, position.offset, drained=not progress.is_open(partition))
        if found.holds(name):
            stored[partition] = replace(position, incarnation=progress.stored_incarnation(partition), gone=False)
    return stored


def told(raised: Mapping[str, int]) -> str:
    """What it means that the topic knows higher incarnations, or newer owners, for people."""
    moved = ", ".join(sorted(raised)[:3]) + (f" and {len(raised) - 3} more" if len(raised) > 3 else "")
    which = f" Of {moved} a position was moved since, which is forgotten." if raised else ""
    return (
        "the store of the position service has gone back, as after a backup was put back: the topic holds what was sent since."
        f"{which} The task goes on at the position of the backup and sends nothing that is there already; where that is not "
        "where it should be, stop the connector and set its positions"
    )
