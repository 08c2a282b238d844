"""Whether a queue is still the one that was read: RocketMQ gives topics no identity. Pure.

A topic that is deleted and made anew begins its offsets again. So the places of two messages are remembered, with what tells them
from all others: the first one that was read, and the last.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Self, cast

from rocketconnect_sdk.resume import JSON


class Found(Enum):
    """What has become of a queue."""

    SAME = "same"
    """What was read is still there, or has gone by its age, or the queue ends before it."""
    REPLACED = "replaced"
    """The broker has lost what was read last, and other messages are there instead."""
    ANEW = "anew"
    """Its topic was deleted and made anew."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A message: its offset, and what no other one has."""

    offset: int
    identity: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a queue.

    Attributes:
        era: How often its topic was made anew.
        first: The first message that was read in this era.
        last: The last one.
    """

    era: int = 0
    first: Seen | None = None
    last: Seen | None = None

    def read(self, first: Seen, last: Seen) -> "Known":
        """Messages were read."""
        return Known(self.era, self.first or first, last)

    def looked_at(self, low: int, end: int, identity: Callable[[int], str]) -> "Found":
        """What has become of the queue, as far as that can be seen.

        Args:
            low: The first offset that it has.
            end: The offset that its next message gets.
            identity: Of the message at an offset that it has.
        """
        first, last = self.first, self.last
        if first is None or last is None or last.offset < low:
            # Nothing was read, or all of that is gone, which tells nothing.
            return Found.SAME
        is_shorter = last.offset >= end
        if not is_shorter and identity(last.offset) == last.identity:
            return Found.SAME
        # A broker that has lost its newest messages still has the older ones, as far as they have not gone by their age.
        if first.offset >= end or (first.offset >= low and identity(first.offset) != first.identity):
            return Found.ANEW
        return Found.SAME if is_shorter else Found.REPLACED

    def passed(self) -> "Known":
        """That messages were replaced was told, and passed."""
        return Known(self.era)

    def next_era(self) -> "Known":
        """Of a topic that was made anew."""
        return Known(self.era + 1)

    def note(self) -> dict[str, JSON]:
        """As it is stored with a position."""
        made: dict[str, JSON] = {"era": self.era}
        if self.first is not None and self.last is not None:
            made |= {"first": [self.first.offset, self.first.identity], "last": [self.last.offset, self.last.identity]}
        return made

    @classmethod
    def of_note(cls, note: Mapping[str, JSON]) -> Self:
        """From what was stored."""
        first, last = (Seen(*cast("tuple[int, str]", note[name])) if name in note else None for name in ("first", "last"))
        return cls(cast("int", note.get("era", 0)), first, last)
