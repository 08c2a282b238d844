"""What every strategy promises, whatever the workers and the units."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.cluster.assignment.model import Candidate, Demand, Intake, Strategy
from services.cluster.assignment.strategies import STRATEGIES
from services.cluster.model import PLAN, Key
from tests.services.cluster.assignment.cases import CANDIDATES, DEMANDS, after, demands, placed, without, workers

every_strategy = pytest.mark.parametrize("assign", STRATEGIES.values(), ids=[str(name) for name in STRATEGIES])


@every_strategy
@given(CANDIDATES, DEMANDS, st.data())
def test_every_assignment_is_complete_allowed_deterministic_and_then_at_rest(
    assign: Strategy, candidates: list[Candidate], wanted: list[Demand], data: st.DataObject
) -> None:
    by_id = {worker.id: worker for worker in candidates}
    owners = st.sampled_from([None, "silent", *by_id])
    current = {demand.key: owner for demand in wanted if (owner := data.draw(owners)) is not None}
    moves = assign(candidates, wanted, current)
    assert moves == assign(candidates[::-1], wanted[::-1], dict(reversed(current.items())))
    assert moves == sorted(moves)
    reached = after(current, moves)
    asked = {demand.key: demand for demand in wanted}
    for move in moves:
        assert move.source == current.get(move.key)
        assert by_id[move.target].can_take(asked[move.key])
        assert move.source != "silent", "it may still run there"
        held_well = move.source is not None and by_id[move.source].can_take(asked[move.key])
        assert not held_well or move.key.task != PLAN
        assert not held_well or by_id[move.target].intake is not Intake.RETURNING
    for demand in wanted:
        owner = reached.get(demand.key)
        capable = [worker.id for worker in candidates if worker.can_take(demand)]
        assert owner is not None or not capable
        assert owner in (*capable, "silent") or not capable
    assert assign(candidates, wanted, reached) == [], "an assignment that is made asks for no further move"


@every_strategy
@given(st.integers(1, 6), st.integers(0, 24), st.data())
def test_when_a_worker_is_lost_exactly_its_tasks_move(assign: Strategy, worker_count: int, tasks: int, data: st.DataObject) -> None:
    names = [f"w{number}" for number in range(worker_count + 1)]
    weights = {name: data.draw(st.integers(1, 3)) for name in names}
    everybody = [worker for name in names for worker in workers(name, weight=weights[name])]
    held = placed(assign, everybody, demands("u", tasks))
    lost = data.draw(st.sampled_from(names))
    rest = without(lost, held)
    moves = assign([worker for worker in everybody if worker.id != lost], demands("u", tasks), rest)
    assert {move.key for move in moves} == set(held) - set(rest)
    assert all(move.source is None for move in moves)


@every_strategy
@given(st.integers(1, 6), st.integers(0, 24), st.integers(1, 3))
def test_when_a_worker_joins_nothing_moves_between_the_others(assign: Strategy, worker_count: int, tasks: int, weight: int) -> None:
    there = workers(*(f"w{number}" for number in range(worker_count)))
    held = placed(assign, there, demands("u", tasks))
    moves = assign(there + workers("new", weight=weight, intake=Intake.JOINING), demands("u", tasks), held)
    assert {move.target for move in moves} <= {"new"}


@every_strategy
@given(st.integers(1, 6), st.integers(0, 24), st.integers(1, 24))
def test_when_a_connector_is_added_only_its_tasks_are_given_out(assign: Strategy, worker_count: int, tasks: int, more: int) -> None:
    there = workers(*(f"w{number}" for number in range(worker_count)))
    held = placed(assign, there, demands("u", tasks))
    moves = assign(there, demands("u", tasks) + demands("v", more), held)
    assert {move.key for move in moves} == {Key("v", task) for task in range(more)}


@every_strategy
@given(st.integers(2, 6), st.integers(1, 24), st.data())
def test_the_tasks_of_a_worker_that_is_started_again_within_its_lease_go_back_to_it(
    assign: Strategy, worker_count: int, tasks: int, data: st.DataObject
) -> None:
    names = [f"w{number}" for number in range(worker_count)]
    held = placed(assign, workers(*names), demands("u", tasks))
    again = data.draw(st.sampled_from(names))
    wanted = [Demand(d.key, d.plugin, d.labels, again if held[d.key] == again else "") for d in demands("u", tasks)]
    rest = without(again, held)
    assert after(rest, assign(workers(*names), wanted, rest)) == held
