from services.cluster.assignment.demands import demand_of, why_nobody
from services.cluster.assignment.model import Candidate
from services.cluster.model import Key
from tests.services.cluster.assignment.cases import workers


def test_the_reason_names_what_is_missing_and_what_to_do() -> None:
    demand = demand_of(Key("u", 0), {"connector.class": "hudi_sink", "worker.labels": "spark=3.5, zone=a"})
    offering = Candidate("a", {"zone": "a"}, frozenset({"hudi_sink"}))
    assert why_nobody(demand, []).startswith("no executor is registered")
    assert why_nobody(demand, workers("a")).startswith("no executor offers plugin hudi_sink: start one")
    assert "has the labels spark=3.5,zone=a" in why_nobody(demand, [offering])


def test_the_reason_names_the_drained_executors_that_could_take_it() -> None:
    demand = demand_of(Key("u", 0), {"connector.class": "p"})
    assert why_nobody(demand, [], workers("b", "a")) == (
        "only executors that are drained could take it (a, b): start another, "
        "or let one work again with `rocketconnect worker undrain a`"
    )
