"""Whether a sink drops all that it reads, and for longer than restarts explain. Pure."""

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from rocketconnect_sdk.wording.counts import counted
from services.executor.runtime.sink.duplicates import LeftOut

LOST_SECONDS = 10.0
"""So long after a message was dropped that no mark covers its record should have come from its sender's successor."""

DOUBLE_SECONDS = 300.0
"""For so long no owner sends again what it has sent itself."""

CATCH_UP_SECONDS = 1_800.0
"""For so long a newer owner may send again what is there, as after the store of its positions was put back from a backup."""

_FEW = 10


@dataclass(frozen=True, slots=True)
class _Streak:
    """What was dropped of a source partition in a queue since something of it was kept. Times are monotonic.

    `lost`: since when there are messages among it that the mark does not cover; None: there are none.
    """

    queue: str
    first: float
    last: float
    messages: int
    newest: LeftOut
    lost: float | None


class Dropping:
    """What a task has dropped since it kept something. May be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Invariant 7: no more of them than there are marks.
        self._streaks: dict[tuple[str, str], _Streak] = {}

    def saw(self, queue: str, kept: Collection[str], left_out: Sequence[LeftOut], known: Collection[str], now: float) -> None:
        """A batch of a queue was looked through.

        Args:
            queue: The queue.
            kept: The source partitions of which something was new.
            left_out: What was dropped.
            known: The source partitions that have a mark in the queue.
            now: Monotonic time.
        """
        with self._lock:
            for one in left_out:
                self._add(queue, one, now)
            done = [key for key in self._streaks if key[0] == queue and (key[1] in kept or key[1] not in known)]
            for key in done:
                del self._streaks[key]

    def _add(self, queue: str, one: LeftOut, now: float) -> None:
        key = queue, one.key
        before = self._streaks.get(key)
        if one.closes and (before is None or before.lost is None):
            # What was sent again is there to the end: nothing is left that a restart does not explain.
            self._streaks.pop(key, None)
        elif before is None:
            self._streaks[key] = _Streak(queue, now, now, one.messages, one, None if one.is_there else now)
        else:
            lost = now if before.lost is None and not one.is_there else before.lost
            self._streaks[key] = replace(before, last=now, messages=before.messages + one.messages, newest=one, lost=lost)

    @property
    def in_a_row(self) -> int:
        """How many messages were dropped since anything of their source partitions was kept."""
        with self._lock:
            return sum(streak.messages for streak in self._streaks.values())

    def said(self, now: float) -> str:
        """What is wrong, for people; empty: nothing that restarts do not explain."""
        with self._lock:
            streaks = [streak for streak in self._streaks.values() if _is_wrong(streak, now)]
        if not streaks:
            return ""
        worst = max(streaks, key=lambda streak: streak.messages)
        also = f" (and of {counted(len(streaks) - 1, 'more source partition')})" if len(streaks) > 1 else ""
        where, messages = f"{worst.newest.key} in {worst.queue}", counted(worst.messages, "message")
        return (
            f"all that came of {where} for {now - worst.first:.0f} s was dropped, at least {messages}{also}: {why(worst.newest)}. "
            "If nobody sends again what is there, stop the connector that sends it, set its positions to where the missing records "
            "begin (rocketconnect position set), and resume it"
        )


def _is_wrong(streak: _Streak, now: float) -> bool:
    if streak.lost is not None:
        return now - streak.lost >= LOST_SECONDS
    seconds = DOUBLE_SECONDS if streak.newest.epoch <= streak.newest.mark.epoch else CATCH_UP_SECONDS
    return streak.messages >= _FEW and streak.last - streak.first >= seconds


def untold(left_out: Sequence[LeftOut], told: dict[tuple[str, bool], int], known: Collection[str]) -> list[LeftOut]:
    """Those of owners whose messages were not told of yet, which `told` has then.

    Args:
        left_out: What was dropped of a batch.
        told: By source partition, and whether they were late: the epoch of the messages that were told of last.
        known: The source partitions that have a mark in the queue.
    """
    if left_out:
        # Invariant 7: no more of them than there are marks.
        for key in [key for key in told if key[0] not in known]:
            del told[key]
    found = []
    for one in left_out:
        key = one.key, one.is_late
        if told.get(key) != one.epoch:
            found.append(one)
        told[key] = one.epoch
    return found


def why(one: LeftOut) -> str:
    """Why messages are left out, and when that is right."""
    mark = one.mark
    if one.is_late:
        return (
            f"they were sent under epoch {one.epoch}, and epoch {mark.epoch} is in the queue before them. That is right where "
            "their sender had lost its lease: its successor has sent the records again"
        )
    return (
        f"they are duplicates: they were sent under epoch {one.epoch}, and are not above source offset {list(mark.offset)} of "
        f"incarnation {mark.incarnation}, which epoch {mark.epoch} has in the queue before them. That is right where a sender "
        "ended within a send, and what it had sent was sent again"
    )
