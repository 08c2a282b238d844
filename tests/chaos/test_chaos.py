"""The short form of `make chaos`: a real deployment, a few faults, every line compared."""

from collections.abc import Iterator

import pytest

from rocketconnect_cli.api import Api
from tests.chaos.deployments.fleet import Fleet
from tests.chaos.faults.common import FLEET
from tests.chaos.faults.machines import on_clocks
from tests.chaos.faults.stores import on_stores
from tests.chaos.load import Load, pipelines
from tests.chaos.rounds import Arena

pytestmark = [pytest.mark.e2e, pytest.mark.rocketmq, pytest.mark.postgres]
SEED = 20


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    folder = tmp_path_factory.mktemp("chaos")
    fleet = Fleet(folder, spark=False)
    try:
        fleet.start()
        with Api(fleet.rest) as api:
            load = Load(folder, folder, pipelines(folder, ("native",)), 600)
            load.start(api)
            made = Arena(fleet, load, api, FLEET | on_stores(fleet) | on_clocks())
            made.warm_up()
            yield made
            load.pause()
    finally:
        fleet.close()


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("executor", "kill-all"),
        ("sink.after-manifest", "failpoint"),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in [
                ("native-host", "kill"),
                ("position", "kill"),
                ("cluster", "kill"),
                ("broker", "kill"),
                ("source.in-send", "failpoint"),
                ("postgres", "read-only"),
                ("stores", "restored"),
                ("executor", "clock"),
            ]
        ),
    ],
)
def test_nothing_is_lost_doubled_or_out_of_order_when_something_dies_under_load(arena: Arena, target: str, fault: str) -> None:
    done = arena.round(SEED, 1, "test", 1, (target, fault))
    assert done.ok, (done.why, done.verdict, done.states)
    assert done.hits
    assert all(sum(hit.in_flight.values()) > 0 for hit in done.hits)
