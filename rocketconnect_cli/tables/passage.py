"""Up to which time all that was in a source has come through to its sinks. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

STALE_SECONDS = 8.0
"""A state says what was so at most that long ago: a source looks at the end of its log every five seconds, and tells it in two."""
SENDING_SECONDS = 3.0
"""What a source has read is in its topic by then: it goes on with other records while it sends."""


class Step(Enum):
    """What the records of a source have before them."""

    READING = auto()
    """The source has some left to read."""
    SENDING = auto()
    """What it has read may not be in its topics yet."""
    WRITING = auto()
    """Messages are not in the target yet."""


@dataclass(frozen=True, slots=True)
class PipelineState:
    """What the services say of a pipeline.

    Attributes:
        at: When, in seconds.
        standing: The connectors that are not at work, so that nothing comes through: name and state.
        read: The source has nothing left to read.
        ends: By queue of the sinks' topics where it ends.
        positions: By queue where its sink goes on; without one where the queue begins.
        unread: What the source has left to read, for people; empty: not known, or nothing.
    """

    at: float
    standing: Mapping[str, str]
    read: bool
    ends: Mapping[str, int]
    positions: Mapping[str, int]
    unread: str = ""

    def left(self, ends: Mapping[str, int]) -> int:
        """How many messages before these ends are not in the target."""
        return sum(max(0, end - self.positions.get(queue, 0)) for queue, end in ends.items())


class Passage:
    """Follows the records of a source through its topic: until nothing is left to read, then to the ends of the queues."""

    def __init__(self) -> None:
        self.passed = float("-inf")
        """What was in the source by this time is in the targets, or will not come."""
        self.left = 0
        """Messages that the sinks are behind, at the last look."""
        self.step = Step.READING
        """What is waited for before more has passed."""
        self._read: float | None = None
        """All that was there at this time is read, and may not be in the topic."""
        self._sent_at = 0.0
        self._ends: Mapping[str, int] | None = None
        """Where the topic ended when it had all that was read."""

    def look(self, seen: PipelineState) -> None:
        """What is seen, later than the last time."""
        self.left = seen.left(seen.ends)
        if seen.standing:
            self._read = self._ends = None
            self.passed = seen.at
            return
        if self._read is None and seen.read:
            self._read, self._sent_at = seen.at - STALE_SECONDS, seen.at + SENDING_SECONDS
        if self._read is None:
            self.step = Step.READING
            return
        if self._ends is None and seen.at >= self._sent_at:
            self._ends = seen.ends
        if self._ends is not None and not seen.left(self._ends):
            self.passed = max(self.passed, self._read)
            self._read = self._ends = None
        self.step = Step.SENDING if self._ends is None else Step.WRITING
