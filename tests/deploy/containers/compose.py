"""Runs compose files with podman: as much of the format as deploy/compose uses.

Each container has an address of its own, and finds the others by the names of their services. What the files say of environments,
commands, volumes, users, file systems, replicas and order is done as it stands; a key that is not known here is an error.
"""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.deploy.containers import file
from tests.deploy.containers.engine import Engine
from tests.deploy.containers.network import NAMES, Network

_LISTED = {"tmpfs": "--tmpfs", "cap_drop": "--cap-drop", "security_opt": "--security-opt"}
_SINGLE = {
    "user": ("--user", ""),
    "hostname": ("--hostname", ""),
    "shm_size": ("--shm-size", "b"),
    "stop_grace_period": ("--stop-timeout", "s"),
}
# Done by other means, or by nobody.
_ELSEWHERE = {"ports", "restart", "build", "image", "command", "depends_on", "deploy", "profiles", "extends"}
_SIGNAL_SECONDS = 90


class Compose:
    """The services of compose files. A service of one replica is a container of its name; of several they are NAME-1, NAME-2.

    Args:
        engine: what runs them.
        files: compose files, a later one over an earlier one.
        network: where containers meet.
        images: stands in for images that no registry here has, and for builds: the name of the image by service.
        profiles: services of these run as well.
        variables: what the files may ask for.
        without: services that are left out.
    """

    def __init__(
        self,
        engine: Engine,
        files: Sequence[Path],
        network: Network,
        images: Mapping[str, str],
        *,
        profiles: Sequence[str] = (),
        variables: Mapping[str, str] | None = None,
        without: Sequence[str] = (),
    ) -> None:
        self._engine = engine
        self._network = network
        self._images = images
        read = file.services(files, profiles, variables or {})
        self.services: dict[str, Any] = {name: each for name, each in read.items() if name not in without}
        replicas = {name: int(each.get("deploy", {}).get("replicas", 1)) for name, each in self.services.items()}
        self._service_of = {
            container: name
            for name, count in replicas.items()
            for container in ([name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)])
        }

    def containers(self, service: str) -> list[str]:
        """The containers of a service."""
        return [container for container, of in self._service_of.items() if of == service]

    def up(self, seconds: float) -> None:
        """Start all in the order of what they depend on; return when all with a health check are well, and published ports answer.

        Raises:
            AssertionError: one has ended, or is not well in time; with what it said. Or two publish the same port.
        """
        deadline = time.monotonic() + seconds
        for name in self._ordered():
            for other, said in _depends(self.services[name]):
                for container in self.containers(other):
                    self._reach(container, said, deadline)
            for container in self.containers(name):
                self.start(container)
        for container, name in self._service_of.items():
            if self.services[name].get("restart"):
                self.wait_well(container, deadline)
        for container, port in self._published():
            self._answers(container, port, deadline)

    def start(self, container: str) -> None:
        """Start one container."""
        name = self._service_of[container]
        service = self.services[name]
        command = service.get("command", [])
        self._engine.start(
            container,
            self._images[name],
            self._network.join(container, sorted({name, container})),
            ["--dns", NAMES, *self._options(name, service)],
            command.split() if isinstance(command, str) else command,
        )

    def wait_well(self, container: str, deadline: float) -> None:
        """Return when its health check says that it is well, or at once when it has none and runs."""
        service = self._service_of[container]
        checked = "healthcheck" in self.services[service] or self._engine.has_check(self._images[service])
        while not (self._engine.is_well(container) if checked else self._runs(container)):
            self._must_run(container)
            assert time.monotonic() < deadline, f"{container} is not well:\n{self.logs(container)}"
            time.sleep(0.5)

    def logs(self, container: str) -> str:
        """What a container has said."""
        return self._engine.logs(container)

    def kill(self, container: str) -> None:
        """End a container at once, and remove it; its volumes stay."""
        self._engine.podman("kill", container)
        self._engine.podman("rm", "--force", container)
        self._network.leave(container)

    def stop(self, container: str) -> int:
        """Ask a container to end; return its exit code."""
        self._engine.podman("stop", "--time", str(_SIGNAL_SECONDS), container, seconds=_SIGNAL_SECONDS + 30)
        return self._engine.state(container)[1]

    def _published(self) -> Iterator[tuple[str, str]]:
        """Containers with ports that this machine shall reach."""
        taken: dict[str, str] = {}
        for name, service in self.services.items():
            containers = self.containers(name)
            for published in service.get("ports", ()):
                there, _, inside = published.rpartition(":")
                host, _, span = there.rpartition(":")
                first, _, last = span.partition("-")
                ports = [f"{host}:{port}" for port in range(int(first), int(last or first) + 1)]
                assert len(ports) >= len(containers), f"{name} publishes {len(ports)} ports for {len(containers)} containers"
                for port in ports:
                    assert port not in taken, f"{name} and {taken[port]} publish {port}"
                    taken[port] = name
                yield from ((container, inside) for container in containers)

    def _answers(self, container: str, port: str, deadline: float) -> None:
        address = self._network.address(container)
        ask = self._network.enter(["bash", "-c", f"exec 3<>/dev/tcp/{address}/{port}"])
        while subprocess.run(ask, check=False, capture_output=True, timeout=30).returncode:
            assert time.monotonic() < deadline, f"nobody listens at port {port} of {container}, which is published"
            time.sleep(0.5)

    def _runs(self, container: str) -> bool:
        return self._engine.state(container)[0] == "running"

    def _must_run(self, container: str) -> None:
        state, code = self._engine.state(container)
        assert state == "running", f"{container} is {state}, with code {code}:\n{self.logs(container)}"

    def _reach(self, container: str, condition: str, deadline: float) -> None:
        if condition == "service_started":
            return
        if condition == "service_healthy":
            self.wait_well(container, deadline)
            return
        assert condition == "service_completed_successfully", condition
        while (state := self._engine.state(container)) != ("exited", 0):
            assert state[0] in {"created", "running"}, f"{container} ended with code {state[1]}:\n{self.logs(container)}"
            assert time.monotonic() < deadline, f"{container} has not ended"
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
                yield from (word for volume in value for word in ("--volume", volume))
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
            elif key == "healthcheck":
                kind, said = value["test"]
                assert kind == "CMD-SHELL", kind
                yield from ("--health-cmd", said, "--health-interval", "disable")
            else:
                assert key in _ELSEWHERE, f"{name}: the runner knows no {key}"


def _depends(service: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    said = service.get("depends_on", {})
    for name in said:
        yield name, "service_started" if isinstance(said, list) else said[name]["condition"]
