"""A network of containers as Docker makes one: each has an address of its own on a bridge, and finds the others by name.

Made of namespaces, which are gone with the processes that hold them: podman's own networks need more than every machine has.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rocketconnect_kit.tethered import tethered
from tests.chaos.network import inside, namespace
from tests.deploy.dockerfile import ROOT

_PREFIX = "10.89.0"
NAMES = f"{_PREFIX}.1"
"""Where containers ask for names."""


class Network:
    """One network, which leads nowhere else. For the main thread: it is gone with it.

    Args:
        folder: where the names lie, an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "names.json"
        self._names: dict[str, list[str]] = {}
        self._write()
        self._bridge = namespace()
        self._holders: dict[str, subprocess.Popen[bytes]] = {}
        self._addresses: dict[str, str] = {}
        pid = self._bridge.pid
        inside(pid, "ip", "link", "add", "bridge", "type", "bridge")
        inside(pid, "ip", "address", "add", f"{NAMES}/24", "dev", "bridge")
        inside(pid, "ip", "link", "set", "bridge", "up")
        serve = self.enter([sys.executable, "-m", "tests.deploy.containers.names", NAMES, str(self._file)])
        self._server = subprocess.Popen(tethered(serve), cwd=ROOT)

    def enter(self, command: Sequence[str]) -> list[str]:
        """The command line that runs a command of this machine at the bridge, where it reaches all containers."""
        return ["nsenter", f"--net=/proc/{self._bridge.pid}/ns/net", *command]

    def join(self, container: str, names: Sequence[str]) -> Path:
        """The network namespace of a container, which has these names from now on. One that joined before keeps its address."""
        if container not in self._holders:
            number = len(self._holders) + 2
            self._holders[container] = holder = namespace()
            self._addresses[container] = f"{_PREFIX}.{number}"
            inside(self._bridge.pid, "ip", "link", "add", f"c{number}", "type", "veth", "peer", "name", f"e{number}")
            inside(self._bridge.pid, "ip", "link", "set", f"e{number}", "netns", str(holder.pid))
            inside(self._bridge.pid, "ip", "link", "set", f"c{number}", "master", "bridge", "up")
            inside(holder.pid, "ip", "link", "set", f"e{number}", "name", "eth0")
            inside(holder.pid, "ip", "address", "add", f"{self._addresses[container]}/24", "dev", "eth0")
            inside(holder.pid, "ip", "link", "set", "eth0", "up")
        for name in names:
            known = self._names.setdefault(name, [])
            if self._addresses[container] not in known:
                known.append(self._addresses[container])
        self._write()
        return Path(f"/proc/{self._holders[container].pid}/ns/net")

    def leave(self, container: str) -> None:
        """From now on no name leads to this container."""
        for known in self._names.values():
            if self._addresses[container] in known:
                known.remove(self._addresses[container])
        self._write()

    def address(self, container: str) -> str:
        """Of a container that has joined."""
        return self._addresses[container]

    def close(self) -> None:
        """Take it down."""
        for process in (self._server, *self._holders.values(), self._bridge):
            process.kill()
            process.wait()

    def _write(self) -> None:
        # In one step: it is read all the time.
        new = self._file.with_suffix(".new")
        new.write_text(json.dumps(self._names), encoding="utf-8")
        new.replace(self._file)
