"""Workers and tasks to assign."""

from collections.abc import Iterable, Mapping, Sequence

from hypothesis import strategies as st

from services.cluster.assignment.model import Candidate, Demand, Intake, Move, Strategy
from services.cluster.assignment.strategies import STRATEGIES
from services.cluster.model import PLAN, Key

NAMES = [str(name) for name in STRATEGIES]
_PLUGINS = st.frozensets(st.sampled_from("pq"), min_size=1)
_LABELS = st.sampled_from([{}, {"z": "1"}])

CANDIDATES = st.lists(
    st.builds(Candidate, st.sampled_from("abcdef"), _LABELS, _PLUGINS, st.integers(1, 3), st.sampled_from(list(Intake))),
    max_size=6,
    unique_by=lambda worker: worker.id,
)
DEMANDS = st.lists(
    st.builds(
        Demand,
        st.builds(Key, st.sampled_from("uvw"), st.integers(PLAN, 6)),
        st.sampled_from("pq"),
        _LABELS.map(lambda labels: frozenset(labels.items())),
        st.sampled_from(["", "a", "b", "gone"]),
    ),
    max_size=20,
    unique_by=lambda demand: demand.key,
)


def workers(*names: str, weight: int = 1, intake: Intake = Intake.JOINED) -> list[Candidate]:
    return [Candidate(name, {}, frozenset({"p"}), weight, intake) for name in names]


def demands(uid: str, count: int) -> list[Demand]:
    return [Demand(Key(uid, task), "p") for task in range(count)]


def after(current: Mapping[Key, str], moves: Iterable[Move]) -> dict[Key, str]:
    return {**current, **{move.key: move.target for move in moves}}


def placed(strategy: Strategy, candidates: Sequence[Candidate], wanted: Sequence[Demand]) -> dict[Key, str]:
    """Return who has what after everything was given out for the first time."""
    return after({}, strategy(candidates, wanted, {}))


def without(worker: str, current: Mapping[Key, str]) -> dict[Key, str]:
    return {key: owner for key, owner in current.items() if owner != worker}
