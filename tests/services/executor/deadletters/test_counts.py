import time
from collections.abc import Sequence
from typing import Any

from rocketconnect_sdk.letters.dead_letters import PREFIX
from rocketconnect_sdk.topics import Message
from services.executor.deadletters.box import Box
from services.executor.deadletters.choice import Waiting
from services.executor.deadletters.counts import Counts
from services.executor.deadletters.discard import notes_of
from tests.connectors.test_dead_letter_source import Topic


class Counted(Topic):
    """Counts how often messages are read."""

    reads = 0

    def read(self, *args: Any, **options: Any) -> tuple[Sequence[Message], int]:
        self.reads += 1
        return super().read(*args, **options)


def letter(offset: int, connector: str, stored_ms: int) -> Message:
    return Message("dead/b/0", offset, b"?", {f"{PREFIX}connector.name": connector} if connector else {}, stored_ms)


def box(topic: Topic, until: float | None = None) -> Box:
    return Box(topic, "dead", time.monotonic() + 60 if until is None else until)


LETTERS = [letter(0, "a", 30), letter(1, "b", 20), letter(2, "a", 40), letter(3, "", 50)]


def test_a_topic_is_read_again_only_when_something_was_written_to_it_whoever_asks() -> None:
    counts, topic = Counts(), Counted({"dead/b/0": list(LETTERS)})
    assert counts.of("dead", box(topic), "a") == (Waiting(3, 30), True)
    reads = topic.reads
    assert counts.of("dead", box(topic), "a") == (Waiting(3, 30), True)
    assert counts.of("dead", box(topic), "b") == (Waiting(2, 20), True)
    assert counts.of("dead", box(topic), "nobody") == (Waiting(1, 50), True)
    assert topic.reads == reads
    (note,) = notes_of("a", {"dead/b/0": [(0, 1)]})
    given_up = Message("dead/b/0", 4, note.body(), note.properties(), 60)
    assert counts.of("dead", box(Topic({"dead/b/0": [*LETTERS, given_up]})), "a") == (Waiting(2, 40), True)


def test_what_could_not_be_looked_at_as_a_whole_is_looked_at_again_by_who_has_more_time_alone() -> None:
    counts, topic = Counts(), Counted({"dead/b/0": list(LETTERS)})
    assert counts.of("dead", box(topic, time.monotonic() - 1), "a") == (Waiting(), False)
    reads = topic.reads
    assert counts.of("dead", box(topic, time.monotonic() - 3), "a") == (Waiting(), False)
    assert topic.reads == reads
    assert counts.of("dead", box(topic), "a") == (Waiting(3, 30), True)


def test_where_none_waits_there_is_no_oldest() -> None:
    assert Counts().of("dead", box(Topic({"dead/b/0": []})), "a") == (Waiting(0, 0), True)
