"""The emptiest workers, against a look at all of them."""

from hypothesis import given
from hypothesis import strategies as st

from services.cluster.assignment.levels import Levels

WORKERS = ["a", "b", "c", "d"]
LOADS = st.sampled_from([0.0, 0.5, 1.0, 2.0])


@given(st.lists(LOADS, min_size=4, max_size=4), st.lists(st.tuples(st.sampled_from(WORKERS), LOADS)))
def test_the_emptiest_are_those_with_the_least_load_by_id_after_each_change(
    begin: list[float], changes: list[tuple[str, float]]
) -> None:
    loads = dict(zip(WORKERS, begin, strict=True))
    levels = Levels(loads)
    for worker, load in changes:
        levels.change(worker, load)
        loads[worker] = load
        least = min(loads.values())
        assert list(levels.emptiest()) == [worker for worker in WORKERS if loads[worker] == least]
