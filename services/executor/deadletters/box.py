"""The dead letters of one connector, in their topic. Blocking; for one thread."""

import time
from collections.abc import Iterator, Mapping, Sequence

from rocketconnect_sdk.letters.dead_letters import EDITION_TAG, DeadLetter, Filter, Spans
from rocketconnect_sdk.letters.replay_notes import REPLAYED_TAG, Done, ReplayNote, ReplayNotes
from rocketconnect_sdk.topics import Message, TopicReader
from services.executor.deadletters.choice import Choice, Chosen, Found, Open, Waiting

_SCANNED = 20_000
_SCANNED_BYTES = 32 << 20
"""So much is looked at for one page (invariant 7)."""
_CLOCKS_APART_MS = 60_000
"""By so much the clocks of brokers may differ: a note may stand in the queue of another broker than its letters."""


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

    @property
    def seconds_left(self) -> float:
        """Until the caller gives up."""
        return self._until - time.monotonic()

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
                return self._with_notes(found), (message.queue, message.offset)
        return self._with_notes(found), None

    def get(self, queue: str, offset: int) -> Found | None:
        """One of them; None: it is not there, or it is no dead letter."""
        low, high = self._reader.ends(queue)
        if not low <= offset < high:
            return None
        messages, _ = self._reader.read(queue, offset, offset + 1)
        letters = [letter for letter in map(DeadLetter.of, messages) if not letter.is_other]
        return self._with_notes(letters)[0] if letters else None

    def since(self, queue: str, spans: Sequence[tuple[int, int]], time_ms: int) -> list[tuple[int, int]]:
        """What of these ranges was stored at or after a time."""
        begin = self._reader.since(queue, time_ms)
        return [(max(first, begin), until) for first, until in spans if until > begin]

    def choose(
        self, spans: Spans, wanted: Filter, topic: str, *, again: bool = False, named: bool = False, is_own: bool = False
    ) -> Choice:
        """What of these is to be sent.

        Args:
            spans: Where to look.
            wanted: Which.
            topic: Where they are to be sent to: what was sent elsewhere was not replayed.
            again: Also those that were replayed before.
            named: Each was asked for: also those that were replayed before, and copies.
            is_own: Each goes to where its source would have sent it.

        Raises:
            TooMany: there was no time to look at all of them.
        """
        chosen = Chosen(named=named)
        editions = {queue: self._editions(queue, each[0][0]) for queue, each in spans.items()}
        notes = self._notes(0)
        for message in self._messages(spans, None):
            if time.monotonic() > self._until:
                raise TooMany
            queue, letter = message.queue, DeadLetter.of(message)
            if wanted.takes(letter):
                found = Found(letter, editions[queue].get(message.offset), notes.last(queue, message.offset, topic))
                chosen.add(found, is_unmade=found.is_unmade(topic, is_own=is_own))
        return chosen.choice(spans, again=again or named)

    def open(self, spans: Spans, wanted: Filter) -> tuple[int, Spans]:
        """How many of these letters nobody has replayed, or given up, since they were edited last; and exactly where they are.

        Raises:
            TooMany: there was no time to look at all of them.
        """
        editions = {queue: self._editions(queue, each[0][0]) for queue, each in spans.items()}
        notes = self._notes(0)
        found = Open()
        for message in self._messages(spans, None):
            if time.monotonic() > self._until:
                raise TooMany
            queue, offset, letter = message.queue, message.offset, DeadLetter.of(message)
            if wanted.takes(letter):
                found.add(Found(letter, editions[queue].get(offset), notes.last(queue, offset)))
        return found.letters()

    def unreplayed(self, *, unnamed: bool = True) -> tuple[dict[str, Waiting], bool]:
        """By connector the letters that nobody has replayed, to wherever, or given up; and whether there was time to look at all.

        Args:
            unnamed: Those that name no connector count, too, under an empty name.
        """
        spans = self.ends()
        editions = {queue: self._editions(queue, each[0][0]) for queue, each in spans.items()}
        notes = self._notes(0)
        found: dict[str, Open] = {}
        is_all = True
        for message in self._messages(spans, None):
            if not (is_all := time.monotonic() <= self._until):
                break
            letter = DeadLetter.of(message)
            name = letter.connector
            if letter.is_other or not (name or unnamed):
                continue
            queue, offset = message.queue, message.offset
            told = Found(letter, editions[queue].get(offset), notes.last(queue, offset))
            found.setdefault(name, Open()).add(told)
        waiting = {name: each.waiting for name, each in found.items()}
        return {name: each for name, each in waiting.items() if each.count}, is_all

    def done(self, connector: str, replay: str) -> Done:
        """What a replay of the dead letters of a connector has done so far."""
        done = Done()
        for message in self._noted(0):
            note = ReplayNote.of(message)
            if note is not None and (note.connector, note.replay) == (connector, replay):
                done.add(note, message.stored_ms)
        return done

    def came_back(self, done: Done, replay: str) -> Iterator[DeadLetter]:
        """The letters that those of a replay are again, as far as there are any by now."""
        for queue in self.queues:
            low, until = self._reader.ends(queue)
            position = max(low, self._reader.since(queue, max(0, done.since_ms - _CLOCKS_APART_MS)))
            while position < until and time.monotonic() < self._until:
                messages, position = self._reader.read(queue, position, until)
                letters = map(DeadLetter.of, messages)
                yield from (each for each in letters if not each.is_other and each.replay_of and each.replay_of[0] == replay)

    def ends_of(self, topic: str) -> Mapping[str, int]:
        """Where the queues of another topic end; none: there is no such topic."""
        return {queue: self._reader.ends(queue)[1] for queue in self._reader.queues(topic)}

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

    def _with_notes(self, letters: Sequence[DeadLetter]) -> list[Found]:
        lowest: dict[str, int] = {}
        for letter in letters:
            lowest.setdefault(letter.message.queue, letter.message.offset)
        editions = {queue: self._editions(queue, first) for queue, first in lowest.items()}
        notes = self._notes(min(letter.message.stored_ms for letter in letters)) if letters else ReplayNotes()
        found, known = [], dict[bytes, str]()
        for letter in letters:
            queue, offset = letter.message.queue, letter.message.offset
            first = letter.id if letter.identity is None else known.setdefault(letter.identity, letter.id)
            copy_of = "" if first == letter.id else first
            found.append(Found(letter, editions[queue].get(offset), notes.last(queue, offset), copy_of))
        return found

    def _notes(self, since_ms: int) -> ReplayNotes:
        """What was replayed, of the letters that were stored at or after this time."""
        notes = ReplayNotes()
        for message in self._noted(since_ms):
            notes.add(message)
        return notes

    def _noted(self, since_ms: int) -> Iterator[Message]:
        for queue in self.queues:
            low, until = self._reader.ends(queue)
            position = max(low, self._reader.since(queue, max(0, since_ms - _CLOCKS_APART_MS)))
            while position < until:
                messages, position = self._reader.read(queue, position, until, tag=REPLAYED_TAG)
                yield from messages

    def _editions(self, queue: str, first: int) -> dict[int, Message]:
        """By the offset of the dead letter, its newest edition."""
        found: dict[int, Message] = {}
        position, until = first, self._reader.ends(queue)[1]
        while position < until:
            messages, position = self._reader.read(queue, position, until, tag=EDITION_TAG)
            found.update({of: message for message in messages if (of := DeadLetter.of(message).edition_of) is not None})
        return found
