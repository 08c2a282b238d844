"""Executors on hosts of their own are cut off from all services, and reconnected."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rocketconnect_cli.api import Api
from rocketmq_remoting import Client
from tests.chaos.deployments.fleet import BROKERS, SERVICES, Fleet
from tests.chaos.load import Load, Pipeline
from tests.chaos.network import Network

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.rocketmq,
    pytest.mark.postgres,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]
LEASE_SECONDS = 5.0
JUDGED_SECONDS = 7.0
"""The lease and the send deadline."""
LIMIT_SECONDS = 300
"""Against hangs."""


class Isolated:
    """Executors, one pipeline with each value of on.isolation, and the line that can be cut."""

    def __init__(self, folder: Path, executors: int) -> None:
        self.executors = [f"executor-{number}" for number in range(1, executors + 1)]
        self.network = Network([SERVICES, BROKERS], self.executors)
        try:
            self.fleet = Fleet(folder, executors=executors, spark=False, network=self.network)
        except BaseException:
            self.network.close()
            raise
        self.client = Client(self.fleet.name_server)
        self.load = Load(folder, folder, [_pipeline(folder, value) for value in ("pause", "continue")], 600)

    def start(self, api: Api) -> None:
        self.load.start(api)
        tick = self.load.now()
        self.until(lambda: self.load.arrived_after(tick))

    def cut(self) -> None:
        self.network.cut([(host, SERVICES) for host in self.executors])

    def sent(self) -> int:
        """How many messages the topic of those that pause holds."""
        return sum(map(self.client.max_offset, self.client.queues("chaos-pause")))

    def until(self, true: Callable[[], bool]) -> None:
        """Wait for it."""
        began = time.monotonic()
        while not true():
            assert time.monotonic() < began + LIMIT_SECONDS, self.load.in_flight()
            time.sleep(0.05)

    def close(self) -> None:
        self.load.pause()
        self.client.close()
        self.fleet.close()
        self.network.close()


def _pipeline(folder: Path, value: str) -> Pipeline:
    isolation = {"on.isolation": value}
    sink = {"connector.class": "file_lines", "engine": "native", **isolation}
    return Pipeline(f"chaos-{value}", {"filename": str(folder / f"{value}.txt"), **isolation}, (value,), False, {value: sink})


@pytest.fixture(params=[1, 2], ids=["one executor", "two executors"])
def isolated(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Isolated]:
    made = Isolated(tmp_path, request.param)
    try:
        made.fleet.start()
        with Api(made.fleet.rest) as api:
            made.start(api)
            yield made
    finally:
        made.close()


@pytest.mark.slow
def test_pipelines_that_are_cut_off_pause_after_the_lease_or_continue_as_they_are_told_and_go_on_when_it_is_mended(
    isolated: Isolated,
) -> None:
    load = isolated.load
    for seconds in (JUDGED_SECONDS + 3, JUDGED_SECONDS + 8):
        isolated.cut()
        time.sleep(LEASE_SECONDS + 1)
        load.in_flight()
        looked, tick, sent = time.monotonic(), load.now(), isolated.sent()
        time.sleep(seconds - LEASE_SECONDS - 1)
        assert load.arrived_after(tick, "continue")
        load.in_flight()
        assert load.quiet_seconds()["pause"] >= time.monotonic() - looked, "something was written without a lease"
        assert isolated.sent() == sent, "something was sent without a lease"
        isolated.network.mend()
        tick = load.now()
        isolated.until(lambda tick=tick: load.arrived_after(tick))  # type: ignore[misc]
    load.pause()
    isolated.until(lambda: max(load.in_flight().values()) <= 0)
    time.sleep(1)  # a late double would show
    paused, continued = load.check_sink("pause"), load.check_sink("continue")
    assert paused.clean, paused
    assert (continued.missing, continued.changed) == (0, 0), continued
