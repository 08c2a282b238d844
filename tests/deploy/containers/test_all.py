"""The image of everything, run as docs/deploy.md says."""

import time
from functools import partial
from pathlib import Path

import pytest

from tests.deploy.containers.engine import Engine
from tests.deploy.containers.network import Network
from tests.deploy.containers.pipeline import Pipeline

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

ROWS = 300_000
SECONDS = 300
OPTIONS = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--shm-size", "1g", "--volume", "everything:/data"]


@pytest.fixture
def alone(network: Network) -> Path:
    """The network namespace of the only container."""
    return network.join("everything", ["everything"])


def wait_well(engine: Engine) -> None:
    deadline = time.monotonic() + SECONDS
    while not engine.is_well("everything"):
        assert engine.state("everything")[0] == "running", engine.logs("everything")
        assert time.monotonic() < deadline, engine.logs("everything")
        time.sleep(1)


def test_one_container_moves_every_row_once_though_it_is_killed(engine: Engine, whole: str, alone: Path, tmp_path: Path) -> None:
    engine.remove_all()
    engine.start("everything", whole, alone, OPTIONS, ["--insecure"])
    wait_well(engine)
    pipeline = Pipeline(engine, partial(engine.podman, "exec", "everything", "rocketconnect"), "everything", "/data", ROWS)
    pipeline.start(tmp_path)
    assert pipeline.is_under_way(), "it was over before"
    engine.podman("kill", "everything")
    engine.podman("rm", "--force", "everything")
    engine.start("everything", whole, alone, OPTIONS, ["--insecure"])
    wait_well(engine)
    pipeline.assert_each_row_is_there_once(tmp_path, SECONDS)
    assert engine.podman("exec", "everything", "id", "-u").strip() == "10001"
    engine.podman("stop", "--time", "90", "everything", seconds=120)
    assert engine.state("everything")[1] == 0, engine.logs("everything")


def test_one_container_that_others_could_reach_says_that_somebody_must_be_asked(engine: Engine, whole: str, alone: Path) -> None:
    engine.remove_all()
    engine.start("everything", whole, alone, OPTIONS)
    assert engine.ended("everything") == 1
    assert "give --tokens-file" in engine.logs("everything")
