"""Failover: how long records stop at a sink when the executor that owns a task is killed, or is stopped and only its lease tells.

Two executors. Lines are appended to the source's file all the time; a fault hits the executor that has the source, the native sink
or the Spark sink; the clock runs until a line that was appended after the fault stands in the sink's file. `rocketconnect up`,
which would start a killed executor again at once, is stopped meanwhile.
"""

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from bench.measuring.instance import ENGINES, Instance, instance, sink_config, source_config
from bench.workload import BenchFailed, Options, Sample, Workload
from rocketconnect_cli.states import DONE, get_state, state_name

FAULTS = {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP}
VICTIMS = {"source": "native", "native": "native", "spark": "spark"}
"""Connectors whose owner is hit, and the sink at which records are waited for."""
SHOWN = ("given_s", "runs_s", "flows_s")
LIMIT_SECONDS = 120.0
LINE_SECONDS = 0.05
POLL_SECONDS = 0.02


def run(options: Options) -> Iterator[Sample]:
    """The seconds of each round, by who was hit and how.

    They count from the fault until another executor holds the task (`given_s`), until it runs there (`runs_s`), and until records
    flow (`flows_s`).
    """
    with instance("--executors", "2") as it:
        source, sinks = it.folder / "in.txt", {name: it.folder / f"{name}.txt" for name in ENGINES}
        source.touch()
        for engine, target in sinks.items():
            it.create_running(engine, sink_config(engine, target, "bench"))
        it.create_running("source", source_config(source, "bench"))
        with _fed(source) as fed:
            for _ in range(options.repeats):
                for (victim, sink), (fault, sent) in itertools.product(VICTIMS.items(), FAULTS.items()):
                    _wait_until_whole(it, fed, list(sinks.values()))
                    yield Sample(f"{victim} {fault}", _round(it, victim, sent, fed, sinks[sink]))
            _wait_until_whole(it, fed, list(sinks.values()))
        count = fed()
        for target in sinks.values():
            _check(target, count)


def _round(it: Instance, victim: str, sent: signal.Signals, fed: Callable[[], int], sink: Path) -> dict[str, float]:
    before = _task(it, victim)
    executor = _executor(it, str(before["workerId"]))
    supervisor = executor.parent()
    hit = [executor, *executor.children(recursive=True)]
    if supervisor is None:
        msg = "the executor has no parent"
        raise BenchFailed(msg)
    supervisor.suspend()
    try:
        begin = time.monotonic()
        last = fed() + 1
        for process in hit[:1] if sent is signal.SIGKILL else hit:
            process.send_signal(sent)
        took: dict[str, float] = {}
        while "flows_s" not in took:
            now = time.monotonic() - begin
            task = _task(it, victim)
            if task.get("workerId") not in (before["workerId"], "", None):
                took.setdefault("given_s", now)
                if state_name(task) in DONE:
                    took.setdefault("runs_s", now)
            if _last_line(sink) > last:
                took["flows_s"] = now
            if now > LIMIT_SECONDS:
                msg = f"{victim}: nothing flowed for {LIMIT_SECONDS:g} s: {it.states()}"
                raise BenchFailed(msg)
            time.sleep(POLL_SECONDS)
    finally:
        for process in hit:
            if process.is_running():
                process.resume()
        supervisor.resume()
    return {part: took.get(part, took["flows_s"]) for part in SHOWN}


def _task(it: Instance, connector: str) -> dict[str, object]:
    return dict(get_state(it.api, connector)["tasks"][0])


def _executor(it: Instance, worker: str) -> psutil.Process:
    address = next(each["address"] for each in it.api.pages("/v1/workers", "workers") if each["workerId"] == worker)
    port = int(address.rpartition(":")[2])
    for process in psutil.Process(it.root).children(recursive=True):
        if any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in process.net_connections("tcp")):
            return process
    msg = f"nobody listens at {address}"
    raise BenchFailed(msg)


@contextmanager
def _fed(source: Path) -> Iterator[Callable[[], int]]:
    """Lines appended all the time, numbered from 1; gives how many there are."""
    count, over = 0, threading.Event()

    def feed() -> None:
        nonlocal count
        with source.open("ab", buffering=0) as file:
            while not over.wait(LINE_SECONDS):
                file.write(b"%09d\n" % (count + 1))
                count += 1

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    try:
        yield lambda: count
    finally:
        over.set()
        thread.join()


def _wait_until_whole(it: Instance, fed: Callable[[], int], sinks: Collection[Path]) -> None:
    """Both executors live, each with a Spark driver, and the sinks have what was fed."""
    deadline = time.monotonic() + LIMIT_SECONDS
    wanted = fed()
    while not (_lives(it) and all(_last_line(sink) >= wanted for sink in sinks)):
        if time.monotonic() > deadline:
            msg = "the instance did not become whole again"
            raise BenchFailed(msg)
        time.sleep(0.5)
    # A driver that has just come up still compiles.
    it.settle(1.0)


def _lives(it: Instance) -> bool:
    alive = [each for each in it.api.pages("/v1/workers", "workers") if each.get("alive")]
    return len(alive) == 2 and all(
        any(child.name() == "java" for child in _executor(it, each["workerId"]).children(recursive=True)) for each in alive
    )


def _last_line(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 10))
        text = file.read().strip()
    return int(text) if text.isdigit() and len(text) == 9 else 0


def _check(path: Path, count: int) -> None:
    there = [int(line) for line in path.read_bytes().split()]
    if there != list(range(1, len(there) + 1)):
        msg = f"{path.name}: {len(there)} lines of {count} are not those that were fed, once and in order"
        raise BenchFailed(msg)


WORKLOAD = Workload("An executor is killed or stopped, until records flow again", run, SHOWN, SHOWN[-1:], usual=False)
