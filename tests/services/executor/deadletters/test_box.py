"""Which dead letters a replay is about, when some of them were replayed before."""

import time
from collections.abc import Mapping, Sequence
from hashlib import sha256

import pytest

from rocketconnect_sdk.letters.dead_letters import PREFIX, DeadLetter, Filter
from rocketconnect_sdk.letters.replay_notes import ReplayNote
from rocketconnect_sdk.topics import Message
from services.executor.deadletters.box import Box
from services.executor.deadletters.choice import Choice
from services.executor.deadletters.discard import ids_of, notes_of
from services.executor.deadletters.wire import dead_letter
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


def failed(at: int, offset: str, body: bytes = b"bad", more: Mapping[str, str] | None = None) -> Message:
    """The letter at a place in the dead-letter topic, of the record at an offset of the topic that was read."""
    noted = {"connector.name": "sink", "topic": "t", "broker": "b", "queue": "0", "offset": offset}
    told = {f"{PREFIX}{name}": value for name, value in {**noted, "sha256": sha256(body).hexdigest()}.items()}
    return Message("dead/b/0", at, body, {**told, **(more or {})}, 10 + at)


def chosen(messages: Sequence[Message], *notes: Message, again: bool = False, named: bool = False) -> Choice:
    letters = sum(DeadLetter.of(each).edition_of is None for each in messages)
    made = Box(Topic({"dead/b/0": messages, "dead/b/1": notes}), "dead", time.monotonic() + 60)
    return made.choose({"dead/b/0": [(0, letters)]}, Filter("sink"), "back", again=again, named=named)


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


def given_up(offset: int, spans: Sequence[tuple[int, int]], stored_ms: int = 100) -> Message:
    (made,) = notes_of("sink", {"dead/b/0": spans})
    return Message("dead/b/1", offset, made.body(), made.properties(), stored_ms)


def test_what_was_given_up_is_sent_nowhere_with_all_others_and_counts_as_replayed_until_it_is_edited() -> None:
    made = box(given_up(0, [(1, 3)]), note(1, [(0, 1)]))
    assert choose(made) == Choice(1, 0, 1, {"dead/b/0": [(3, 4)]}, discarded=2)
    assert choose(made, again=True) == Choice(4, 0, 1, ALL, discarded=2)
    assert made.choose(ALL, Filter("sink"), "elsewhere").spans == {"dead/b/0": [(0, 1), (3, 4)]}
    assert {name: each.count for name, each in made.unreplayed()[0].items()} == {"sink": 1}
    assert made.open(ALL, Filter("sink")) == (1, {"dead/b/0": [(3, 4)]})
    assert box(edition(2, stored_ms=200), given_up(0, [(0, 4)])).open(ALL, Filter("sink")) == (1, {"dead/b/0": [(2, 3)]})


def test_a_letter_that_was_given_up_is_shown_as_that_and_as_replayed_when_it_was_replayed_since() -> None:
    made = box(given_up(0, [(0, 2)]), note(1, [(1, 2)], stored_ms=300))
    first, second, third, _ = map(dead_letter, made.page(ALL, Filter("sink"), 0, 10, None)[0])
    assert (first.discarded_time.ToMilliseconds(), first.HasField("replayed_time"), first.replayed_to) == (100, False, "")
    assert (second.HasField("discarded_time"), second.replayed_time.ToMilliseconds()) == (False, 300)
    assert not third.HasField("discarded_time")


def test_letters_of_others_between_are_not_given_up_and_copies_are_one_with_what_they_are_copies_of() -> None:
    others = Message("dead/b/0", 1, b"?", {f"{PREFIX}connector.name": "other"}, 10)
    made = Box(Topic({"dead/b/0": [failed(0, "7"), others, failed(2, "7"), failed(3, "8")]}), "dead", time.monotonic() + 60)
    assert made.open(ALL, Filter("sink")) == (2, {"dead/b/0": [(0, 1), (2, 4)]})


def test_many_letters_are_given_up_in_several_notes_and_the_first_are_told() -> None:
    many = {"dead/b/0": [(at, at + 1) for at in range(0, 12_000, 2)]}
    notes = notes_of("sink", many)
    assert [sum(map(len, each.sent.values())) for each in notes] == [5_000, 1_000]
    assert ids_of({"dead/b/0": [(3, 4), (7, 9)]}) == "b:0:3, b:0:7-8"
    assert ids_of(many).endswith("b:0:38, ...")


TWICE = [failed(0, "7"), failed(1, "8"), failed(2, "7"), failed(3, "8"), failed(4, "9")]


def test_of_letters_that_a_killed_task_has_written_twice_the_first_goes_and_the_copies_are_counted() -> None:
    assert chosen(TWICE) == Choice(3, 0, 0, {"dead/b/0": [(0, 2), (4, 5)]}, copies=2)
    assert chosen(TWICE, again=True) == Choice(3, 0, 0, {"dead/b/0": [(0, 2), (4, 5)]}, copies=2)


def test_letters_that_are_named_go_though_they_are_copies() -> None:
    assert chosen(TWICE, named=True) == Choice(5, 0, 0, {"dead/b/0": [(0, 5)]}, copies=2)


