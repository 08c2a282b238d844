"""The images, built and run: what deploy/compose/compose.yaml says, by podman."""

import json
import time
from pathlib import Path

import pytest

from rocketconnect_cli.instance.topology import SERVICES
from tests.deploy.containers.compose import Compose
from tests.deploy.containers.engine import Engine
from tests.deploy.dockerfile import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

FILE = ROOT / "deploy/compose/compose.yaml"
ROWS = 300_000
SECONDS = 300


@pytest.fixture
def compose(engine: Engine, images: dict[str, str], rocketmq: str, network: Path) -> Compose:
    """All of the file, running."""
    engine.remove_all()
    made = Compose(engine, FILE, network, {**images, **dict.fromkeys(("namesrv", "broker", "broker-store"), rocketmq)})
    made.up(SECONDS)
    return made


def command(engine: Engine, *words: str) -> str:
    """What a user says with `docker compose exec gateway rocketconnect`."""
    return engine.podman("exec", "gateway", "rocketconnect", *words)


def moved(engine: Engine, connector: str) -> int:
    """How many records the tasks of a connector have moved since they were started last."""
    said = json.loads(command(engine, "connector", "status", connector, "-o", "json"))
    return sum(int(task.get("metrics", {}).get("recordsOut", 0)) for task in said["tasks"])


def test_seven_containers_move_every_row_once_though_some_are_killed(engine: Engine, compose: Compose, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("id,name\n" + "".join(f"{number},name {number}\n" for number in range(ROWS)))
    engine.podman("cp", str(rows), "executor:/files/rows.csv")
    source = ("connector.class=file_source", "topic=rows", "filename=/files/rows.csv", "format=csv", "columns=id:int64,name")
    sink = ("connector.class=file_sink", "topics=rows", "filename=/files/copy.jsonl", "format=jsonlines")
    for name, settings in (("rows-in", source), ("rows-out", sink)):
        command(engine, "connector", "create", name, *(word for setting in settings for word in ("--set", setting)))
    deadline = time.monotonic() + SECONDS
    for victim in ("executor", "position", "config"):
        before = moved(engine, "rows-out")
        compose.kill(victim)
        compose.start(victim)
        compose.wait_well(victim, deadline)
        assert before < ROWS, "it was over before"
    command(engine, "connector", "wait", "rows-in", "rows-out", "--state", "idle", "--timeout", f"{SECONDS}s")
    engine.podman("cp", "executor:/files/copy.jsonl", str(tmp_path / "copy.jsonl"))
    copied = sorted(json.loads(line)["id"] for line in (tmp_path / "copy.jsonl").read_text().splitlines())
    assert copied == list(range(ROWS))
    assert {name: compose.stop(name) for name in reversed(SERVICES)} == dict.fromkeys(SERVICES, 0)


def test_images_run_as_an_ordinary_user_on_a_root_that_they_can_not_write_to(engine: Engine, compose: Compose) -> None:
    for service in SERVICES:
        assert engine.podman("exec", service, "id", "-u").strip() == "10001"
        said = engine.podman("exec", service, "sh", "-c", "touch /opt/x 2>/dev/null || echo refused")
        assert said.strip() == "refused"
        assert compose.services[service]["read_only"]
