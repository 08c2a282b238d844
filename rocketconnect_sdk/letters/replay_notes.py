"""What was replayed or given up, as messages in the dead-letter topic itself: they last as long as the dead letters do. Pure.

A replay writes a note when the letters that it tells of are confirmed and the position behind them is stored: what a note says is
true. Notes have a tag of their own, so that a broker can find them, and may stand in any queue of the topic.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rocketconnect_sdk.letters.dead_letters import PREFIX, REPLAY_NOTE, Spans, format_spans, join_spans, letter_id, read_spans
from rocketconnect_sdk.topics import Message

REPLAYED_TAG = "rocketconnect-replayed"
_BLOCK = 1024


@dataclass(frozen=True, slots=True)
class ReplayNote:
    """What a replay has done with some of the letters of a queue.

    Attributes:
        connector: The one that failed at them.
        replay: The name of the replay.
        topic: Where they were sent to; that of a source's letters, when a letter does not say itself.
        sent: What was sent.
        left_out: What was not, because there was a newer record of its key.
        is_last: The replay is done.
        is_discard: Nothing was sent: somebody has given these letters up, and no replay did anything.
    """

    connector: str
    replay: str
    topic: str
    sent: Spans
    left_out: Spans
    is_last: bool = False
    is_discard: bool = False

    def body(self) -> bytes:
        """What the message holds."""
        told = {
            "replay": self.replay,
            "topic": self.topic,
            "sent": format_spans(self.sent),
            "left_out": format_spans(self.left_out),
            "last": self.is_last,
            **({"discard": True} if self.is_discard else {}),
        }
        return json.dumps(told).encode()

    def properties(self) -> Mapping[str, str]:
        """The properties of the message."""
        return {f"{PREFIX}connector.name": self.connector, f"{PREFIX}{REPLAY_NOTE}": "1", "TAGS": REPLAYED_TAG}

    @classmethod
    def of(cls, message: Message) -> "ReplayNote | None":
        """None: it is none."""
        if f"{PREFIX}{REPLAY_NOTE}" not in message.properties:
            return None
        topic = message.queue.rsplit("/", 2)[0]
        try:
            told = json.loads(message.body)
            sent, left_out = (read_spans(topic, told[name]) for name in ("sent", "left_out"))
            connector = message.properties.get(f"{PREFIX}connector.name", "")
            replay, to, is_last, is_discard = told["replay"], told["topic"], told["last"], told.get("discard")
            return cls(connector, str(replay), str(to), sent, left_out, is_last=is_last is True, is_discard=is_discard is True)
        except (ValueError, KeyError, TypeError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class Sent:
    """That a letter was replayed, or given up.

    Attributes:
        time_ms: When it was noted, milliseconds since 1970.
        topic: Where it was sent to.
        replay: By which replay.
        is_discard: It was given up, and sent nowhere.
    """

    time_ms: int
    topic: str
    replay: str
    is_discard: bool = False


@dataclass(slots=True)
class ReplayNotes:
    """What all notes of a dead-letter topic say together."""

    _found: dict[tuple[str, int], list[tuple[int, int, Sent]]] = field(default_factory=dict)

    def add(self, message: Message) -> None:
        """One more message with the tag, in any order."""
        note = ReplayNote.of(message)
        if note is None:
            return
        sent = Sent(message.stored_ms, note.topic, note.replay, note.is_discard)
        for queue, spans in note.sent.items():
            for first, until in spans:
                for block in range(first // _BLOCK, (until - 1) // _BLOCK + 1):
                    self._found.setdefault((queue, block), []).append((first, until, sent))

    def last(self, queue: str, offset: int, topic: str = "") -> Sent | None:
        """When a letter was replayed last, to this topic if one is given, or given up. None: neither was done."""
        found = (sent for sent in self._of(queue, offset) if topic in ("", sent.topic) or sent.is_discard)
        return max(found, key=lambda sent: sent.time_ms, default=None)

    def _of(self, queue: str, offset: int) -> Iterator[Sent]:
        for first, until, sent in self._found.get((queue, offset // _BLOCK), ()):
            if first <= offset < until:
                yield sent


@dataclass(slots=True)
class Done:
    """What one replay has done so far: notes may overlap after a restart.

    Attributes:
        is_all: There is nothing left to do.
        topic: Where it sends to; empty: nothing is noted yet.
        since_ms: When the first was noted, milliseconds since 1970.
    """

    is_all: bool = False
    topic: str = ""
    since_ms: int = 0

    _sent: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _left_out: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, note: ReplayNote, stored_ms: int) -> None:
        """One more of its notes, and when it was stored."""
        self.is_all |= note.is_last
        self.since_ms = min(stored_ms, self.since_ms) if self.topic else stored_ms
        self.topic = note.topic
        for spans, into in ((note.sent, self._sent), (note.left_out, self._left_out)):
            for queue, each in spans.items():
                into[queue] = join_spans([*into.get(queue, ()), *each])

    @property
    def sent(self) -> int:
        """How many letters were sent."""
        return _count(self._sent)

    @property
    def left_out(self) -> int:
        """How many were left out."""
        return _count(self._left_out)

    def ids_left_out(self) -> Iterator[str]:
        """Which ones: the ids of letters, in their order."""
        for queue, spans in sorted(self._left_out.items()):
            yield from (letter_id(queue, offset) for first, until in spans for offset in range(first, until))


def _count(spans: Mapping[str, Sequence[tuple[int, int]]]) -> int:
    return sum(until - first for each in spans.values() for first, until in each)
