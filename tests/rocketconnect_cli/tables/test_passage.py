"""How far a pipeline has come: never said to be farther than it is, and said in the end."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_cli.tables.passage import SENDING_SECONDS, STALE_SECONDS, Passage, PipelineState, Step

NONE = float("-inf")


def seen(at: float, *, read: bool = True, end: int = 0, position: int = 0, **standing: str) -> PipelineState:
    return PipelineState(at, standing, read, {"q": end}, {"q": position})


def test_what_was_read_has_passed_when_the_sink_is_at_the_ends_that_the_topic_had_then() -> None:
    passage = Passage()
    passage.look(seen(100, end=7, position=7))
    assert passage.passed == NONE, "it may not be sent"
    passage.look(seen(100 + SENDING_SECONDS, read=False, end=9, position=8))
    assert (passage.passed, passage.left) == (NONE, 1)
    passage.look(seen(110, read=False, end=20, position=9))
    assert (passage.passed, passage.left) == (100 - STALE_SECONDS, 11)


def test_nothing_passes_while_the_source_has_something_left_to_read() -> None:
    passage = Passage()
    for at in range(100, 200):
        passage.look(seen(at, read=False, end=5, position=5))
    assert passage.passed == NONE


def test_a_queue_that_its_sink_has_no_position_in_is_behind_when_it_holds_messages() -> None:
    passage = Passage()
    for at in (100, 110, 120):
        passage.look(PipelineState(at, {}, True, {"q": 5, "r": 3}, {"q": 5}))
    assert (passage.passed, passage.left) == (NONE, 3)


def test_it_is_said_what_the_records_have_before_them() -> None:
    passage = Passage()
    steps = []
    for look in (
        seen(100, read=False, end=5, position=5),
        seen(110, end=5, position=5),
        seen(110 + SENDING_SECONDS, end=9, position=5),
        seen(120, end=9, position=8),
    ):
        passage.look(look)
        steps.append(passage.step)
    assert steps == [Step.READING, Step.SENDING, Step.WRITING, Step.WRITING]
    passage.look(seen(121, end=12, position=9))
    assert (passage.passed, passage.step) == (110 - STALE_SECONDS, Step.SENDING), "it begins anew"


def test_where_a_connector_stands_time_alone_decides() -> None:
    passage = Passage()
    passage.look(seen(100, end=5, position=0))
    passage.look(seen(101, end=5, position=0, copy="PAUSED"))
    assert passage.passed == 101
    passage.look(seen(102, end=5, position=0))
    passage.look(seen(110, end=5, position=0))
    assert passage.passed == 101, "it is behind again"


@dataclass
class World:
    """A source that writes a row at each step; the task reads, sends and writes some of what is there."""

    steps: list[tuple[int, int, int]]
    read: list[int] = field(default_factory=lambda: [0])
    sent: int = 0
    written: int = 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), max_size=120))
def test_what_is_said_to_have_passed_is_in_the_target(steps: list[tuple[int, int, int]]) -> None:
    world, passage = World(steps), Passage()
    for now, (reads, _, writes) in enumerate(steps, 1):
        # By time `now` there are `now` rows. What was read is sent SENDING_SECONDS later at most.
        world.read.append(min(now, world.read[-1] + reads))
        world.sent = max(world.sent, world.read[max(0, now - int(SENDING_SECONDS))])
        world.written = min(world.sent, world.written + writes)
        # The end of the log was looked at some time ago.
        end_then = max(0, now - int(STALE_SECONDS))
        passage.look(PipelineState(now, {}, world.read[-1] >= end_then, {"q": world.sent}, {"q": world.written}))
        assert passage.passed <= world.written


def test_a_pipeline_that_keeps_up_is_said_to_have_passed_again_and_again() -> None:
    passage = Passage()
    for now in range(100, 200):
        passage.look(seen(now, end=now, position=now - 2))
    assert passage.passed > 200 - 2 * (STALE_SECONDS + SENDING_SECONDS)
