from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from services.cluster.assign import Candidate, Demand, Move, assign, demand_of, why_nobody
from services.cluster.model import PLAN, Key


def workers(*names: str) -> list[Candidate]:
    return [Candidate(name, {}, frozenset({"p"})) for name in names]


def demands(uid: str, count: int) -> list[Demand]:
    return [Demand(Key(uid, task), "p", {}) for task in range(count)]


def after(current: dict[Key, str], moves: list[Move]) -> dict[Key, str]:
    return current | {move.key: move.target for move in moves}


def test_units_without_an_owner_go_to_the_workers_with_the_fewest() -> None:
    moves = assign(workers("a", "b"), demands("u", 4), {Key("u", 0): "a"})
    assert Counter(after({Key("u", 0): "a"}, moves).values()) == {"a": 2, "b": 2}
    assert all(move.source is None for move in moves)


def test_what_is_balanced_does_not_move() -> None:
    current = {Key("u", 0): "a", Key("u", 1): "a", Key("u", 2): "b"}
    assert assign(workers("a", "b"), demands("u", 3), current) == []


def test_a_worker_that_joins_gets_only_what_makes_the_difference_one() -> None:
    current = {Key("u", task): "a" for task in range(5)}
    moves = assign(workers("a", "b"), demands("u", 5), current)
    assert [move.target for move in moves] == ["b", "b"]
    assert all(move.source == "a" for move in moves)


def test_a_unit_goes_only_to_a_worker_with_its_plugin_and_labels() -> None:
    fitting = Candidate("fit", {"spark": "3.5", "zone": "a"}, frozenset({"p"}))
    others = [Candidate("label", {"zone": "a"}, frozenset({"p"})), Candidate("plugin", {"spark": "3.5"}, frozenset({"q"}))]
    demand = Demand(Key("u", 0), "p", {"spark": "3.5"})
    assert assign([*others, fitting], [demand], {}) == [Move(Key("u", 0), None, "fit")]
    assert assign(others, [demand], {}) == []


def test_units_with_the_least_choice_are_placed_around() -> None:
    special = Candidate("a", {"gpu": "1"}, frozenset({"p"}))
    wanting = [Demand(Key("x", task), "p", {"gpu": "1"}) for task in range(2)]
    placed = after({}, assign([special, *workers("b")], demands("a", 2) + wanting, {}))
    assert [placed[demand.key] for demand in wanting] == ["a", "a"]
    assert [placed[Key("a", task)] for task in range(2)] == ["b", "b"]


def test_a_plan_neither_moves_nor_makes_a_task_move() -> None:
    current = {Key("u", PLAN): "a", Key("v", PLAN): "a", Key("u", 0): "a", Key("u", 1): "b"}
    all_demands = [Demand(key, "p", {}) for key in current]
    assert assign(workers("a", "b"), all_demands, current) == []


def test_plans_spread_over_the_workers() -> None:
    planning = [Demand(Key(f"u{number}", PLAN), "p", {}) for number in range(4)]
    assert Counter(after({}, assign(workers("a", "b"), planning, {})).values()) == {"a": 2, "b": 2}


def test_tasks_of_one_connector_spread_where_that_costs_nothing() -> None:
    moves = assign(workers("a", "b"), demands("u", 2) + demands("v", 2), {})
    placed = after({}, moves)
    assert {placed[Key("u", 0)], placed[Key("u", 1)]} == {"a", "b"}
    assert {placed[Key("v", 0)], placed[Key("v", 1)]} == {"a", "b"}


def test_what_a_worker_holds_that_takes_nothing_now_stays_with_it() -> None:
    assert assign(workers("b"), demands("u", 1), {Key("u", 0): "silent"}) == []


def test_the_reason_names_what_is_missing_and_what_to_do() -> None:
    demand = demand_of(Key("u", 0), {"connector.class": "hudi_sink", "worker.labels": "spark=3.5, zone=a"})
    offering = Candidate("a", {"zone": "a"}, frozenset({"hudi_sink"}))
    assert why_nobody(demand, []).startswith("no executor is registered")
    assert why_nobody(demand, workers("a")).startswith("no executor offers plugin hudi_sink: start one")
    assert "has the labels spark=3.5,zone=a" in why_nobody(demand, [offering])


_PLUGINS = st.frozensets(st.sampled_from("pq"), min_size=1)
_CANDIDATES = st.lists(
    st.builds(Candidate, st.sampled_from("abcdef"), st.sampled_from([{}, {"z": "1"}]), _PLUGINS),
    max_size=6,
    unique_by=lambda worker: worker.id,
)
_DEMANDS = st.lists(
    st.builds(
        Demand,
        st.builds(Key, st.sampled_from("uvw"), st.integers(PLAN, 6)),
        st.sampled_from("pq"),
        st.sampled_from([{}, {"z": "1"}]),
    ),
    max_size=20,
    unique_by=lambda demand: demand.key,
)


@given(_CANDIDATES, _DEMANDS, st.data())
def test_every_assignment_is_complete_allowed_deterministic_and_then_at_rest(
    candidates: list[Candidate], wanted: list[Demand], data: st.DataObject
) -> None:
    by_id = {worker.id: worker for worker in candidates}
    current = {}
    for demand in wanted:
        capable = [worker.id for worker in candidates if worker.can_take(demand)]
        owner = data.draw(st.sampled_from([None, "gone", *capable]))
        if owner is not None:
            current[demand.key] = owner
    moves = assign(candidates, wanted, current)
    assert moves == assign(candidates[::-1], wanted[::-1], dict(reversed(current.items())))
    placed = after(current, moves)
    for demand in wanted:
        capable = [worker.id for worker in candidates if worker.can_take(demand)]
        owner = placed.get(demand.key)
        assert (owner is not None) == bool(capable or demand.key in current)
        assert owner is None or owner == "gone" or by_id[owner].can_take(demand)
    assert assign(candidates, wanted, placed) == [], "an assignment that is made asks for no further move"
    tasks = Counter(worker for key, worker in placed.items() if key.task != PLAN)
    for demand in wanted:
        owner = placed.get(demand.key)
        if owner in by_id and demand.key.task != PLAN:
            least = min(tasks[worker.id] for worker in candidates if worker.can_take(demand))
            assert tasks[owner] - least <= 1, "a task could go to a worker with two fewer"


@given(st.integers(1, 6), st.integers(0, 24), st.data())
def test_when_a_worker_is_lost_only_its_tasks_move(worker_count: int, tasks: int, data: st.DataObject) -> None:
    names = [f"w{number}" for number in range(worker_count + 1)]
    settled = after({}, assign(workers(*names), demands("u", tasks), {}))
    lost = data.draw(st.sampled_from(names))
    rest = {key: worker for key, worker in settled.items() if worker != lost}
    moves = assign(workers(*(name for name in names if name != lost)), demands("u", tasks), rest)
    assert {move.key for move in moves} == set(settled) - set(rest)
