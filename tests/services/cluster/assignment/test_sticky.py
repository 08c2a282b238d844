from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from services.cluster.assignment.model import Candidate, Demand, Move
from services.cluster.assignment.sticky import assign
from services.cluster.model import Key
from tests.services.cluster.assignment.cases import CANDIDATES, DEMANDS, demands, workers


def test_a_worker_that_joins_takes_nothing_over_and_gets_what_comes() -> None:
    current = {Key("u", task): "a" for task in range(4)}
    assert assign(workers("a", "b"), demands("u", 4), current) == []
    assert {move.target for move in assign(workers("a", "b"), demands("u", 8), current)} == {"b"}


def test_a_task_goes_back_to_who_had_it_last_however_much_that_one_has() -> None:
    current = {Key("u", task): "a" for task in range(4)}
    again = Demand(Key("v", 0), "p", last="a")
    assert assign(workers("a", "b"), [*demands("u", 4), again], current) == [Move(Key("v", 0), None, "a")]


def test_a_worker_of_twice_the_weight_gets_twice_the_tasks() -> None:
    moves = assign(workers("a") + workers("b", weight=2), demands("u", 9), {})
    assert Counter(move.target for move in moves) == {"a": 3, "b": 6}


@given(CANDIDATES, DEMANDS, st.data())
def test_only_what_nobody_holds_or_whose_owner_can_not_take_it_moves(
    candidates: list[Candidate], wanted: list[Demand], data: st.DataObject
) -> None:
    owners = st.sampled_from([None, "gone", *(worker.id for worker in candidates)])
    current = {demand.key: owner for demand in wanted if (owner := data.draw(owners)) is not None}
    by_id = {worker.id: worker for worker in candidates}
    asked = {demand.key: demand for demand in wanted}
    for move in assign(candidates, wanted, current):
        assert move.source is None or not by_id[move.source].can_take(asked[move.key])
