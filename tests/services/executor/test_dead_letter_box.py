"""Which dead letters a replay is about, when some of them were replayed before."""

import time
from collections.abc import Sequence

from rocketconnect_sdk.dead_letters import PREFIX, DeadLetter, Filter
from rocketconnect_sdk.replay_notes import ReplayNote
from rocketconnect_sdk.topics import Message
from services.executor.deadletters.box import Box, Choice
from tests.connectors.test_dead_letter_source import Topic

ALL = {"dead/b/0": [(0, 4)]}


def box(*others: Message) -> Box:
    """Four letters in one queue, behind them editions of them; notes in another."""
    letters = [Message("dead/b/0", offset, b"?", {f"{PREFIX}connector.name": "sink"}, 10) for offset in range(4)]
    editions = [each for each in others if each.queue == "dead/b/0"]
    notes = [each for each in others if each.queue == "dead/b/1"]
    return Box(Topic({"dead/b/0": [*letters, *editions], "dead/b/1": notes}), "dead", time.monotonic() + 60)


def note(offset: int, spans: Sequence[tuple[int, int]], topic: str = "back", stored_ms: int = 100) -> Message:
    made = ReplayNote("sink", "replay", topic, {"dead/b/0": spans}, {"dead/b/0": []})
    return Message("dead/b/1", offset, made.body(), made.properties(), stored_ms)


def edition(letter: int, stored_ms: int) -> Message:
    message = Message("dead/b/0", letter, b"?", {f"{PREFIX}connector.name": "sink"}, 10)
    return Message("dead/b/0", 4, b"mended", DeadLetter.of(message).edited(b"mended"), stored_ms)


def choose(made: Box, *, again: bool = False) -> Choice:
    return made.choose(ALL, Filter("sink"), "back", again=again)


def test_what_was_replayed_is_left_out_wherever_its_note_stands_unless_it_is_to_go_again() -> None:
    made = box(note(0, [(1, 3)]))
    assert choose(made) == Choice(2, 0, 2, {"dead/b/0": [(0, 1), (3, 4)]})
    assert choose(made, again=True) == Choice(4, 0, 2, ALL)


def test_what_was_replayed_to_elsewhere_was_not_replayed_to_here() -> None:
    assert choose(box(note(0, [(0, 4)], topic="elsewhere"))) == Choice(4, 0, 0, ALL)
    assert choose(box(note(0, [(0, 4)]), note(1, [(0, 4)], topic="elsewhere"))) == Choice(0, 0, 4, {})


def test_what_was_edited_since_its_replay_is_to_be_sent() -> None:
    assert choose(box(edition(2, stored_ms=200), note(0, [(0, 4)]))).spans == {"dead/b/0": [(2, 3)]}
    assert choose(box(edition(2, stored_ms=50), note(0, [(0, 4)]))).spans == {}


def test_a_letter_is_shown_with_its_last_replay() -> None:
    found, _ = box(note(0, [(0, 2)]), note(1, [(1, 2)], topic="elsewhere", stored_ms=300)).page(ALL, Filter("sink"), 0, 10, None)
    assert [each.replayed and (each.replayed.topic, each.replayed.time_ms) for each in found] == [
        *(("back", 100), ("elsewhere", 300), None, None)
    ]


def test_what_a_source_never_made_a_message_of_is_not_among_what_is_sent_and_is_counted_until_it_is_edited() -> None:
    notes = {f"{PREFIX}connector.name": "rows", f"{PREFIX}source.partition": "file", f"{PREFIX}topic": "back"}
    stages = ["TASK_POLL", "TASK_POLL", "ROCKETMQ_PRODUCE"]
    letters = [Message("dead/b/0", at, b"\xff\xfe", {**notes, f"{PREFIX}stage": each}, 10) for at, each in enumerate(stages)]
    mended = Message("dead/b/0", 3, b"mended", DeadLetter.of(letters[1]).edited(b"mended"), 20)
    spans = {"dead/b/0": [(0, 3)]}
    made = Box(Topic({"dead/b/0": [*letters, mended]}), "dead", time.monotonic() + 60)
    assert made.choose(spans, Filter("rows"), "back", again=True) == Choice(2, 0, 0, spans, 1, "b:0:0")
    assert made.choose(spans, Filter("rows"), "other", again=True, is_own=True) == Choice(2, 0, 0, spans, 1, "b:0:0")
    assert made.choose(spans, Filter("rows"), "aside", again=True) == Choice(3, 0, 0, spans)
