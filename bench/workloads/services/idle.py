"""Many connectors on one real executor, each with nothing to do: what they cost."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

from bench.measuring.costs import Meter, held
from bench.measuring.instance import LIMIT_SECONDS, Instance, instance, sink_config, source_config
from bench.workload import BenchFailed, Options, Sample, Workload
from rocketconnect_cli.api import Api
from rocketconnect_cli.states import State, state_name

CONNECTORS = (10, 100)
"""`--rows` adds a last one, where tasks share processes."""
HOSTS = {"as by default": 0, "each in a process of its own": 10_000}
CALLERS = 4
IDLE_SECONDS = 10.0
POLL_SECONDS = 0.5
_TOPIC = "idle"


def run(options: Options) -> Iterator[Sample]:
    """Ever more sources of a file each, that have moved its one line."""
    for case, hosts in HOSTS.items():
        environment = {"ROCKETCONNECT_NATIVE_HOSTS": str(hosts), "ROCKETCONNECT_SPARK_WARM": "false"}
        with mock.patch.dict(os.environ, environment), instance() as running:
            running.create_running("lines", sink_config("native", running.folder / "out.txt", _TOPIC))
            before = 0
            for connectors in (*CONNECTORS, *([options.rows] if options.rows and not hosts else ())):
                created = _grow(running, before, connectors)
                for _ in range(options.repeats):
                    yield Sample(case, {**created, **_rest(running, connectors)}, size=connectors)
                before = connectors


def _grow(running: Instance, before: int, connectors: int) -> dict[str, float]:
    begin = time.monotonic()

    def create(numbers: range) -> None:
        with Api(running.api.url) as own:
            for number in numbers:
                file = running.folder / f"in-{number}.txt"
                file.write_text(_line(number))
                body = {"name": f"idle-{number:05d}", "config": source_config(file, _TOPIC)}
                own.request("POST", "/v1/connectors", body=body)

    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(create, [range(before + caller, connectors, CALLERS) for caller in range(CALLERS)]))
    created = time.monotonic() - begin
    deadline = begin + LIMIT_SECONDS * 4
    while _idle(running) < connectors + 1 or not _is_whole(running, connectors):
        if time.monotonic() > deadline:
            msg = f"{connectors} connectors do not come to rest: {running.states()[:2000]}"
            raise BenchFailed(msg)
        time.sleep(POLL_SECONDS)
    return {"created_per_s": (connectors - before) / created, "all_idle_s": time.monotonic() - begin}


def _idle(running: Instance) -> int:
    return sum(state_name(state) == State.IDLE for state in running.api.pages("/v1/states", "states"))


def _is_whole(running: Instance, connectors: int) -> bool:
    """Whether the line of each source is there; raises when one is there twice or was changed."""
    lines = Counter((running.folder / "out.txt").read_text().splitlines(keepends=True))
    if any(count > 1 for count in lines.values()) or lines.keys() - set(map(_line, range(connectors))):
        msg = f"lines are doubled or changed: {[line for line, count in lines.items() if count > 1][:10]}"
        raise BenchFailed(msg)
    return len(lines) == connectors


def _rest(running: Instance, connectors: int) -> dict[str, float]:
    running.settle(cores=2.0)
    meter = Meter([running.root])
    time.sleep(IDLE_SECONDS)
    cores, costs, own = meter.cores(), meter.costs(), held([running.root])["executor host"].own_mib
    return {
        "host_processes": sum(cost.role == "executor host" for cost in costs),
        "hosts_mib": own,
        "kib_a_connector": own * 1024 / connectors,
        "hosts_cores": cores["executor host"],
        "executor_cores": cores["executor"],
        "services_cores": sum(cores[service] for service in ("config", "position", "state", "cluster", "gateway", "exporter")),
        "broker_cores": cores["broker"],
    }


def _line(number: int) -> str:
    return f"the line of file {number}\n"


WORKLOAD = Workload(
    "Connectors with nothing to do on one real executor; memory is what is not shared (PSS)",
    run,
    (
        "created_per_s",
        "all_idle_s",
        "host_processes",
        "hosts_mib",
        "kib_a_connector",
        "hosts_cores",
        "executor_cores",
        "services_cores",
        "broker_cores",
    ),
    ("hosts_mib", "hosts_cores"),
    "connectors",
    usual=False,
)
