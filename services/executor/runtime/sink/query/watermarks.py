"""How far queues are in the time of their records. Pure.

The watermark of a queue is the time of its newest record less the lateness; that of all is the lowest. Whether a record is late is
asked of its own queue alone, so it depends neither on how batches are cut nor on how queues take turns: when the watermark of all
has passed a window, that of each queue has, and no record of it can come that is not late. Only queues that are not waited for
(idle ones) can have such records; these are late by what is written already.
"""

from collections.abc import Iterable, Mapping, Sequence


def clocks_after(clocks: Mapping[str, int], queues: Sequence[str], times: Sequence[int]) -> dict[str, int]:
    """The newest time in each queue behind records of these queues and times."""
    after = dict(clocks)
    for queue, time in zip(queues, times, strict=True):
        if time > after.get(queue, time - 1):
            after[queue] = time
    return after


def watermarks_before(clocks: Mapping[str, int], queues: Sequence[str], times: Sequence[int], lateness: int) -> list[int | None]:
    """The watermark of its queue immediately before each record, records of a queue in their order; None: it is the first."""
    newest = dict(clocks)
    found: list[int | None] = []
    for queue, time in zip(queues, times, strict=True):
        known = newest.get(queue)
        found.append(None if known is None else known - lateness)
        if known is None or time > known:
            newest[queue] = time
    return found


def watermark(clocks: Mapping[str, int], waited: Iterable[str], idle: Iterable[str], lateness: int) -> int | None:
    """The watermark of all queues; None: one that is waited for has no record yet.

    Args:
        clocks: The newest time in each queue that has any.
        waited: The queues.
        idle: Those of them that are not waited for.
        lateness: See the option.
    """
    left_out = set(idle)
    known = [clocks.get(queue) for queue in waited if queue not in left_out]
    least = [time for time in known if time is not None]
    return min(least) - lateness if least and len(least) == len(known) else None


def quiet(clocks: Mapping[str, int], first: int, waited: Iterable[str], idle: int) -> list[str]:
    """The queues whose newest record (without any: the first of all) is so much older than the newest of all."""
    if not clocks:
        return []
    newest = max(clocks.values())
    return [queue for queue in waited if newest - clocks.get(queue, first) > idle]