@pytest.mark.parametrize("replayed", [0, 2])
def test_a_letter_of_which_any_copy_was_replayed_was_replayed(replayed: int) -> None:
    told = note(0, [(replayed, replayed + 1)])
    assert chosen(TWICE, told) == Choice(2, 0, 1, {"dead/b/0": [(1, 2), (4, 5)]}, copies=2)
    assert chosen(TWICE, told, again=True) == Choice(3, 0, 1, {"dead/b/0": [(0, 2), (4, 5)]}, copies=2)


def test_of_copies_the_one_goes_that_was_edited_last() -> None:
    def edited(letter: int, at: int, stored_ms: int) -> Message:
        return Message("dead/b/0", at, b"mended", DeadLetter.of(TWICE[letter]).edited(b"mended"), stored_ms)

    assert chosen([*TWICE, edited(2, 5, 200)]).spans == {"dead/b/0": [(1, 3), (4, 5)]}
    assert chosen([*TWICE, edited(2, 5, 200), edited(0, 6, 300)]).spans == {"dead/b/0": [(0, 2), (4, 5)]}
    assert chosen([*TWICE, edited(2, 5, 200)], note(0, [(0, 1)], stored_ms=100)).replayed == 0
    assert chosen([*TWICE, edited(2, 5, 200)], note(0, [(0, 1)], stored_ms=300)).replayed == 1


@pytest.mark.parametrize(
    "other",
    [
        failed(1, "8"),
        failed(1, "7", b"other"),
        failed(1, "7", more={f"{PREFIX}broker": "c"}),
        failed(1, "7", more={f"{PREFIX}row": "1"}),
        failed(1, "7", more={"connect-replay-count": "1"}),
        failed(1, "7", more={f"{PREFIX}connector.name": ""}),
        failed(1, "7", more={f"{PREFIX}sha256": ""}),
    ],
)
def test_letters_of_other_records_or_of_other_replays_are_no_copies(other: Message) -> None:
    assert chosen([failed(0, "7"), other]) == Choice(2, 0, 0, {"dead/b/0": [(0, 2)]})


def test_what_a_source_sends_again_on_purpose_is_no_copy_and_what_its_next_owner_sends_again_is_one() -> None:
    def of_source(at: int, epoch: int, incarnation: int) -> Message:
        source = {f"{PREFIX}source.partition": "file", f"{PREFIX}source.offset": "3", "RCPOS": f"uid|{epoch}|p|{incarnation}|3"}
        return failed(at, "", more={**source, f"{PREFIX}stage": "ROCKETMQ_PRODUCE"})

    assert chosen([of_source(0, 1, 1), of_source(1, 2, 1)]).copies == 1
    assert chosen([of_source(0, 1, 1), of_source(1, 2, 2)]).copies == 0


def test_letters_that_come_back_from_a_replay_say_which_they_were_and_those_of_other_replays_are_not_among_them() -> None:
    was = DeadLetter.of(failed(0, "7"))
    again, other = was.replayed("replay", was.id), was.replayed("another", was.id)
    back = [failed(at, "7", more=more) for at, more in ((1, other), (2, again))]
    made = Box(Topic({"dead/b/0": [failed(0, "7"), *back], "dead/b/1": [note(0, [(0, 1)])]}), "dead", time.monotonic() + 60)
    done = made.done("sink", "replay")
    assert [(each.id, each.replay_of) for each in made.came_back(done, "replay")] == [("b:0:2", ("replay", "b:0:0"))]
    found, _ = made.page({"dead/b/0": [(0, 3)]}, Filter("sink"), 0, 10, None)
    shown = [dead_letter(each) for each in found]
    assert [(each.replays, each.came_back_from, each.copy_of) for each in shown] == [
        (0, "", ""),
        (1, "b:0:0", ""),
        *[(1, "b:0:0", "b:0:1")],
    ]


def test_what_a_killed_task_has_written_a_second_time_is_shown_as_a_copy() -> None:
    messages = [failed(0, "7"), failed(1, "8"), failed(2, "7"), failed(3, "7", more={"connect-replay-count": "1"})]
    made = Box(Topic({"dead/b/0": messages, "dead/b/1": []}), "dead", time.monotonic() + 60)
    found, _ = made.page({"dead/b/0": [(0, 4)]}, Filter("sink"), 0, 10, None)
    assert [dead_letter(each).copy_of for each in found] == ["", "", "b:0:0", ""]


def counted(made: Box) -> tuple[dict[str, int], bool]:
    waiting, is_all = made.unreplayed()
    return {name: each.count for name, each in waiting.items()}, is_all


def test_what_nobody_has_replayed_is_counted_by_connector_copies_once_and_what_was_edited_since_again() -> None:
    assert counted(box()) == ({"sink": 4}, True)
    assert counted(box(note(0, [(1, 3)], topic="anywhere"))) == ({"sink": 2}, True)
    assert counted(box(note(0, [(0, 4)]))) == ({}, True)
    assert counted(box(edition(2, stored_ms=200), note(0, [(0, 4)]))) == ({"sink": 1}, True)
    messages = [failed(0, "7"), failed(1, "7"), Message("dead/b/0", 2, b"x", {}, 30)]
    made = Box(Topic({"dead/b/0": messages, "dead/b/1": []}), "dead", time.monotonic() + 60)
    assert counted(made) == ({"sink": 1, "": 1}, True)
    assert made.unreplayed(unnamed=False)[0].keys() == {"sink"}
    late = Box(Topic({"dead/b/0": messages, "dead/b/1": []}), "dead", time.monotonic() - 1)
    assert late.unreplayed() == ({}, False)
