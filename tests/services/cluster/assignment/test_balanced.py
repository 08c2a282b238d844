from collections import Counter
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from services.cluster.assignment.balanced import assign
from services.cluster.assignment.model import Candidate, Demand, Intake, Move
from services.cluster.model import PLAN, Key
from tests.services.cluster.assignment.cases import CANDIDATES, DEMANDS, after, demands, workers


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
    demand = Demand(Key("u", 0), "p", frozenset({("spark", "3.5")}))
    assert assign([*others, fitting], [demand], {}) == [Move(Key("u", 0), None, "fit")]
    assert assign(others, [demand], {}) == []


def test_units_with_the_least_choice_are_placed_around() -> None:
    special = Candidate("a", {"gpu": "1"}, frozenset({"p"}))
    wanting = [Demand(Key("x", task), "p", frozenset({("gpu", "1")})) for task in range(2)]
    placed = after({}, assign([special, *workers("b")], demands("a", 2) + wanting, {}))
    assert [placed[demand.key] for demand in wanting] == ["a", "a"]
    assert [placed[Key("a", task)] for task in range(2)] == ["b", "b"]


def test_a_plan_neither_moves_nor_makes_a_task_move() -> None:
    current = {Key("u", PLAN): "a", Key("v", PLAN): "a", Key("u", 0): "a", Key("u", 1): "b"}
    all_demands = [Demand(key, "p") for key in current]
    assert assign(workers("a", "b"), all_demands, current) == []


def test_plans_spread_over_the_workers() -> None:
    planning = [Demand(Key(f"u{number}", PLAN), "p") for number in range(4)]
    assert Counter(after({}, assign(workers("a", "b"), planning, {})).values()) == {"a": 2, "b": 2}


def test_tasks_of_one_connector_spread_where_that_costs_nothing() -> None:
    moves = assign(workers("a", "b"), demands("u", 2) + demands("v", 2), {})
    placed = after({}, moves)
    assert {placed[Key("u", 0)], placed[Key("u", 1)]} == {"a", "b"}
    assert {placed[Key("v", 0)], placed[Key("v", 1)]} == {"a", "b"}


def test_what_a_worker_holds_that_takes_nothing_now_stays_with_it() -> None:
    assert assign(workers("b"), demands("u", 1), {Key("u", 0): "silent"}) == []


def test_a_task_that_has_to_go_to_one_of_equals_goes_to_who_had_it_last() -> None:
    again = Demand(Key("u", 0), "p", last="b")
    assert assign(workers("a", "b"), [again], {}) == [Move(Key("u", 0), None, "b")]


def test_a_worker_of_twice_the_weight_has_twice_the_tasks() -> None:
    placed = after({}, assign(workers("a", "b") + workers("c", weight=2), demands("u", 12), {}))
    assert Counter(placed.values()) == {"a": 3, "b": 3, "c": 6}


def test_nothing_moves_to_a_worker_that_returns_and_may_go_again_but_what_nobody_holds_does() -> None:
    current = {Key("u", task): "a" for task in range(4)}
    returning = workers("a") + workers("b", intake=Intake.RETURNING)
    assert assign(returning, demands("u", 5), current) == [Move(Key("u", 4), None, "b")]


@given(CANDIDATES, DEMANDS, st.data())
def test_no_task_could_go_to_a_worker_that_would_still_have_less_load(
    candidates: list[Candidate], wanted: list[Demand], data: st.DataObject
) -> None:
    current = {}
    for demand in wanted:
        owner = data.draw(st.sampled_from([None, "gone", *(worker.id for worker in candidates if worker.can_take(demand))]))
        if owner is not None:
            current[demand.key] = owner
    placed = after(current, assign(candidates, wanted, current))
    tasks = Counter(worker for key, worker in placed.items() if key.task != PLAN)
    by_id = {worker.id: worker for worker in candidates}
    for demand in wanted:
        holder = by_id.get(placed.get(demand.key, ""))
        if holder is None or demand.key.task == PLAN:
            continue
        for other in candidates:
            if other.can_take(demand) and other.intake is not Intake.RETURNING:
                assert tasks[holder.id] * other.weight <= (tasks[other.id] + 1) * holder.weight


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 5)), min_size=1, max_size=4), st.integers(0, 4))
def test_no_way_to_the_same_load_moves_fewer(held: list[tuple[int, int]], free: int) -> None:
    """Tried: every way to deal so many tasks out."""
    candidates = [Candidate(f"w{number}", {}, frozenset({"p"}), weight) for number, (weight, _) in enumerate(held)]
    owners = [worker.id for worker, (_, count) in zip(candidates, held, strict=True) for _ in range(count)]
    current = {Key("u", task): owner for task, owner in enumerate(owners)}
    wanted = demands("u", len(owners) + free)
    moved = sum(move.source is not None for move in assign(candidates, wanted, current))

    def is_level(counts: tuple[int, ...]) -> bool:
        pairs = product(zip(counts, held, strict=True), repeat=2)
        return all(full * low[0] <= (few + 1) * high[0] for (full, high), (few, low) in pairs)

    dealt = (counts for counts in product(range(len(wanted) + 1), repeat=len(held)) if sum(counts) == len(wanted))
    fewest = min(sum(max(0, had - has) for (_, had), has in zip(held, counts, strict=True)) for counts in dealt if is_level(counts))
    assert moved == fewest
