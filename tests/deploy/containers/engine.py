"""Containers, run by podman as root: images are built by buildah, and lie in a folder of their own.

There is no daemon, and nothing of this machine's own containers is seen or touched.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

BUILD_SECONDS = 1800
_RUN_SECONDS = 120
NEEDED = ("buildah", "podman", "runc", "debootstrap")


def missing() -> list[str]:
    """Why there can be no containers here; empty: there can."""
    absent = [name for name in NEEDED if not shutil.which(name)]
    return [*(f"{name} is not installed" for name in absent), *([] if os.geteuid() == 0 else ["it needs root"])]


class Engine:
    """Builds images and runs containers. All calls wait for their end; failures carry what was said.

    Args:
        folder: where images, containers and their volumes lie; images stay there for the next run.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # podman knows a folder by one name alone.
        self._folder = folder.resolve()
        # Copies everything with each layer, but works everywhere.
        self._storage = self._in("vfs")
        overlay = self._in("overlay")
        if self._ask(["podman", *overlay, "info"]).returncode == 0:
            self._storage = overlay

    def _in(self, driver: str) -> list[str]:
        root = self._folder / driver
        return ["--root", str(root), "--runroot", f"{root}-run", "--storage-driver", driver]

    def has_image(self, name: str) -> bool:
        """Whether there is such an image."""
        return self._ask(["podman", *self._storage, "image", "exists", name]).returncode == 0

    def import_tree(self, root: Path, name: str, environment: Mapping[str, str]) -> None:
        """Make an image of a folder that has the files of a system."""
        archive = self._folder / "import.tar"
        said(["tar", "-C", str(root), "-cf", str(archive), "."], _RUN_SECONDS)
        variables = [word for key, value in environment.items() for word in ("--change", f"ENV {key}={value}")]
        try:
            self.podman("import", *variables, str(archive), name)
        finally:
            archive.unlink()

    def build(self, context: Path, file: Path, name: str, *, target: str = "", arguments: Mapping[str, str] | None = None) -> None:
        """Build an image, with the layers that are there already."""
        given = [word for key, value in (arguments or {}).items() for word in ("--build-arg", f"{key}={value}")]
        # Health checks are Docker's alone.
        command = ["buildah", *self._storage, "bud", "--isolation", "chroot", "--format", "docker", "--layers", *given]
        said([*command, *(["--target", target] if target else []), "-t", name, "-f", str(file), str(context)], BUILD_SECONDS)

    def podman(self, *words: str, seconds: float = _RUN_SECONDS) -> str:
        """Run a command of podman; return what it said."""
        return said(["podman", *self._storage, "--cgroup-manager", "cgroupfs", "--runtime", "runc", *words], seconds)

    def start(self, name: str, image: str, network: Path, options: Iterable[str], command: Sequence[str] = ()) -> None:
        """Start a container in a network namespace."""
        # Containers get no more open files than their maker may have.
        limits = ["--ulimit", "nofile=20000:20000", "--ulimit", "nproc=20000:20000"]
        where = ["--name", name, "--network", f"ns:{network}", "--log-driver", "k8s-file"]
        self.podman("run", "--detach", *where, *limits, *options, image, *command)

    def state(self, name: str) -> tuple[str, int]:
        """What a container does, such as "running" or "exited", and its exit code."""
        (said,) = json.loads(self.podman("inspect", name))
        return str(said["State"]["Status"]), int(said["State"]["ExitCode"])

    def ended(self, name: str) -> int:
        """Wait for a container's end; return its exit code."""
        return int(self.podman("wait", name))

    def has_check(self, image: str) -> bool:
        """Whether an image says how its health is checked."""
        (known,) = json.loads(self.podman("image", "inspect", image))
        said = known.get("HealthCheck") or known.get("Healthcheck") or {}
        return bool(said.get("Test", ["NONE"]) != ["NONE"])

    def is_well(self, name: str) -> bool:
        """Run the image's own health check once."""
        return self._ask(["podman", *self._storage, "--runtime", "runc", "healthcheck", "run", name]).returncode == 0

    def logs(self, name: str) -> str:
        """What a container has said, on its output and as errors."""
        done = self._ask(["podman", *self._storage, "--runtime", "runc", "logs", name])
        return done.stdout + done.stderr

    def remove_all(self) -> None:
        """End and remove all containers and volumes; images stay."""
        self.podman("rm", "--all", "--force", "--time", "0")
        self.podman("volume", "rm", "--all", "--force")

    @staticmethod
    def _ask(command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(command, capture_output=True, text=True, timeout=_RUN_SECONDS, check=False)


def said(command: Sequence[str], seconds: float) -> str:
    """Run a command; return what it said on its output.

    Raises:
        AssertionError: with what it said, when it fails.
    """
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    return done.stdout
