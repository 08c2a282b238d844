"""RocketMQ as a source sees it: for sources that read topics, by the access that their executor has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Message:
    """A message in a queue.

    Attributes:
        queue: "topic/broker/number".
        offset: Its place in the queue.
        body: Its payload.
        properties: All of them.
        stored_ms: When the broker stored it, milliseconds since 1970.
    """

    queue: str
    offset: int
    body: bytes
    properties: Mapping[str, str]
    stored_ms: int


class TopicReader(Protocol):
    """Reads topics. For one thread.

    Raises:
        SystemAway: RocketMQ does not answer; call it again after a backoff.
        PermanentError: it does not let us read.
    """

    def queues(self, topic: str) -> Sequence[str]:
        """The queues that can be read, sorted; none when there is no such topic."""

    def ends(self, queue: str) -> tuple[int, int]:
        """The offset of the first message that the queue still has, and the one that its next message will get."""

    def since(self, queue: str, time_ms: int) -> int:
        """The offset of the first message stored at or after a time, in milliseconds since 1970; the end, when there is none."""

    def read(self, queue: str, start: int, until: int, *, tag: str = "") -> tuple[Sequence[Message], int]:
        """Some messages in [start, until), and the offset behind them, from where to read on; `until`: there are no more.

        Messages that are gone are left out. Begin elsewhere at any time; reading on where the last call ended is fast.

        Args:
            queue: Of queues().
            start: Where to begin.
            until: Not beyond the end of the queue.
            tag: Only messages with this tag.
        """
