from collections import Counter
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from services.cluster.assignment.consistent_hash import BOUND, assign
from services.cluster.assignment.model import Candidate, Demand, Intake
from services.cluster.model import Key
from tests.services.cluster.assignment.cases import after, demands, placed, without, workers

TEN = [f"w{number}" for number in range(10)]
_SOME = st.integers(0, 60)
_FEW = st.lists(st.sampled_from(TEN), min_size=2, max_size=6, unique=True)


def test_a_worker_that_comes_back_gets_the_tasks_that_it_had_and_nothing_else_moves() -> None:
    wanted = demands("u", 2000)
    before = placed(assign, workers(*TEN), wanted)
    others = [name for name in TEN if name != "w3"]
    meanwhile = after(before, assign(workers(*others), wanted, without("w3", before)))
    back = after(meanwhile, assign(workers(*others) + workers("w3", intake=Intake.JOINING), wanted, meanwhile))
    assert {key for key in before if back[key] != meanwhile[key]} == {key for key in before if back[key] == "w3"}
    assert Counter(before.values())["w3"] == 193
    same = sum(back[key] == "w3" for key in before if before[key] == "w3")
    assert same == 189, "of 193: four were there because their own worker was full, and found room with it meanwhile"


def test_where_a_task_goes_does_not_depend_on_the_process_that_decides() -> None:
    assert placed(assign, workers("a", "b", "c"), demands("u", 6)) == {
        Key("u", 0): "b",
        Key("u", 1): "c",
        Key("u", 2): "c",
        Key("u", 3): "c",
        Key("u", 4): "a",
        Key("u", 5): "a",
    }


def test_a_worker_of_twice_the_weight_has_about_twice_the_tasks() -> None:
    counts = Counter(placed(assign, workers("a", "b") + workers("c", weight=2), demands("u", 2000)).values())
    assert 1.6 < counts["c"] / ((counts["a"] + counts["b"]) / 2) < 2.4


@given(_FEW, _SOME, st.data())
def test_no_worker_has_more_than_its_bound_through_joins_and_losses(names: list[str], count: int, data: st.DataObject) -> None:
    current: dict[Key, str] = {}
    for _ in range(4):
        joining = data.draw(st.sets(st.sampled_from(names)))
        present = [name for name in names if data.draw(st.booleans())] or names[:1]
        candidates = [
            worker for name in present for worker in workers(name, intake=Intake.JOINING if name in joining else Intake.JOINED)
        ]
        current = {key: owner for key, owner in current.items() if owner in present}
        wanted = demands("u", count)
        current = after(current, assign(candidates, wanted, current))
        assert max(Counter(current.values()).values(), default=0) <= ceil(BOUND * count / len(present))


@given(_FEW, _SOME, _SOME, st.data())
def test_what_others_hold_stays_when_a_worker_is_lost_or_returns_or_tasks_are_added(
    names: list[str], count: int, more: int, data: st.DataObject
) -> None:
    wanted = demands("u", count)
    held = placed(assign, workers(*names), wanted)
    lost = data.draw(st.sampled_from(names))
    rest = workers(*(name for name in names if name != lost))
    free = {key for key in held if held[key] == lost}
    moves = assign(rest, wanted, without(lost, held))
    assert {move.key for move in moves} == free
    assert all(move.source is None for move in moves)
    held = after(held, moves)
    returned = rest + workers(lost, intake=Intake.RETURNING)
    assert assign(returned, wanted, held) == []
    added: list[Demand] = wanted + demands("v", more)
    assert {move.key for move in assign(returned, added, held)} == {Key("v", task) for task in range(more)}


@given(_FEW, _SOME, st.data())
def test_when_a_worker_joins_tasks_move_only_to_it(names: list[str], count: int, data: st.DataObject) -> None:
    wanted = demands("u", count)
    joins = data.draw(st.sampled_from(names))
    rest = workers(*(name for name in names if name != joins))
    held = placed(assign, rest, wanted)
    moves = assign(rest + workers(joins, intake=Intake.JOINING), wanted, held)
    assert {move.target for move in moves} <= {joins}
    assert assign(rest + workers(joins), wanted, after(held, moves)) == []


def test_more_than_the_bound_is_taken_where_nobody_else_can() -> None:
    special = [Demand(Key("x", task), "p", frozenset({("gpu", "1")})) for task in range(12)]
    able = Candidate("a", {"gpu": "1"}, frozenset({"p"}))
    found = placed(assign, [able, *workers("b")], special + demands("u", 2))
    assert Counter(found.values()) == {"a": 12, "b": 2}
