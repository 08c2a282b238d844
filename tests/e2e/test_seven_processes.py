"""The seven services as seven `rocketconnect serve` processes, each of them killed in the middle of a transfer."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from rocketconnect_cli.api import Api, ApiError, Exit
from rocketconnect_cli.instance import topology
from rocketconnect_cli.states import wait_for
from tests.ended import ended
from tests.processes import Fleet, wait_until

pytestmark = pytest.mark.e2e
PORTION = 30_000
RATE = 3_000


@pytest.fixture
def fleet(tmp_path: Path, rocketmq: Any) -> Iterator[Fleet]:
    with Fleet(tmp_path, rocketmq.name_server).running() as made:
        yield made


@contextmanager
def ready(fleet: Fleet) -> Iterator[Api]:
    with Api(fleet.rest) as api:
        wait_until(lambda: answers(api) and bool(list(api.pages("/v1/plugins", "plugins"))), 180)
        yield api


def answers(api: Api) -> bool:
    try:
        return any(worker.get("alive") for worker in api.pages("/v1/workers", "workers"))
    except ApiError:
        return False


def runs(api: Api, name: str) -> bool:
    try:
        wait_for(api, name, ("RUNNING", "IDLE"), 180)
    except ApiError as error:
        # On a busy machine a service may not answer in time.
        if error.exit_code is not Exit.UNAVAILABLE:
            raise
        return False
    return True


def lives(process: psutil.Process) -> bool:
    """Whether it does anything: one that has ended stays as a zombie until its new parent looks at it."""
    return not ended(process)


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.slow
def test_every_service_killed_in_turn_loses_and_doubles_nothing(fleet: Fleet, tmp_path: Path) -> None:
    source, through_spark, native = tmp_path / "in.txt", tmp_path / "spark.txt", tmp_path / "native.txt"
    wanted: list[str] = []

    def write_more() -> None:
        lines = [f"{number:08d} some text of a line" for number in range(len(wanted), len(wanted) + PORTION)]
        with source.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        wanted.extend(lines)

    write_more()
    children = set[psutil.Process]()
    with ready(fleet) as api:
        sinks = {"spark": ("file_sink", through_spark), "native": ("file_lines", native)}
        for name, (plugin, target) in sinks.items():
            config = {"connector.class": plugin, "engine": name, "topics": "seven", "filename": str(target)}
            api.request("POST", "/v1/connectors", body={"name": name, "config": config})
        config = {"connector.class": "file_source", "topic": "seven", "filename": str(source), "max.rate.records": str(RATE)}
        api.request("POST", "/v1/connectors", body={"name": "source", "config": config})
        for name in ("spark", "native", "source"):
            wait_until(lambda name=name: runs(api, name), 180)  # type: ignore[misc]
    killed = []
    for kind in topology.SERVICES:
        begin = len(lines_of(native))
        if len(wanted) - begin < PORTION:
            # However slow the machine is: each is killed in the middle of a transfer.
            write_more()
        children.update(psutil.Process(fleet.processes[kind].pid).children(recursive=True))
        fleet.kill(kind)
        time.sleep(0.5)
        fleet.start(kind)
        killed.append(kind)
        wait_until(lambda begin=begin: len(lines_of(native)) > begin, 180)  # type: ignore[misc]
    assert set(killed) == set(topology.SERVICES)
    wait_until(lambda: all(len(lines_of(target)) >= len(wanted) for target in (native, through_spark)), 300)
    time.sleep(2)  # a late double would show
    for target in (native, through_spark):
        got = lines_of(target)
        assert Counter(got) == Counter(wanted)
        assert got == wanted
    with ready(fleet) as api:
        assert {state["connector"] for state in api.pages("/v1/states", "states")} == {"spark", "native", "source"}
    codes = fleet.stop()
    assert codes == dict.fromkeys(topology.SERVICES, 0)
    assert children
    wait_until(lambda: not any(map(lives, children)), 180)
