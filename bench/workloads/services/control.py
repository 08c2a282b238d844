"""The control plane with many connectors: its real services, with 100 workers on paper that hold two tasks of each."""

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench.measuring.costs import Meter
from bench.measuring.instance import folder
from bench.measuring.openloop import percentile
from bench.measuring.paper_workers import PLUGIN, TASKS_EACH
from bench.workload import BenchFailed, Options, Sample, Workload
from rocketconnect_cli.api import Api, ApiError, connector_path
from rocketconnect_cli.embedded import ports
from rocketconnect_cli.instance import topology
from rocketconnect_cli.states import State, state_name
from rocketconnect_kit.tethered import tethered

CONNECTORS = (1_000,)
"""`--rows` adds a last one."""
WORKERS = 100
CALLERS = 8
PAGE = 100
QUERIES = 50
IDLE_SECONDS = 2.0
LIMIT_SECONDS = 600.0
POLL_SECONDS = 0.5
_SHOWN = 4_000


@dataclass(frozen=True, slots=True)
class _Plane:
    url: str
    roots: list[int]


def run(options: Options) -> Iterator[Sample]:
    """Ever more connectors on the same services; at each number, what is asked for is asked for again and again."""
    with _plane() as plane, Api(plane.url) as api:
        before = 0
        for connectors in (*CONNECTORS, *([options.rows] if options.rows else ())):
            yield _grow(plane, api, before, connectors)
            for _ in range(options.repeats):
                meter = Meter(plane.roots)
                time.sleep(IDLE_SECONDS)
                costs = meter.costs()
                cores = {f"{cost.role}_cores": cost.cpu_seconds / IDLE_SECONDS for cost in costs}
                memory = {f"{cost.role}_peak_mib": cost.peak_mib for cost in costs}
                yield Sample("services at rest", {**cores, **memory}, costs, connectors)
                yield Sample("answers over REST", _answers(plane, connectors), size=connectors)
            before = connectors


@contextmanager
def _plane() -> Iterator[_Plane]:
    with folder() as place, ExitStack() as stack:
        stores = {kind: ports.choose() for kind in topology.STORES}
        chosen = topology.Ports(ports.choose(), 0, stores, ())
        services = topology.services(chosen, data=place, name_server="", log_level="ERROR")
        roots = [
            stack.enter_context(_running(service.command, place / f"{service.name}.log", service.environment))
            for service in services
            if service.kind != "exporter"
        ]
        workers = [f"--{kind}-address=127.0.0.1:{stores[kind]}" for kind in ("config", "state", "cluster")]
        command = [sys.executable, "-m", "bench.measuring.paper_workers", f"--count={WORKERS}", *workers]
        url = f"http://127.0.0.1:{chosen.rest}"
        _until(lambda: all(not ports.is_free(port) for port in stores.values()), "the services do not listen")
        stack.enter_context(_running(command, place / "workers.log", {}))
        _until(lambda: _answers_at(url), "the gateway does not answer")
        with Api(url) as api:
            _until(lambda: sum(1 for _ in api.pages("/v1/workers", "workers")) == WORKERS, "the workers did not join")
        yield _Plane(url, roots)


@contextmanager
def _running(command: list[str], log: Path, environment: Mapping[str, str]) -> Iterator[int]:
    with (
        log.open("wb") as output,
        subprocess.Popen(tethered(command), stdout=output, stderr=output, env={**os.environ, **environment}) as process,
    ):
        try:
            yield process.pid
        finally:
            if process.poll() is not None:
                sys.stderr.write(f"{' '.join(command)} has ended by itself:\n{log.read_text(errors='replace')[-_SHOWN:]}\n")
            process.kill()


def _grow(plane: _Plane, api: Api, before: int, connectors: int) -> Sample:
    meter = Meter(plane.roots)

    def create(numbers: range) -> None:
        with Api(plane.url) as own:
            for number in numbers:
                name, config = _name(number), {"connector.class": PLUGIN, "max.tasks": str(TASKS_EACH)}
                own.request("POST", "/v1/connectors", body={"name": name, "config": config})

    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(create, [range(before + caller, connectors, CALLERS) for caller in range(CALLERS)]))
    created = meter.seconds
    _until(lambda: _idle(api) == connectors, f"the tasks of {connectors} connectors do not run")
    figures = {"created_per_s": (connectors - before) / created, "all_running_s": meter.seconds}
    return Sample("connectors created, and all tasks running", figures, meter.costs(), connectors)


def _idle(api: Api) -> int:
    states = api.pages("/v1/states", "states")
    return sum(1 for each in states if state_name(each) == State.IDLE and len(each["tasks"]) == TASKS_EACH)


def _answers(plane: _Plane, connectors: int) -> dict[str, float]:
    pick = random.Random(connectors)

    def any_of_them() -> str:
        return connector_path(_name(pick.randrange(connectors)))

    paths: dict[str, Callable[[], str]] = {
        "page": lambda: f"/v1/connectors?pageSize={PAGE}",
        "page_of_states": lambda: f"/v1/states?pageSize={PAGE}",
        "config": any_of_them,
        "state": lambda: f"{any_of_them()}/state",
    }
    found: dict[str, float] = {}
    with httpx.Client(base_url=plane.url, timeout=30.0) as client:
        for what, path in paths.items():
            took = []
            for _ in range(QUERIES):
                begin = time.perf_counter()
                client.get(path()).raise_for_status()
                took.append(time.perf_counter() - begin)
            found |= {f"{what}_ms": statistics.median(took) * 1e3, f"{what}_p99_ms": percentile(took, 0.99) * 1e3}
    return found


def _name(number: int) -> str:
    return f"paper-{number:05d}"


def _answers_at(url: str) -> bool:
    try:
        return httpx.get(f"{url}/v1/connectors", timeout=1.0).is_success
    except httpx.TransportError:
        return False


def _until(done: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        try:
            if done():
                return
        except ApiError as error:
            otherwise = f"{otherwise}: {error}"
        if time.monotonic() > deadline:
            raise BenchFailed(otherwise)
        time.sleep(POLL_SECONDS)


WORKLOAD = Workload(
    "The control plane's services, 100 workers on paper, 2 tasks a connector",
    run,
    (
        "created_per_s",
        "all_running_s",
        "page_ms",
        "page_of_states_ms",
        "config_ms",
        "state_ms",
        "state_p99_ms",
        *(f"{service}_{figure}" for figure in ("peak_mib", "cores") for service in topology.STORES),
    ),
    ("page_ms", "state_ms", "state_peak_mib", "cluster_peak_mib"),
    "connectors",
)
