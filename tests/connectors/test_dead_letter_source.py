"""Which dead letters are sent again, and in which order, over several queues."""

from collections.abc import Mapping, Sequence

from connectors.dead_letter_source import DeadLetterSource, DeadLetterTask
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.letters.dead_letters import PREFIX, DeadLetter
from rocketconnect_sdk.letters.replay_notes import ReplayNote
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SourceBatch
from rocketconnect_sdk.testing import at
from rocketconnect_sdk.topics import Message


class Topic:
    """A TopicReader over messages by queue."""

    def __init__(self, queues: Mapping[str, Sequence[Message]]) -> None:
        self._queues = queues

    def queues(self, topic: str) -> Sequence[str]:
        return sorted(queue for queue in self._queues if queue.startswith(f"{topic}/"))

    def ends(self, queue: str) -> tuple[int, int]:
        return 0, len(self._queues[queue])

    def since(self, queue: str, time_ms: int) -> int:
        return next((each.offset for each in self._queues[queue] if each.stored_ms >= time_ms), self.ends(queue)[1])

    def read(self, queue: str, start: int, until: int, *, tag: str = "") -> tuple[Sequence[Message], int]:
        # Two at a time, so that pieces end everywhere.
        to = min(until, start + 2)
        found = [each for each in self._queues[queue][start:to] if not tag or each.properties.get("TAGS") == tag]
        return found, to


def letter(queue: int, offset: int, stored_ms: int, **more: str) -> Message:
    notes = {f"{PREFIX}connector.name": "sink", **more}
    return Message(f"dead/b/{queue}", offset, f"{queue}:{offset}".encode(), notes, stored_ms)


LETTERS = {
    "dead/b/0": [letter(0, 0, 10), letter(0, 1, 40), letter(0, 2, 50), letter(0, 3, 60)],
    "dead/b/1": [letter(1, 0, 20), letter(1, 1, 30), letter(1, 2, 70)],
}


