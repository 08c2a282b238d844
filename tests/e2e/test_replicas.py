"""Two replicas of each service with a store, over one PostgreSQL: killed, stopped and restarted in turn under load."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.api import Api, ApiError, Exit
from rocketconnect_cli.instance.topology import STORES
from tests.chaos.deployments.fleet import Fleet, answers
from tests.chaos.load import Load, pipelines

pytestmark = [pytest.mark.e2e, pytest.mark.rocketmq, pytest.mark.postgres, pytest.mark.slow]
REPLICAS = [f"{kind}-{number}" for kind in STORES for number in (1, 2)]
EXECUTORS = ["executor-1", "executor-2"]
STOPPED_SECONDS = 3.5
"""Longer than the lease of a leader, shorter than that of a worker."""
LIMIT_SECONDS = 300
"""Against hangs."""


class System:
    """A fleet under load, and people who work with it."""

    def __init__(self, fleet: Fleet, load: Load) -> None:
        self.fleet = fleet
        self.load = load

    def kill(self, name: str) -> None:
        self.fleet.processes[name].kill()

    def start(self, name: str) -> None:
        self.fleet.processes[name].start()

    def restart(self, name: str) -> None:
        """In good order."""
        process = self.fleet.processes[name]
        process.terminate()
        assert process.wait(time.monotonic() + LIMIT_SECONDS)
        assert process.exit_code == 0, name
        process.start()

    @contextmanager
    def stopped(self, name: str) -> Iterator[None]:
        """SIGSTOP for longer than a leader's lease, and for as long as the block runs."""
        pid = self.fleet.processes[name].pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        try:
            yield
            time.sleep(max(0.0, STOPPED_SECONDS - (time.monotonic() - began)))
        finally:
            os.kill(pid, signal.SIGCONT)

    def goes_on(self) -> None:
        """Return when each sink has from everywhere what was fed from now on."""
        tick = self.load.now()
        self.until(lambda: self.load.arrived_after(tick))

    def until(self, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not true():
            assert time.monotonic() < deadline, self.load.in_flight()
            time.sleep(0.05)

    def everything_answers(self) -> bool:
        return answers(self.fleet.rest, len(EXECUTORS))


class People(threading.Thread):
    """Create a connector, read it, list all, delete it, again and again; what a service that changes hands refuses is tried again.

    Attributes:
        done: How often all of it was done.
        error: What went wrong for good.
    """

    def __init__(self, rest: str, file: Path) -> None:
        super().__init__(name="people", daemon=True)
        file.touch()
        self._config = {"connector.class": "file_source", "topic": "idle", "filename": str(file)}
        self.done = 0
        self.error: Exception | None = None
        self._rest = rest
        self._ended = threading.Event()

    def run(self) -> None:
        try:
            with Api(self._rest) as api:
                while not self._ended.is_set():
                    name = f"idle-{self.done}"
                    body = {"name": name, "config": self._config, "requestId": name, "wantedState": "WANTED_STATE_STOPPED"}
                    _patiently(api, "POST", "/v1/connectors", body)
                    assert _patiently(api, "GET", f"/v1/connectors/{name}")["connector"]["name"] == name
                    assert name in {one["name"] for one in _patiently(api, "GET", "/v1/connectors")["connectors"]}
                    _delete(api, name)
                    self.done += 1
        except Exception as error:
            self.error = error

    def end(self) -> None:
        self._ended.set()
        self.join(LIMIT_SECONDS)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error


def _is_away(error: BaseException) -> bool:
    return isinstance(error, ApiError) and error.exit_code in (Exit.UNAVAILABLE, Exit.TIMEOUT)


def _patiently(api: Api, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    until = time.monotonic() + 30
    while True:
        try:
            return api.request(method, path, body=body)
        except ApiError as error:
            if not _is_away(error) or time.monotonic() > until:
                raise
        time.sleep(0.3)


def _delete(api: Api, name: str) -> None:
    try:
        _patiently(api, "DELETE", f"/v1/connectors/{name}")
    except ApiError as error:
        # Its answer was lost, and it was tried again.
        if error.exit_code is not Exit.NOT_FOUND:
            raise


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    fleet = Fleet(tmp_path, replicas=2, executors=len(EXECUTORS), spark=False)
    try:
        fleet.start()
        with Api(fleet.rest) as api:
            load = Load(tmp_path, tmp_path, pipelines(tmp_path, ("native",)), 900)
            load.start(api)
            made = System(fleet, load)
            made.goes_on()
            yield made
            load.pause()
    finally:
        fleet.close()


def owners(api: Api) -> dict[str, tuple[str, int, int]]:
    """Who runs each task of the pipelines, under which epoch, and how often it was started again."""
    return {
        f"{state['connector']}/{task.get('task', 0)}": (task["workerId"], int(task["epoch"]), int(task.get("restarts", 0)))
        for state in _patiently(api, "GET", "/v1/states")["states"]
        if not state["connector"].startswith("idle-")
        for task in state.get("tasks", ())
    }


@pytest.mark.slow
def test_each_replica_killed_and_stopped_in_turn_stops_no_task_and_a_restart_of_everything_loses_nothing(
    system: System, tmp_path: Path
) -> None:
    people = People(system.fleet.rest, tmp_path / "idle.txt")
    people.start()
    with Api(system.fleet.rest) as api:
        before = owners(api)
        assert len(before) == 5
        for name in REPLICAS:
            system.kill(name)
            system.goes_on()
            system.start(name)
        # In each service one of the two leads, so one of each pair was hit while it did.
        system.until(system.everything_answers)
        for name in REPLICAS:
            with system.stopped(name):
                system.goes_on()
        for name in REPLICAS:
            system.restart(name)
            system.goes_on()
        assert owners(api) == before
        for name in (*EXECUTORS, "gateway"):
            system.restart(name)
            system.until(system.everything_answers)
            system.goes_on()
        people.end()
        assert people.done >= 3
    system.load.pause()
    system.until(lambda: not any(system.load.in_flight().values()))
    time.sleep(1)  # a late double would show
    verdict = system.load.check()
    assert verdict.clean, verdict
