"""The dead letters of one connector, in their topic. Blocking; for one thread."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocketconnect_sdk.dead_letters import EDITION_TAG, DeadLetter, Filter, Spans
from rocketconnect_sdk.topics import Message, TopicReader

_SCANNED = 20_000
_SCANNED_BYTES = 32 << 20
"""So much is looked at for one page (invariant 7)."""


@dataclass(frozen=True, slots=True)
class Found:
    """A dead letter, and its newest edition."""

    letter: DeadLetter
    edition: Message | None

    @property
    def body(self) -> bytes:
        """As it was edited last."""
        return self.letter.message.body if self.edition is None else self.edition.body

    @property
    def is_cut(self) -> bool:
        """Nobody has made it whole."""
        return self.edition is None and self.letter.is_cut


@dataclass(frozen=True, slots=True)
class Count:
    """How many dead letters a replay is about, and how many of them nobody can send."""

    letters: int
    cut: int


class TooMany(Exception):
    """There was no time to look at all of them."""


class Box:
    """The dead letters of a topic.

    Args:
        reader: Of RocketMQ.
        topic: The dead-letter topic.
        until: Monotonic time at which the caller gives up.

    Raises:
        SystemAway, PermanentError: of RocketMQ.
    """

    def __init__(self, reader: TopicReader, topic: str, until: float) -> None:
        self._reader = reader
        self._until = until
        self.queues: Sequence[str] = reader.queues(topic)

    def ends(self) -> Spans:
        """What each queue holds now, without the empty ones."""
        found = {queue: self._reader.ends(queue) for queue in self.queues}
        return {queue: [(low, high)] for queue, (low, high) in found.items() if low < high}

    def page(
        self, spans: Spans, wanted: Filter, since_ms: int, size: int, after: tuple[str, int] | None
    ) -> tuple[list[Found], tuple[str, int] | None]:
        """Dead letters in their order; and behind which place the next page begins, None: there is none.

        Args:
            spans: Where to look.
            wanted: Which.
            since_ms: Stored at or after this time.
            size: At most so many.
            after: As the page before said.
        """
        found: list[DeadLetter] = []
        scanned_bytes = 0
        for scanned, message in enumerate(self._messages(spans, after), start=1):
            scanned_bytes += len(message.body) + 1_000
            letter = DeadLetter.of(message)
            if message.stored_ms >= since_ms and wanted.takes(letter):
                found.append(letter)
            if len(found) == size or scanned == _SCANNED or scanned_bytes > _SCANNED_BYTES or time.monotonic() > self._until:
                return self._with_editions(found), (message.queue, message.offset)
        return self._with_editions(found), None

    def get(self, queue: str, offset: int) -> Found | None:
        """One of them; None: it is not there, or it is an edition."""
        low, high = self._reader.ends(queue)
        if not low <= offset < high:
            return None
        messages, _ = self._reader.read(queue, offset, offset + 1)
        letters = [letter for letter in map(DeadLetter.of, messages) if letter.edition_of is None]
        return self._with_editions(letters)[0] if letters else None

    def since(self, queue: str, spans: Sequence[tuple[int, int]], time_ms: int) -> list[tuple[int, int]]:
        """What of these ranges was stored at or after a time."""
        begin = self._reader.since(queue, time_ms)
        return [(max(first, begin), until) for first, until in spans if until > begin]

    def count(self, spans: Spans, wanted: Filter) -> Count:
        """How many there are.

        Raises:
            TooMany: there was no time to look at all of them.
        """
        letters = cut = 0
        editions = {queue: self._editions(queue, each[0][0]) for queue, each in spans.items()}
        for message in self._messages(spans, None):
            letter = DeadLetter.of(message)
            if wanted.takes(letter):
                letters += 1
                cut += Found(letter, editions[message.queue].get(message.offset)).is_cut
            if time.monotonic() > self._until:
                raise TooMany
        return Count(letters, cut)

    def _messages(self, spans: Spans, after: tuple[str, int] | None) -> Iterator[Message]:
        for queue, each in sorted(spans.items()):
            for first, until in each:
                position = first
                if after is not None:
                    if queue < after[0]:
                        continue
                    position = max(first, after[1] + 1) if queue == after[0] else first
                while position < until:
                    messages, position = self._reader.read(queue, position, until)
                    yield from messages

    def _with_editions(self, letters: Sequence[DeadLetter]) -> list[Found]:
        lowest: dict[str, int] = {}
        for letter in letters:
            lowest.setdefault(letter.message.queue, letter.message.offset)
        editions = {queue: self._editions(queue, first) for queue, first in lowest.items()}
        return [Found(letter, editions[letter.message.queue].get(letter.message.offset)) for letter in letters]

    def _editions(self, queue: str, first: int) -> dict[int, Message]:
        """By the offset of the dead letter, its newest edition."""
        found: dict[int, Message] = {}
        position, until = first, self._reader.ends(queue)[1]
        while position < until:
            messages, position = self._reader.read(queue, position, until, tag=EDITION_TAG)
            found.update({of: message for message in messages if (of := DeadLetter.of(message).edition_of) is not None})
        return found
