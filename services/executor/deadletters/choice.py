"""What of the dead letters that a replay was asked for it sends. Pure."""

from dataclasses import dataclass, field

from rocketconnect_sdk.letters.dead_letters import DeadLetter, Spans, join_spans, letter_id, without_spans
from rocketconnect_sdk.letters.replay_notes import Sent
from rocketconnect_sdk.topics import Message


@dataclass(frozen=True, slots=True)
class Found:
    """A dead letter, its newest edition, and when it was replayed last, or given up.

    Attributes:
        copy_of: The id of the first of those that were looked at with it and are of the same failure; empty: it is none but that.
    """

    letter: DeadLetter
    edition: Message | None
    replayed: Sent | None = None
    copy_of: str = ""

    @property
    def newest(self) -> DeadLetter:
        """What is sent of it: its newest edition, or itself."""
        return self.letter if self.edition is None else DeadLetter.of(self.edition)

    @property
    def body(self) -> bytes:
        """As it was edited last."""
        return self.letter.message.body if self.edition is None else self.edition.body

    @property
    def is_cut(self) -> bool:
        """Nobody has made it whole."""
        return self.edition is None and self.letter.is_cut

    def is_unmade(self, topic: str, *, is_own: bool) -> bool:
        """See DeadLetter.is_unmade; who edits it makes it."""
        return self.edition is None and self.letter.is_unmade(topic, is_own=is_own)


@dataclass(frozen=True, slots=True)
class Choice:
    """What a replay is about.

    Attributes:
        letters: How many dead letters.
        cut: How many of them nobody can send.
        replayed: How many were asked for that had been replayed before.
        spans: Where they are.
        unmade: How many more were asked for that are of no message yet: see DeadLetter.is_unmade.
        first_unmade: The id of the first of those.
        copies: How many were asked for that are copies of others.
        discarded: How many were asked for that had been given up.
    """

    letters: int
    cut: int
    replayed: int
    spans: Spans
    unmade: int = 0
    first_unmade: str = ""
    copies: int = 0
    discarded: int = 0


@dataclass(slots=True)
class _Letter:
    """Of one failure: the letter that is to be sent, and what was done with any copy of it.

    Attributes:
        queue: Where it is.
        offset: There.
        is_cut: See Choice.
        is_unmade: See Choice.
        edited_ms: When it was edited last; -1: it was not.
        replayed_ms: When a copy was replayed last, or given up; -1: none was.
        is_discarded: It was given up then.
    """

    queue: str
    offset: int
    is_cut: bool
    is_unmade: bool
    edited_ms: int
    replayed_ms: int
    is_discarded: bool

    @property
    def is_replayed(self) -> bool:
        """It was replayed or given up, and no copy was edited since."""
        return self.replayed_ms >= max(0, self.edited_ms)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Letters that nobody has replayed or given up: how many, and when the oldest was stored, milliseconds since 1970; 0: never."""

    count: int = 0
    oldest_ms: int = 0


@dataclass(slots=True)
class _Failure:
    """The letters of one failure, the first's time, and when one was edited, and replayed or given up, last; -1: none was."""

    stored_ms: int
    letters: list[tuple[str, int]] = field(default_factory=list)
    edited_ms: int = -1
    replayed_ms: int = -1


class Open:
    """Sees letters, and tells those that nobody has replayed, or given up, since they were edited last. Copies are one."""

    def __init__(self) -> None:
        self._failures: dict[bytes | tuple[str, int], _Failure] = {}

    def add(self, found: Found) -> None:
        """One more of them."""
        place = found.letter.message.queue, found.letter.message.offset
        stored_ms = found.letter.message.stored_ms
        failure = self._failures.setdefault(found.letter.identity or place, _Failure(stored_ms))
        failure.stored_ms = min(failure.stored_ms, stored_ms)
        failure.letters.append(place)
        if found.edition is not None:
            failure.edited_ms = max(failure.edited_ms, found.edition.stored_ms)
        if found.replayed is not None:
            failure.replayed_ms = max(failure.replayed_ms, found.replayed.time_ms)

    @property
    def waiting(self) -> "Waiting":
        """How many they are, and since when."""
        left = self._left
        return Waiting(len(left), min((failure.stored_ms for failure in left), default=0))

    def letters(self) -> tuple[int, Spans]:
        """How many they are, and exactly where they and their copies are."""
        left = self._left
        queues: dict[str, list[tuple[int, int]]] = {}
        for failure in left:
            for queue, offset in failure.letters:
                queues.setdefault(queue, []).append((offset, offset + 1))
        return len(left), {queue: join_spans(spans) for queue, spans in sorted(queues.items())}

    @property
    def _left(self) -> list[_Failure]:
        return [failure for failure in self._failures.values() if failure.replayed_ms < max(0, failure.edited_ms)]


class Chosen:
    """Sees the letters that were asked for, queue by queue and in their order.

    Of copies the first stands for all, so that order is that of the records; or the one that was edited last.

    Args:
        named: Each was asked for by its id, and so stands for itself.
    """

    def __init__(self, *, named: bool) -> None:
        self._named = named
        self._letters: dict[bytes | tuple[str, int], _Letter] = {}
        self._known: set[bytes] = set()
        self._copies = 0
        self._left_out: list[tuple[str, int]] = []

    def add(self, found: Found, *, is_unmade: bool) -> None:
        """One more of them."""
        message = found.letter.message
        edited_ms = -1 if found.edition is None else found.edition.stored_ms
        replayed_ms = -1 if found.replayed is None else found.replayed.time_ms
        is_discarded = found.replayed is not None and found.replayed.is_discard
        letter = _Letter(message.queue, message.offset, found.is_cut, is_unmade, edited_ms, replayed_ms, is_discarded)
        identity = found.letter.identity
        if identity is not None:
            self._copies += identity in self._known
            self._known.add(identity)
        place = (message.queue, message.offset)
        other = self._letters.setdefault(place if identity is None or self._named else identity, letter)
        if other is letter:
            return
        if replayed_ms > other.replayed_ms:
            other.replayed_ms, other.is_discarded = replayed_ms, is_discarded
        if edited_ms > other.edited_ms:
            place, other.queue, other.offset = (other.queue, other.offset), *place
            other.is_cut, other.is_unmade, other.edited_ms = letter.is_cut, letter.is_unmade, edited_ms
        self._left_out.append(place)

    def choice(self, spans: Spans, *, again: bool) -> Choice:
        """What is sent of them.

        Args:
            spans: Where they are.
            again: Also those that were replayed before.
        """
        letters = self._letters.values()
        replayed = [each for each in letters if each.is_replayed]
        unmade = [each for each in letters if each.is_unmade]
        sent = [each for each in letters if not each.is_unmade and (again or not each.is_replayed)]
        out: dict[str, list[int]] = {}
        for queue, offset in self._left_out + ([] if again else [(each.queue, each.offset) for each in replayed]):
            out.setdefault(queue, []).append(offset)
        left = {
            queue: without_spans(each, join_spans((offset, offset + 1) for offset in out[queue])) if queue in out else each
            for queue, each in spans.items()
        }
        discarded = sum(each.is_discarded for each in replayed)
        return Choice(
            len(sent),
            sum(each.is_cut for each in sent),
            len(replayed) - discarded,
            {queue: each for queue, each in left.items() if each},
            len(unmade),
            letter_id(unmade[0].queue, unmade[0].offset) if unmade else "",
            self._copies,
            discarded,
        )
