"""The other deployment: `rocketconnect up` on one data directory, started again on it whenever it is gone."""

import os
import sys
import time
from pathlib import Path

from rocketconnect_cli.instance.process import Process
from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.chaos.deployments.fleet import INJECTED, START_SECONDS, NotReady, answers
from tests.chaos.deployments.processes import leave_out_running


class Instance:
    """Everything below one command. For the main thread: all of it dies with the thread that starts it.

    Args:
        folder: For everything that it keeps.
        data: Its data directory.
        executors: How many.
    """

    form = "up"

    def __init__(self, folder: Path, data: Path, *, executors: int = 2) -> None:
        leave_out_running()
        self.failpoints = folder / "failpoints"
        self.failpoints.mkdir()
        self.deaths: list[str] = []
        self._executors = executors
        self._held = 0.0
        rest, metrics, name_server = free_ports.choose(), free_ports.choose(), free_ports.choose()
        self.name_server = f"127.0.0.1:{name_server}"
        self.rest = f"http://127.0.0.1:{rest}"
        executable = str(Path(sys.executable).with_name("rocketconnect"))
        options = ["--rest-port", str(rest), "--metrics-port", str(metrics), "--executors", str(executors)]
        options += ["--port", f"name-server={name_server}"]
        environment = {
            **os.environ,
            "CHAOS_FAILPOINTS": str(self.failpoints),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(INJECTED), os.environ.get("PYTHONPATH", "")))),
        }
        command = [sys.executable, executable, "up", "--data", str(data), *options]
        self._process = Process("up", lambda: tethered(command), environment, folder / "up.log", 0, 90.0)

    def start(self) -> None:
        """Start it, and return when everything answers.

        Raises:
            NotReady
        """
        self._process.start()
        deadline = time.monotonic() + START_SECONDS
        while not answers(self.rest, self._executors):
            if time.monotonic() > deadline or self._process.exit_code is not None:
                msg = f"`rocketconnect up` did not come up: exit code {self._process.exit_code}; see {self._process.log}"
                raise NotReady(msg)
            time.sleep(0.2)

    def close(self) -> None:
        """End it at once."""
        self._process.kill()

    def hold(self, name: str, seconds: float) -> None:
        """If it is `up` that dies: it is not started again before that time has passed."""
        if name == self._process.name:
            self._held = time.monotonic() + seconds

    def look_after(self) -> None:
        """Start it again when it is gone."""
        now = time.monotonic()
        if now >= self._held:
            code = self._process.revive(now)
            if code is not None:
                self.deaths.append(f"up {code}")

    def name_of(self, pid: int) -> str:
        """ "up", if it is this one."""
        return self._process.name if pid == self._process.pid else ""
