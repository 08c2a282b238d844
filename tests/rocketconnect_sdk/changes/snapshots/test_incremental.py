"""What people have asked for is in positions, and comes back out of them."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.changes.snapshots.incremental import SIGNALS, Requests
from rocketconnect_sdk.record import Offset, SourceBatch

TABLES = ("a.x", "a.y", "b.x")


def stored(positions: dict[str, Offset], batches: list[SourceBatch]) -> None:
    """As the runtime does it: a position only grows."""
    for batch in batches:
        assert batch.end > positions.get(batch.partition, ())
        positions[batch.partition] = batch.end


@given(st.integers())
def test_another_task_knows_from_the_positions_what_is_asked_for_and_how_far_it_is(seed: int) -> None:
    pick = random.Random(seed)
    positions: dict[str, Offset] = {}
    requests = Requests(positions)
    for step in range(30):
        table = pick.choice(TABLES)
        match pick.randrange(6):
            case 0 if table not in requests.open:
                stored(positions, requests.ask(table, pick.choice(("", f"name = 'é{step}'", "x" * pick.randrange(200)))))
            case 1 if table in requests.open:
                end = (requests.place(table)[0], 0, step)
                requests.read(table, end)
                stored(positions, [SourceBatch(f"incremental {table}", [], [], end=end)])
            case 2 if table in requests.open:
                stored(positions, [requests.done(table)])
            case 3 if table in requests.open:
                before = requests.condition(table)
                stored(positions, requests.again(table))
                assert requests.condition(table) == before
            case 4:
                stored(positions, requests.pause(paused=pick.random() < 0.5))
            case _:
                pass
        other = Requests(positions)
        assert other.paused == requests.paused
        assert sorted(other.open) == sorted(requests.open)
        for each in requests.open:
            assert (other.place(each), other.condition(each)) == (requests.place(each), requests.condition(each))


def test_a_condition_does_not_outlive_its_snapshot() -> None:
    requests = Requests({})
    requests.ask("a.x", "id = 1")
    requests.done("a.x")
    requests.ask("a.x")
    assert requests.condition("a.x") == ""


def test_a_condition_of_which_only_the_first_position_was_stored_is_of_no_snapshot() -> None:
    (condition, _) = Requests({}).ask("a.x", "id = 1")
    requests = Requests({condition.partition: condition.end})
    assert requests.open == []
    requests.ask("a.x")
    assert requests.condition("a.x") == ""


def test_asking_twice_or_for_too_much_is_refused() -> None:
    requests = Requests({})
    requests.ask("a.x")
    with pytest.raises(ValueError, match="already"):
        requests.ask("a.x")
    with pytest.raises(ValueError, match="256"):
        requests.ask("a.y", "é" * 129)


def test_a_condition_of_the_longest_kind_fits_into_a_position() -> None:
    condition, _ = Requests({}).ask("a.x", "\U0010ffff" * 64)
    assert len(",".join(map(str, condition.end))) < 1_000


def test_the_signals_do_what_they_say() -> None:
    asked: list[tuple[Sequence[str], str]] = []
    requests = Requests({})

    def ask(tables: Sequence[str], condition: str) -> list[SourceBatch]:
        asked.append((tables, condition))
        return [batch for table in tables for batch in requests.ask(table, condition)]

    assert [signal.name for signal in SIGNALS] == ["execute-snapshot", "pause-snapshot", "resume-snapshot", "stop-snapshot"]
    assert len(requests.obey("execute-snapshot", {"tables": "a.x, a.y"}, ask)) == 2
    assert asked == [(("a.x", "a.y"), "")]
    requests.obey("pause-snapshot", {}, ask)
    assert requests.told.startswith("paused; tables that are to be read: a.x, a.y. ")
    requests.obey("resume-snapshot", {}, ask)
    requests.obey("stop-snapshot", {"tables": "a.x"}, ask)
    assert requests.told.startswith("not paused; tables that are to be read: a.y. ")
    with pytest.raises(ValueError, match=r"no snapshot is asked for of a\.x; there are a\.y"):
        requests.obey("stop-snapshot", {"tables": "a.x"}, ask)
    requests.obey("stop-snapshot", {}, ask)
    assert requests.open == []


@pytest.mark.parametrize("keys", ['[["a", 1.5]]', "[[]]", "[[true]]", '[["a"], 7]', "[[1]", "[7]", "nothing"])
def test_keys_that_are_none_are_refused(keys: str) -> None:
    with pytest.raises(ValueError, match=r"keys|list|Expecting"):
        Requests({}).obey("execute-snapshot", {"tables": "shop.t", "keys": keys}, lambda tables, wanted: [])


def test_keys_are_in_the_place_of_a_condition() -> None:
    requests = Requests({})

    def ask(tables: Sequence[str], wanted: str) -> list[SourceBatch]:
        return [batch for table in tables for batch in requests.ask(table, wanted)]

    with pytest.raises(ValueError, match="one of the two"):
        requests.obey("execute-snapshot", {"tables": "t", "keys": "[[1]]", "condition": "a = 1"}, ask)
    moved = requests.obey("execute-snapshot", {"tables": "t", "keys": '[[1, "\u00e4"], [-2, ""]]'}, ask)
    again = Requests({batch.partition: batch.end for batch in moved})
    assert again.keys("t") == requests.keys("t") == [(1, "\u00e4"), (-2, "")]
