"""The seven services as seven `rocketconnect serve` processes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rocketconnect_cli.embedded.spark import spark_folder
from rocketconnect_cli.instance import topology
from rocketconnect_kit.tethered import tethered
from tests import free_ports

COMMAND = str(Path(sys.executable).with_name("rocketconnect"))


class Fleet:
    """Seven processes, as seven containers would run them.

    Args:
        folder: For their data and logs.
        name_server: Of RocketMQ.
        told: Further settings of all, by variable.
        told_each: Further settings of some, by their kind.
    """

    def __init__(
        self,
        folder: Path,
        name_server: str,
        told: Mapping[str, str] | None = None,
        told_each: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        stores = {kind: free_ports.choose() for kind in topology.STORES}
        chosen = topology.Ports(free_ports.choose(), free_ports.choose(), stores, (free_ports.choose(),))
        self.services = {
            service.kind: service
            for service in topology.services(
                chosen, data=folder / "data", name_server=name_server, spark_classes=spark_folder(), extra=told
            )
        }
        self._told = told_each or {}
        self.folder = folder
        self.rest = f"http://127.0.0.1:{chosen.rest}"
        self.metrics = f"http://127.0.0.1:{chosen.metrics}/metrics"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        (folder / "data").mkdir()

    def start(self, kind: str) -> None:
        service = self.services[kind]
        with (self.folder / f"{kind}.log").open("ab") as log:
            self.processes[kind] = subprocess.Popen(
                tethered([COMMAND, "serve", kind]),
                env={**os.environ, **service.environment, **self._told.get(kind, {})},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, kind: str) -> None:
        self.processes[kind].kill()
        self.processes[kind].wait()

    def stop(self) -> dict[str, int]:
        """Drains all, tasks first; their exit codes."""
        for kind in sorted(self.processes, key=lambda kind: topology.STAGES[kind]):
            self.processes[kind].terminate()
            self.processes[kind].wait(60)
        return {kind: process.returncode for kind, process in self.processes.items()}


def wait_until(true: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "did not come true in time"
        time.sleep(0.1)
