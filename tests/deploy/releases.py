"""The releases of `docs/releases.md`, and their wheels, built again from their commits."""

import io
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import NamedTuple

from tests.deploy.dockerfile import ROOT

_ROW = re.compile(r"\| (?P<version>[0-9.]+) \| [0-9-]{10} \| `(?P<commit>[0-9a-f]{40})` \| `(?P<digest>[0-9a-f]{64})` \|")


class Release(NamedTuple):
    """One release: `digest` is the SHA-256 of its wheel in hex."""

    version: str
    commit: str
    digest: str


def releases() -> list[Release]:
    """All releases, as the page lists them."""
    return [Release(**row.groupdict()) for row in _ROW.finditer((ROOT / "docs/releases.md").read_text())]


def built(release: Release, folder: Path) -> Path:
    """The wheel of a release, built in `folder`, which is there and empty, from what history of this checkout has of its commit."""
    archive = subprocess.run(["git", "archive", release.commit], cwd=ROOT, check=True, capture_output=True, timeout=120).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(folder / "source", filter="data")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=folder / "source", check=True, capture_output=True, timeout=300)
    (wheel,) = folder.glob("rocketconnect-*.whl")
    return wheel
