"""Two of each service over one PostgreSQL, watched: deploy/compose/replicas.yaml over compose.yaml, with the profile `watch`.

Grafana is left out: there is none where no registry can be reached. tests/deploy/test_grafana.py has its dashboards.
"""

import json
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.instance.topology import STORES
from tests.deploy.containers.compose import Compose
from tests.deploy.containers.engine import Engine
from tests.deploy.containers.network import Network
from tests.deploy.containers.pipeline import Pipeline
from tests.deploy.containers.test_compose import FILE, SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.postgres]

ROWS = 600_000
OVER = FILE.with_name("replicas.yaml")
VICTIMS = ("config-1", "position-1", "state-1", "cluster-1", "gateway-2", "executor-2")


@pytest.fixture(scope="module")
def compose(
    engine: Engine, images: dict[str, str], rocketmq: dict[str, str], postgres: str, watchers: dict[str, str], network: Network
) -> Compose:
    """All of both files, running."""
    engine.remove_all()
    made = {**images, "executor-2": images["executor"], **rocketmq, "postgres": postgres, **watchers}
    variables = {"POSTGRES_PASSWORD": "chosen0"}
    running = Compose(engine, [FILE, OVER], network, made, profiles=["watch"], variables=variables, without=["grafana"])
    running.up(2 * SECONDS)
    return running


class Watch:
    """What those who watch say.

    Args:
        network: where they are.
    """

    def __init__(self, network: Network) -> None:
        self._network = network

    def asked(self, service: str, port: int, path: str) -> Any:
        """What one answers to GET."""
        url = f"http://{self._network.address(service)}:{port}{path}"
        return json.loads(
            subprocess.run(self._network.enter(["curl", "-sSf", url]), check=True, capture_output=True, timeout=60).stdout
        )

    def targets(self) -> dict[str, str]:
        """How each address that Prometheus asks is, by address."""
        active = self.asked("prometheus", 9090, "/api/v1/targets")["data"]["activeTargets"]
        return {each["labels"]["instance"]: each["health"] for each in active}

    def told(self) -> set[str]:
        """The alerts that Alertmanager has."""
        return {each["labels"]["alertname"] for each in self.asked("alertmanager", 9093, "/api/v2/alerts")}


def wait_until(true: Callable[[], bool], what: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline, what()
        time.sleep(1)


def test_every_row_arrives_once_though_one_of_each_two_is_lost(engine: Engine, compose: Compose, tmp_path: Path) -> None:
    pipeline = Pipeline(engine, partial(engine.podman, "exec", "gateway-1", "rocketconnect"), "executor", "/files", ROWS)
    pipeline.start(tmp_path)
    for victim in VICTIMS:
        compose.kill(victim)
    assert pipeline.is_under_way(), "it was over before"
    pipeline.assert_each_row_is_there_once(tmp_path, SECONDS)
    for victim in VICTIMS:
        compose.start(victim)
    for victim in VICTIMS:
        compose.wait_well(victim, time.monotonic() + SECONDS)


def test_each_replica_is_watched_with_all_rules(compose: Compose, network: Network) -> None:
    watch = Watch(network)
    ports = {
        **dict(zip(STORES, range(9101, 9105), strict=True)),
        "executor": 9105,
        "executor-2": 9105,
        "gateway": 9106,
        "exporter": 9100,
    }
    wanted = {
        f"exporter:{port}" if service == "exporter" else f"{network.address(container)}:{port}"
        for service, port in ports.items()
        for container in compose.containers(service)
    }
    wait_until(lambda: watch.targets() == dict.fromkeys(wanted, "up"), watch.targets)
    rules = [rule for group in watch.asked("prometheus", 9090, "/api/v1/rules")["data"]["groups"] for rule in group["rules"]]
    assert len(rules) > 40
    assert {rule["health"] for rule in rules} <= {"ok", "unknown"}


def test_without_its_postgresql_each_store_says_so_and_somebody_is_told(compose: Compose, network: Network) -> None:
    watch = Watch(network)
    compose.kill("postgres")
    wait_until(lambda: "RocketConnectStoreAway" in watch.told(), watch.told)
    for service in STORES:
        for container in compose.containers(service):
            assert "the store does not answer" in compose.logs(container)
    compose.start("postgres")
    for service in STORES:
        for container in compose.containers(service):
            compose.wait_well(container, time.monotonic() + SECONDS)
