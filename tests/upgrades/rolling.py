"""A deployment under load whose processes get other versions, one after the other."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import psutil
from rich.box import SIMPLE
from rich.table import Table

from rocketconnect_cli.api import Api, ApiError
from rocketconnect_cli.instance.topology import SERVICES
from rocketconnect_cli.states import State, state_name
from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.chaos.deployments.fleet import Fleet, answers
from tests.chaos.load import Load
from tests.upgrades.installed import Version

LIMIT_SECONDS = 180
"""Against hangs."""
EXPORTER = "exporter"
WELL = {State.RUNNING, State.IDLE, State.WAITING}
EXECUTORS = ("executor-1", "executor-2")


@dataclass(slots=True)
class Step:
    """What was seen when one process got another version.

    Attributes:
        process: Which one.
        before: Its version.
        after: The one that it got.
        in_flight: Lines fed and not yet there, by sink, just before.
        there: Lines that the sinks had just before, and had when records flowed again.
        seconds: Until every sink had, from every partition, a line that was fed after it was stopped.
        states: Of the connectors then.
    """

    process: str
    before: str
    after: str
    in_flight: dict[str, int]
    there: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    states: dict[str, str] = field(default_factory=dict)


class Rolling:
    """A fleet of processes that each run a version of their own.

    Args:
        folder: For everything that it keeps.
        version: What all of them begin with.
        replicas: Of each service with a store; one: in files, several: in a PostgreSQL.
    """

    def __init__(self, folder: Path, version: Version, replicas: int) -> None:
        self.fleet = Fleet(folder, replicas=replicas, executors=len(EXECUTORS), spark=False)
        self.steps: list[Step] = []
        self._versions: dict[str, Version] = {}
        self._metrics: dict[str, int] = {}
        gateway = self.fleet.processes["gateway"]
        self._exporter = free_ports.choose()
        told = {"ROCKETCONNECT_PORT": str(self._exporter), "ROCKETCONNECT_GATEWAY_ADDRESS": self.fleet.rest.removeprefix("http://")}
        self.fleet.processes[EXPORTER] = self.fleet._process(EXPORTER, gateway.command, {**gateway.environment, **told})
        self.names = [name for name in self.fleet.processes if kind_of(name) in SERVICES]
        self._in_files = replicas == 1
        for name in self.names:
            process = self.fleet.processes[name]
            # What breaks services on purpose is not for those of other versions.
            left_out = {"PYTHONPATH", "CHAOS_FAILPOINTS", *(("ROCKETCONNECT_STORE_URL",) if self._in_files else ())}
            environment = {key: value for key, value in process.environment.items() if key not in left_out}
            own = {"ROCKETCONNECT_REBALANCE_DELAY_SECONDS": "1"}
            if name != EXPORTER:
                self._metrics[name] = free_ports.choose()
                own["ROCKETCONNECT_METRICS_PORT"] = str(self._metrics[name])
            process.environment = {**environment, **own}
            self._set(name, version)

    def begin(self, load: Load) -> None:
        """Start everything, and return when records of the load arrive everywhere."""
        self.fleet.start()
        self.load = load
        with Api(self.fleet.rest) as api:
            load.start(api)
        self._goes_on(load.now())

    def roll(self, name: str, version: Version) -> None:
        """Stop a process in good order, and start it as another version; return when records arrive that were fed since."""
        process = self.fleet.processes[name]
        step = Step(name, self._versions[name].name, version.name, self._something_on_its_way())
        self.steps.append(step)
        there = self._there()
        tick, began = self.load.now(), time.monotonic()
        process.terminate()
        assert process.wait(began + LIMIT_SECONDS), name
        assert process.exit_code == 0, name
        self._set(name, version)
        process.start()
        self._until(lambda: self._is_ready(name) and self._answers())
        assert self.runs(name, version)
        self._goes_on(tick)
        step.seconds = time.monotonic() - began
        step.there = there, self._there()
        step.states = self._states()

    def runs(self, name: str, version: Version) -> bool:
        """Whether a process is of a version."""
        pid = self.fleet.processes[name].pid
        return pid is not None and psutil.Process(pid).cmdline()[0] == str(version.python)

    def both_work(self) -> None:
        """Return when both executors have tasks, and records went through them since."""
        self._until(lambda: min(self._tasks()) > 0)
        self._goes_on(self.load.now())

    def store_url(self, service: str) -> str:
        """Where a service keeps what it has."""
        if self._in_files:
            return f"sqlite:///{self.fleet.folder}/data/{service}.db"
        return self.fleet.processes[f"{service}-1"].environment["ROCKETCONNECT_STORE_URL"]

    def metrics(self) -> str:
        """What the exporter tells."""
        return httpx.get(f"http://127.0.0.1:{self._exporter}/metrics", timeout=30).text

    def settle(self) -> None:
        """Return when every task of every connector does what it shall."""
        self._until(lambda: len(states := self._states()) == len(self.load.connectors) and set(states.values()) <= WELL)

    def compare(self) -> None:
        """Wait until all that was fed has arrived, look at each line, and go on."""
        self.load.pause()
        self._until(lambda: not any(self.load.in_flight().values()))
        time.sleep(1)  # a late double would show
        verdict = self.load.check()
        assert verdict.clean, verdict
        self.load.go_on()

    def ledger(self) -> Table:
        """All that was done, and what was seen."""
        shown = Table("", "process", "from", "to", "on their way", "there before", "and after", "s", "states", box=SIMPLE)
        for number, step in enumerate(self.steps, 1):
            flight = " ".join(f"{sink} {count}" for sink, count in step.in_flight.items())
            states = " ".join(sorted(set(step.states.values())))
            there = map(str, step.there)
            shown.add_row(str(number), step.process, step.before, step.after, flight, *there, f"{step.seconds:.1f}", states)
        return shown

    def _set(self, name: str, version: Version) -> None:
        self._versions[name] = version
        command = [str(version.python), "-P", "-m", f"services.{kind_of(name)}"]
        self.fleet.processes[name].command = partial(tethered, command)

    def _is_ready(self, name: str) -> bool:
        if name == EXPORTER:
            return True
        try:
            return httpx.get(f"http://127.0.0.1:{self._metrics[name]}/readyz", timeout=2).is_success
        except httpx.HTTPError:
            return False

    def _answers(self) -> bool:
        return answers(self.fleet.rest, len(EXECUTORS))

    def _tasks(self) -> Sequence[int]:
        with Api(self.fleet.rest) as api:
            try:
                return [worker.get("tasks", 0) for worker in api.pages("/v1/workers", "workers") if worker.get("alive")]
            except ApiError:
                return [0]

    def _states(self) -> dict[str, str]:
        with Api(self.fleet.rest) as api:
            try:
                return {state["connector"]: state_name(state) for state in api.pages("/v1/states", "states")}
            except ApiError:
                return {}

    def _something_on_its_way(self) -> dict[str, int]:
        deadline = time.monotonic() + LIMIT_SECONDS
        while max((found := self.load.in_flight()).values()) <= 0:
            assert time.monotonic() < deadline, "nothing is fed"
            time.sleep(0.02)
        return found

    def _there(self) -> int:
        return sum(sink.count for sink in self.load._sinks.values())

    def _goes_on(self, tick: int) -> None:
        self._until(lambda: self.load.arrived_after(tick))

    def _until(self, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not true():
            assert time.monotonic() < deadline, self.load.in_flight()
            dead = [name for name in self.names if self.fleet.processes[name].pid is None]
            assert not dead, f"{dead} ended"
            time.sleep(0.1)


def kind_of(name: str) -> str:
    """The service of a process: "position" of "position-2"."""
    return name.rstrip("0123456789").rstrip("-")
