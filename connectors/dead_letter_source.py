"""Dead letters, sent again. What is confirmed is noted in the dead-letter topic (rocketconnect_sdk.letters.replay_notes)."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.letters.dead_letters import EDITION_TAG, STAGES, DeadLetter, Filter, Spans, join_spans, read_spans
from rocketconnect_sdk.letters.newest import Newest
from rocketconnect_sdk.letters.replay_notes import ReplayNote
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import Plan, Source, SourceTask
from rocketconnect_sdk.topics import Message, TopicReader

_NOTED = 4_000
"""So many letters are told of in one note (invariant 7)."""


class DeadLetterSource(Source):
    """Sends dead letters of a connector again, once each: made by `rocketconnect dlq replay`, deleted when it is done."""

    name = "dead_letter_source"
    whole_messages = True
    options = (
        Option("replay.connector", "The connector that failed at them.", required=True, example="orders-out"),
        Option("replay.topic", "The dead-letter topic.", required=True, example="orders-dlq"),
        Option(
            "replay.letters",
            "Which: broker:queue:from-until, separated by commas.",
            Kind.LIST,
            required=True,
            example="broker-0:0:0-100",
        ),
        Option(
            "replay.ends",
            "Up to where editions count: broker:queue:0-until, separated by commas.",
            Kind.LIST,
            required=True,
            example="broker-0:0:0-100",
        ),
        Option("replay.task", "Only those of this task.", Kind.INT, minimum=0),
        Option("replay.stage", "Only those of this stage.", default="", choices=("", *STAGES)),
        Option("replay.error", "Only those of this class of error.", default=""),
        Option("replay.to", "The topic they go to, for the note that they did.", default=""),
        Option("replay.own.topics", "Sends each to the topic that its record was meant for, where it says so.", Kind.BOOL, "false"),
        Option(
            "replay.if.newer",
            "Leaves out those of whose key there was a newer record in their queue when the replay began.",
            Kind.BOOL,
            "false",
        ),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        for key in ("replay.letters", "replay.ends"):
            try:
                spans = read_spans(config["replay.topic"], config[key])
            except ValueError as error:
                yield Problem(key, "", str(error), "Let `rocketconnect dlq replay` make the configuration.")
                continue
            for each in spans.values():
                if any(first >= until for first, until in each) or any(one[1] >= other[0] for one, other in pairwise(each)):
                    yield Problem(key, "", "has ranges that are empty or out of order", "Give them in their order.")

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """One: what is sent again keeps its order."""
        del config, max_tasks, positions
        return Plan([{}])

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "DeadLetterTask":
        """See Source."""
        del task
        if context.topics is None:
            msg = "this host gives no access to RocketMQ's topics"
            raise PermanentError(msg)
        return DeadLetterTask(config, context, context.topics)


class DeadLetterTask(SourceTask):
    """Copies dead letters.

    Each queue of the dead-letter topic is a source partition, and an offset there is an offset of it: after a restart it gives the
    same. Queues are merged by the time at which the letters were stored; within one their order never changes. The notes of a queue
    are a source partition, too, with the offset up to which they tell: it is never above that of the queue but for letters that
    were left out, and after a restart what is between the two is read again, to be noted and not to be sent. Behind them all comes
    the note that the replay is done, in the partition of the first queue, as if it told of what is behind the last letter.
    """

    remaining_unit = "letters"

    def __init__(self, config: Config, context: TaskContext, reader: TopicReader) -> None:
        self._context = context
        self._reader = reader
        self._filter = Filter(config["replay.connector"], config.get("replay.task"), config["replay.stage"], config["replay.error"])
        topic = config["replay.topic"]
        self._spans = read_spans(topic, config["replay.letters"])
        self._ends = {queue: spans[-1][1] for queue, spans in read_spans(topic, config["replay.ends"]).items()}
        self._own_topics = bool(config["replay.own.topics"])
        self._connector: str = config["replay.connector"]
        self._topic = topic
        # Its notes stand behind the letters, in a topic of RocketMQ's own, too.
        self.own_topics = (topic,)
        self._to: str = config["replay.to"]
        self._newest = Newest() if config["replay.if.newer"] else None
        self._queues: list[_Queue] = []
        name, each = min(self._spans.items())
        self._last = (_notes_of(name), each[-1][1] + 1)
        self._is_told = self._is_done = False

    def start(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        queues = []
        for queue, spans in sorted(self._spans.items()):
            sent, noted = (_first(positions, name) for name in (queue, _notes_of(queue)))
            queues.append(_Queue(self._reader, queue, spans, sent, noted, self._editions(queue, spans[0][0])))
        if self._newest is not None:
            self._learn_newest(self._newest, queues)
            for each in queues:
                each.rewind()
        self._queues = queues
        partition, offset = self._last
        self._is_told = self._is_done = _first(positions, partition) >= offset

    def poll(self) -> SourceBatch | None:
        """The next note; else the next letters of the queue whose next one is the oldest; None only behind the last."""
        while not self._context.stopping.is_set():
            for queue in self._queues:
                if noted := queue.take_confirmed():
                    return self._note(_notes_of(queue.name), noted[-1][0] + 1, *_spans(queue.name, noted))
            for queue in self._queues:
                queue.fill()
            waiting = [queue for queue in self._queues if queue.read]
            if not waiting:
                return self._end()
            first = min(waiting, key=_Queue.next_time)
            others = min((queue.next_time() for queue in waiting if queue is not first), default=None)
            batch = self._take(first, others)
            if batch is not None:
                return batch
        return None

    def _take(self, queue: "_Queue", others: tuple[int, str] | None) -> SourceBatch | None:
        """What of a queue comes before the next letter of the others, and is to be sent; None: nothing of it is."""
        letters: list[tuple[DeadLetter, DeadLetter]] = []
        size = 0
        while queue.read and size < self._context.batch_bytes and len(letters) < self._context.batch_records:
            if others is not None and queue.next_time() > others:
                break
            letter = queue.take()
            if not self._filter.takes(letter):
                continue
            newest = self._newest_of(queue, letter)
            if newest is None:
                continue
            is_sent = not self._is_overtaken(letter)
            if queue.decide(letter, is_sent=is_sent):
                letters.append((letter, newest))
                size += len(newest.message.body)
        if not letters:
            return None
        batch = _batch(queue.name, letters, size, self._context.connector)
        if self._own_topics:
            batch.topics = [newest.notes.get("topic", "") for _, newest in letters]
        return batch

    def _newest_of(self, queue: "_Queue", letter: DeadLetter) -> DeadLetter | None:
        """What is to be sent; None: nobody has made a message of it yet."""
        edition = queue.edition(letter)
        if edition is not None:
            return DeadLetter.of(edition)
        if letter.is_unmade(self._to, is_own=self._own_topics):
            self._context.log.warning(
                "dead letter %s is left out: its source could make no message of it; correct it with `rocketconnect dlq edit`",
                letter.id,
            )
            return None
        return None if letter.is_cut else letter

    def _end(self) -> SourceBatch | None:
        """The last note, when everything else is confirmed."""
        if self._is_told or any(queue.remaining() for queue in self._queues):
            return None
        self._is_told = True
        partition, offset = self._last
        return self._note(partition, offset, {}, {}, is_last=True)

    @property
    def finished(self) -> bool:
        """True when all are confirmed."""
        return self._is_done

    def committed(self, positions: Mapping[str, Position]) -> None:
        """See SourceTask."""
        for queue in self._queues:
            if queue.name in positions:
                queue.confirmed(_first(positions, queue.name))
            if _notes_of(queue.name) in positions:
                queue.noted(_first(positions, _notes_of(queue.name)))
        partition, offset = self._last
        self._is_done |= _first(positions, partition) >= offset

    def remaining(self) -> int:
        """Offsets that are left to look at, and letters and notes that are not confirmed yet."""
        return sum(queue.remaining() for queue in self._queues) + (not self._is_done)

    def close(self) -> None:
        """Nothing is held."""

    def _is_overtaken(self, letter: DeadLetter) -> bool:
        if self._newest is None or not self._newest.has_newer(letter):
            return False
        self._context.log.info("dead letter %s is left out: there is a newer record of its key", letter.id)
        return True

    def _note(self, partition: str, offset: int, sent: Spans, left_out: Spans, *, is_last: bool = False) -> SourceBatch:
        note = ReplayNote(self._connector, self._context.connector, self._to, sent, left_out, is_last)
        return SourceBatch(partition, [note.body()], [(offset,)], topics=[self._topic], properties=[note.properties()])

    def _editions(self, queue: str, first: int) -> dict[int, Message]:
        """By the offset of the dead letter, its newest edition."""
        found: dict[int, Message] = {}
        position, until = first, self._ends.get(queue, 0)
        while position < until and not self._context.stopping.is_set():
            messages, position = self._reader.read(queue, position, until, tag=EDITION_TAG)
            for message in messages:
                if (of := DeadLetter.of(message).edition_of) is not None:
                    found[of] = message
        return found

    def _learn_newest(self, newest: Newest, queues: "Sequence[_Queue]") -> None:
        """Reads every queue that a letter comes from, from the first of them to its present end."""
        for queue in queues:
            while not queue.at_end and not self._context.stopping.is_set():
                queue.fill()
                while queue.read:
                    letter = queue.take()
                    if self._filter.takes(letter):
                        newest.want(letter)
        for name in newest.wanted:
            position, (lowest, until) = newest.start(name), self._reader.ends(name)
            position = max(position, lowest)
            while position < until and not self._context.stopping.is_set():
                messages, position = self._reader.read(name, position, until)
                for message in messages:
                    newest.saw(message)


class _Queue:
    """Reads the ranges of one queue of the dead-letter topic, one after the other.

    Args:
        reader: Of RocketMQ.
        name: The queue.
        spans: The ranges.
        sent: Everything before this offset was sent.
        noted: Everything before this one was noted; reading begins there.
        editions: By the offset of the dead letter, its newest edition.
    """

    def __init__(
        self,
        reader: TopicReader,
        name: str,
        spans: Sequence[tuple[int, int]],
        sent: int,
        noted: int,
        editions: Mapping[int, Message],
    ) -> None:
        self.name = name
        self.read: deque[Message] = deque()
        self._open: deque[int] = deque()
        self._decided: deque[tuple[int, bool]] = deque()
        self._noting: deque[int] = deque()
        self._reader = reader
        self._editions = editions
        self._sent = sent
        self._all = [(max(first, noted), until) for first, until in spans if until > noted]
        self._left = deque(self._all)

    @property
    def at_end(self) -> bool:
        """Everything has been read and taken."""
        return not self._left and not self.read

    def rewind(self) -> None:
        """Begin again."""
        self._left = deque(self._all)

    def fill(self) -> None:
        """Read something, if nothing is there."""
        while not self.read and self._left:
            position, until = self._left[0]
            messages, position = self._reader.read(self.name, position, until)
            self.read.extend(messages)
            if position >= until:
                self._left.popleft()
            else:
                self._left[0] = (position, until)

    def next_time(self) -> tuple[int, str]:
        """When the next one was stored; no two queues are equal."""
        return self.read[0].stored_ms, self.name

    def take(self) -> DeadLetter:
        """The next one."""
        return DeadLetter.of(self.read.popleft())

    def edition(self, letter: DeadLetter) -> Message | None:
        """Its newest edition."""
        return self._editions.get(letter.message.offset)

    def decide(self, letter: DeadLetter, *, is_sent: bool) -> bool:
        """Whether it is to be sent now: it is one of those that are sent, and was not before."""
        offset = letter.message.offset
        self._decided.append((offset, is_sent))
        if not is_sent or offset < self._sent:
            return False
        self._open.append(offset)
        return True

    def confirmed(self, until: int) -> None:
        """Every letter before this offset is."""
        while self._open and self._open[0] < until:
            self._open.popleft()

    def take_confirmed(self) -> list[tuple[int, bool]]:
        """What can be noted now: offsets, and whether they were sent. It is confirmed, and what was left out before it is."""
        taken: list[tuple[int, bool]] = []
        while self._decided and len(taken) < _NOTED and not (self._open and self._decided[0][0] >= self._open[0]):
            taken.append(self._decided.popleft())
        if taken:
            self._noting.append(taken[-1][0] + 1)
        return taken

    def noted(self, until: int) -> None:
        """Every note up to this offset is confirmed."""
        while self._noting and self._noting[0] <= until:
            self._noting.popleft()

    def remaining(self) -> int:
        """See DeadLetterTask.remaining."""
        left = sum(until - first for first, until in self._left)
        return left + len(self.read) + len(self._open) + len(self._noting) + bool(self._decided)


def _notes_of(queue: str) -> str:
    """The source partition of the notes of a queue."""
    return f"{queue}:noted"


def _spans(queue: str, noted: Sequence[tuple[int, bool]]) -> tuple[Spans, Spans]:
    """What was sent, and what was left out."""
    sent, left_out = (
        join_spans((offset, offset + 1) for offset, is_sent in noted if is_sent is wanted) for wanted in (True, False)
    )
    return {queue: sent}, {queue: left_out}


def _batch(queue: str, letters: Sequence[tuple[DeadLetter, DeadLetter]], size: int, replay: str) -> SourceBatch:
    """The messages of letters; beside each what is sent of it, its newest edition or itself."""
    return SourceBatch(
        queue,
        [newest.message.body for _, newest in letters],
        [(letter.message.offset + 1,) for letter, _ in letters],
        keys=[None if newest.key is None else newest.key[1].encode() for _, newest in letters],
        properties=[newest.replayed(replay, letter.id) for letter, newest in letters],
        size=size,
    )


def _first(positions: Mapping[str, Position], partition: str) -> int:
    """The one number of a position; 0: there is none."""
    return positions[partition].offset[0] if partition in positions else 0