def task(queues: Mapping[str, Sequence[Message]], positions: Mapping[str, tuple[int, ...]], **more: str) -> DeadLetterTask:
    config = {
        "replay.connector": "sink",
        "replay.topic": "dead",
        "replay.letters": "b:0:0-4,b:1:0-3",
        "replay.ends": "b:0:0-4,b:1:0-3",
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    source = DeadLetterSource()
    made = source.open(parse(source.options, config), {}, TaskContext(topics=Topic(queues)))
    made.start(at(positions))
    return made


def polled(made: DeadLetterTask) -> tuple[list[str], list[tuple[SourceBatch, ReplayNote]]]:
    """What it gives: letters, and notes."""
    letters: list[str] = []
    notes = []
    while (batch := made.poll()) is not None:
        values = [value for value in batch.values if isinstance(value, bytes)]
        if batch.topics is None:
            letters += [value.decode() for value in values]
            continue
        assert (batch.topics, batch.properties is not None) == (["dead"], True)
        note = ReplayNote.of(Message("dead/b/0", 9, values[0], (batch.properties or [{}])[0], 1))
        assert note is not None
        notes.append((batch, note))
    return letters, notes


def sent(made: DeadLetterTask) -> list[str]:
    return polled(made)[0]


def confirm_notes(made: DeadLetterTask) -> list[ReplayNote]:
    _, notes = polled(made)
    for batch, _ in notes:
        made.committed(at({batch.partition: batch.offsets[-1]}))
    return [note for _, note in notes]


def test_letters_of_several_queues_go_in_the_order_in_which_they_were_stored() -> None:
    assert sent(task(LETTERS, {})) == ["0:0", "1:0", "1:1", "0:1", "0:2", "0:3", "1:2"]


def test_from_confirmed_positions_exactly_the_rest_goes() -> None:
    assert sent(task(LETTERS, {"dead/b/0": (3,), "dead/b/1": (1,)})) == ["1:1", "0:3", "1:2"]
    confirmed: dict[str, tuple[int, ...]] = {"dead/b/0": (4,), "dead/b/1": (3,)}
    done = task(LETTERS, {**confirmed, "dead/b/0:noted": (5,), "dead/b/1:noted": (3,)})
    assert (polled(done), done.finished) == (([], []), True)


def test_it_is_finished_when_the_last_letter_is_confirmed_and_noted_not_when_it_is_sent() -> None:
    made = task(LETTERS, {})
    sent(made)
    assert (made.finished, made.remaining()) == (False, 10)
    assert confirm_notes(made) == []
    made.committed(at({"dead/b/0": (4,), "dead/b/1": (2,)}))
    notes = confirm_notes(made)
    assert [note.sent for note in notes] == [{"dead/b/0": [(0, 4)]}, {"dead/b/1": [(0, 2)]}]
    assert (made.finished, made.remaining()) == (False, 3)
    made.committed(at({"dead/b/1": (3,)}))
    assert (made.finished, made.remaining()) == (False, 2)
    assert [note.sent for note in confirm_notes(made)] == [{"dead/b/1": [(2, 3)]}]
    assert (made.finished, made.remaining()) == (False, 1)
    assert [note.is_last for note in confirm_notes(made)] == [True]
    assert (made.finished, made.remaining()) == (True, 0)


def test_after_a_restart_what_was_confirmed_and_not_noted_is_noted_and_not_sent_again() -> None:
    made = task(LETTERS, {"dead/b/0": (3,), "dead/b/0:noted": (1,), "dead/b/1": (3,), "dead/b/1:noted": (3,)})
    letters, notes = polled(made)
    assert letters == ["0:3"]
    assert [note.sent for _, note in notes] == [{"dead/b/0": [(1, 3)]}]


def test_a_note_says_what_was_left_out_and_who_did_it_and_a_restart_after_it_leaves_out_nothing_twice() -> None:
    origin = {f"{PREFIX}topic": "t", f"{PREFIX}broker": "b", f"{PREFIX}queue": "0"}
    queues = {
        "dead/b/0": [letter(0, at, 10, KEYS="a", **origin, **{f"{PREFIX}offset": str(at)}) for at in range(2)],
        "dead/b/1": [],
        "t/b/0": [Message("t/b/0", offset, b"", {"KEYS": "a"}, offset) for offset in range(2)],
    }
    options = {"replay_if_newer": "true", "replay_letters": "b:0:0-2", "replay_to": "there"}
    made = task(queues, {}, **options)
    assert sent(made) == ["0:1"]
    made.committed(at({"dead/b/0": (2,)}))
    noted = ReplayNote("sink", "test", "there", {"dead/b/0": [(1, 2)]}, {"dead/b/0": []})
    first = ReplayNote("sink", "test", "there", {"dead/b/0": []}, {"dead/b/0": [(0, 1)]})
    assert [*confirm_notes(task(queues, {}, **options)), *confirm_notes(made)] == [_read(first), _read(noted)]
    assert polled(task(queues, {"dead/b/0:noted": (1,)}, **options))[0] == ["0:1"]


def _read(note: ReplayNote) -> ReplayNote | None:
    """As it comes out of a message."""
    return ReplayNote.of(Message("dead/b/0", 9, note.body(), note.properties(), 1))


def test_if_newer_leaves_out_what_a_newer_record_of_its_key_has_overtaken() -> None:
    origin = {f"{PREFIX}topic": "t", f"{PREFIX}broker": "b", f"{PREFIX}queue": "0"}
    queues = {
        "dead/b/0": [
            letter(0, 0, 10, KEYS="a", **origin, **{f"{PREFIX}offset": "0"}),
            letter(0, 1, 20, KEYS="b", **origin, **{f"{PREFIX}offset": "1"}),
            letter(0, 2, 30),
            letter(0, 3, 40),
        ],
        "dead/b/1": LETTERS["dead/b/1"],
        "t/b/0": [Message("t/b/0", offset, b"", {"KEYS": key}, offset) for offset, key in enumerate("aba")],
    }
    assert sent(task(queues, {}, replay_if_newer="true")) == ["0:1", "1:0", "0:2", "1:1", "0:3", "1:2"]
    assert sent(task(queues, {}))[0] == "0:0"


def refused(offset: int, stage: str, **more: str) -> Message:
    """A letter of a source."""
    notes = {"source.partition": "file", "source.offset": str(offset), "topic": "t", "stage": stage, **more}
    return letter(0, offset, 10 + offset, **{f"{PREFIX}{name}": value for name, value in notes.items() if value})


def test_what_a_source_never_made_a_message_of_is_sent_only_when_it_was_edited_or_to_another_topic() -> None:
    stages = ["TASK_POLL", "TRANSFORMATION", "CONVERTER", "ROCKETMQ_PRODUCE", "TASK_POLL", ""]
    letters = [refused(offset, stage) for offset, stage in enumerate(stages)]
    edition = Message("dead/b/0", 6, b"mended", DeadLetter.of(letters[4]).edited(b"mended"), 100)
    queues = {"dead/b/0": [*letters, edition]}
    options = {"replay_letters": "b:0:0-6", "replay_ends": "b:0:0-7"}
    own = task(queues, {}, **options, replay_own_topics="true", replay_to="t")
    assert [batch and (batch.values, batch.topics) for batch in (own.poll(), own.poll(), own.poll())] == [
        *(([b"0:3"], ["t"]), ([b"mended"], ["t"]), None)
    ]
    assert sent(task(queues, {}, **options, replay_to="t")) == ["0:3", "mended"]
    assert sent(task(queues, {}, **options, replay_to="aside")) == ["0:0", "0:1", "0:2", "0:3", "mended", "0:5"]


def test_a_letter_is_sent_with_the_key_and_to_the_topic_that_its_edition_has() -> None:
    bad = refused(0, "TASK_POLL")
    edition = Message("dead/b/0", 1, b"mended", DeadLetter.of(bad).edited(b"mended", {"KEYS": "k"}, "routed"), 100)
    options = {"replay_letters": "b:0:0-1", "replay_ends": "b:0:0-2", "replay_own_topics": "true", "replay_to": "t"}
    batch = task({"dead/b/0": [bad, edition]}, {}, **options).poll()
    assert batch is not None
    assert (batch.values, batch.topics, batch.keys) == ([b"mended"], ["routed"], [b"k"])
    assert batch.properties == [{"KEYS": "k", "connect-replay-of": "test/b:0:0", "connect-replay-count": "1"}]
