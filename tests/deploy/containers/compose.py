"""Runs a compose file with podman: as much of the format as deploy/compose uses.

All services share a network namespace, where each name is 127.0.0.1, so ports that clash are found. What the file says of
environments, commands, volumes, users, file systems and order is done as it stands; a key that is not known here is an error.
"""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.containers.engine import Engine

_LISTED = {"tmpfs": "--tmpfs", "cap_drop": "--cap-drop", "security_opt": "--security-opt"}
_SINGLE = {
    "user": ("--user", ""),
    "hostname": ("--hostname", ""),
    "shm_size": ("--shm-size", "b"),
    "stop_grace_period": ("--stop-timeout", "s"),
}
# Done by other means, or by nobody: ports are those of the containers.
_ELSEWHERE = {"ports", "restart", "build", "image", "command", "depends_on"}
_SIGNAL_SECONDS = 90


class Compose:
    """A compose file, with the services of no profile.

    Args:
        engine: what runs them.
        file: the compose file.
        network: the network namespace.
        images: stands in for images that no registry here has, and for builds: the name of the image by service.
    """

    def __init__(self, engine: Engine, file: Path, network: Path, images: Mapping[str, str]) -> None:
        said = yaml.safe_load(file.read_text(encoding="utf-8"))
        self._engine = engine
        self._folder = file.parent
        self._network = network
        self._images = images
        self.services: dict[str, Any] = {name: each for name, each in said["services"].items() if not each.get("profiles")}

    def up(self, seconds: float) -> None:
        """Start all in the order of what they depend on; return when all that have a health check are well.

        Raises:
            AssertionError: one has ended, or is not well in time; with what it said.
        """
        deadline = time.monotonic() + seconds
        for name in self._ordered():
            for other, said in _depends(self.services[name]):
                self._reach(other, said, deadline)
            self.start(name)
        for name in self.services:
            if self.services[name].get("restart"):
                self.wait_well(name, deadline)

    def start(self, name: str) -> None:
        """Start one."""
        service = self.services[name]
        hosts = [word for other in self.services for word in ("--add-host", f"{other}:127.0.0.1")]
        command = service.get("command", [])
        self._engine.start(
            name,
            self._images[name],
            self._network,
            [*hosts, *self._options(name, service)],
            command.split() if isinstance(command, str) else command,
        )

    def wait_well(self, name: str, deadline: float) -> None:
        """Return when its image's health check says that it is well, or at once when it has none and runs."""
        while not (self._engine.is_well(name) if self._engine.has_check(self._images[name]) else self._runs(name)):
            self._must_run(name)
            assert time.monotonic() < deadline, f"{name} is not well:\n{self.logs(name)}"
            time.sleep(0.5)

    def logs(self, name: str) -> str:
        """What a service has said."""
        return self._engine.logs(name)

    def kill(self, name: str) -> None:
        """End a service at once, and remove its container; its volumes stay."""
        self._engine.podman("kill", name)
        self._engine.podman("rm", "--force", name)

    def stop(self, name: str) -> int:
        """Ask a service to end; return its exit code."""
        self._engine.podman("stop", "--time", str(_SIGNAL_SECONDS), name, seconds=_SIGNAL_SECONDS + 30)
        return self._engine.state(name)[1]

    def _runs(self, name: str) -> bool:
        return self._engine.state(name)[0] == "running"

    def _must_run(self, name: str) -> None:
        state, code = self._engine.state(name)
        assert state == "running", f"{name} is {state}, with code {code}:\n{self.logs(name)}"

    def _reach(self, name: str, condition: str, deadline: float) -> None:
        if condition == "service_started":
            return
        if condition == "service_healthy":
            self.wait_well(name, deadline)
            return
        assert condition == "service_completed_successfully", condition
        while (state := self._engine.state(name)) != ("exited", 0):
            assert state[0] in {"created", "running"}, f"{name} ended with code {state[1]}:\n{self.logs(name)}"
            assert time.monotonic() < deadline, f"{name} has not ended"
            time.sleep(0.2)

    def _ordered(self) -> Iterator[str]:
        done: set[str] = set()
        while left := [name for name in self.services if name not in done]:
            ready = [name for name in left if {other for other, _ in _depends(self.services[name])} <= done]
            assert ready, f"these wait for each other: {left}"
            yield from ready
            done.update(ready)

    def _options(self, name: str, service: Mapping[str, Any]) -> Iterator[str]:
        for key, value in service.items():
            if key == "volumes":
                yield from (word for volume in value for word in ("--volume", self._from_here(volume)))
            elif key in _LISTED:
                yield from (word for each in value for word in (_LISTED[key], each))
            elif key in _SINGLE:
                flag, ending = _SINGLE[key]
                yield from (flag, str(value).removesuffix(ending))
            elif key == "environment":
                yield from (word for variable, said in value.items() for word in ("--env", f"{variable}={said}"))
            elif key == "entrypoint":
                yield from ("--entrypoint", json.dumps(value))
            elif key == "read_only":
                yield f"--read-only={str(value).lower()}"
            else:
                assert key in _ELSEWHERE, f"{name}: the runner knows no {key}"

    def _from_here(self, volume: str) -> str:
        return str(self._folder / volume) if volume.startswith(".") else volume


def _depends(service: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    said = service.get("depends_on", {})
    for name in said:
        yield name, "service_started" if isinstance(said, list) else said[name]["condition"]
