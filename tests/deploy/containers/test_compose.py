"""The images, built and run: what deploy/compose/compose.yaml says, by podman."""

import time
from functools import partial
from pathlib import Path

import pytest

from rocketconnect_cli.instance.topology import SERVICES
from tests.deploy.containers.compose import Compose
from tests.deploy.containers.engine import Engine
from tests.deploy.containers.network import Network
from tests.deploy.containers.pipeline import Pipeline
from tests.deploy.dockerfile import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

FILE = ROOT / "deploy/compose/compose.yaml"
ROWS = 300_000
SECONDS = 300


@pytest.fixture(scope="module")
def compose(engine: Engine, images: dict[str, str], rocketmq: dict[str, str], network: Network) -> Compose:
    """All of the file, running."""
    engine.remove_all()
    made = Compose(engine, [FILE], network, {**images, **rocketmq})
    made.up(SECONDS)
    return made


def test_images_run_as_an_ordinary_user_on_a_root_that_they_can_not_write_to(engine: Engine, compose: Compose) -> None:
    for service in SERVICES:
        assert engine.podman("exec", service, "id", "-u").strip() == "10001"
        said = engine.podman("exec", service, "sh", "-c", "touch /opt/x 2>/dev/null || echo refused")
        assert said.strip() == "refused"
        assert compose.services[service]["read_only"]


def test_seven_containers_move_every_row_once_though_some_are_killed(engine: Engine, compose: Compose, tmp_path: Path) -> None:
    pipeline = Pipeline(engine, partial(engine.podman, "exec", "gateway", "rocketconnect"), "executor", "/files", ROWS)
    pipeline.start(tmp_path)
    deadline = time.monotonic() + SECONDS
    for victim in ("executor", "position", "config"):
        assert pipeline.is_under_way(), "it was over before"
        compose.kill(victim)
        compose.start(victim)
        compose.wait_well(victim, deadline)
    pipeline.assert_each_row_is_there_once(tmp_path, SECONDS)
    assert {name: compose.stop(name) for name in reversed(SERVICES)} == dict.fromkeys(SERVICES, 0)
