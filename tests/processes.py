"""The seven services as seven `rocketconnect serve` processes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from rocketconnect_cli.embedded.spark import spark_folder
from rocketconnect_cli.instance import topology
from rocketconnect_kit.tethered import tethered
from tests import free_ports, stores

COMMAND = str(Path(sys.executable).with_name("rocketconnect"))


class Fleet:
    """Seven processes, as seven containers would run them.

    Args:
        folder: For their data and logs.
        name_server: Of RocketMQ.
        told: Further settings of all, by variable.
        told_each: Further settings of some, by their names.
        executors: How many there are: "executor", "executor-2" and so on. All others are named by their kind.
    """

    def __init__(
        self,
        folder: Path,
        name_server: str,
        told: Mapping[str, str] | None = None,
        told_each: Mapping[str, Mapping[str, str]] | None = None,
        executors: int = 1,
    ) -> None:
        ports = {kind: free_ports.choose() for kind in topology.STORES}
        of_executors = tuple(free_ports.choose() for _ in range(executors))
        chosen = topology.Ports(free_ports.choose(), free_ports.choose(), ports, of_executors)
        self.services = {
            "executor" if service.name == "executor-1" else service.name: service
            for service in topology.services(
                chosen, data=folder / "data", name_server=name_server, spark_classes=spark_folder(), extra=told
            )
        }
        self._told = told_each or {}
        self.folder = folder
        self.rest = f"http://127.0.0.1:{chosen.rest}"
        self.metrics = f"http://127.0.0.1:{chosen.metrics}/metrics"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        stores.prepare(folder / "data")

    def start(self, name: str) -> None:
        service = self.services[name]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                tethered([COMMAND, "serve", service.kind]),
                env={**os.environ, **service.environment, **self._told.get(name, {})},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @contextmanager
    def running(self) -> Iterator[Self]:
        """All of them, until the end of the block."""
        try:
            for name in self.services:
                self.start(name)
            yield self
        finally:
            for name in self.processes:
                self.kill(name)

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def stop(self) -> dict[str, int]:
        """Drains all, tasks first; their exit codes."""
        for name in sorted(self.processes, key=lambda name: topology.STAGES[self.services[name].kind]):
            self.processes[name].terminate()
            self.processes[name].wait(60)
        return {name: process.returncode for name, process in self.processes.items()}


def wait_until(true: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.1)
