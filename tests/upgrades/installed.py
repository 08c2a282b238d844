"""Versions of RocketConnect, each installed for itself, with the packages of this checkout's environment behind it."""

import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

from rocketconnect_cli.instance.topology import STORES
from rocketconnect_kit.store.schema import newest
from rocketconnect_sdk.version import __version__
from tests.deploy.dockerfile import ROOT
from tests.deploy.releases import Release, built

TABLES = {"config": "config_connectors", "position": "position_tasks", "state": "state_tasks", "cluster": "cluster_workers"}
"""One of each service that it writes all the time, or with each change."""


@dataclass(frozen=True, slots=True)
class Version:
    """One that is installed.

    Attributes:
        name: For people: "0.1.0".
        python: Runs it, with `-m services.NAME`.
        packages: Where it is.
    """

    name: str
    python: Path
    packages: Path

    def newest(self, service: str) -> str:
        """The last revision that a service of it knows."""
        return newest(self.packages / "services" / service / "migrations")


def of_release(release: Release, folder: Path) -> Version:
    """A release, from the wheel that is built again of its commit, in `folder`, which is there and empty."""
    (folder / "wheel").mkdir()
    return _installed(release.version, built(release, folder / "wheel"), folder / "environment")


def of_next(folder: Path) -> Version:
    """What this checkout is, and for each store a migration more, which only adds; in `folder`, which is there and empty."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=300)
    (wheel,) = folder.glob("rocketconnect-*.whl")
    made = _installed(__version__, wheel, folder / "environment")
    for service in STORES:
        number = f"{int(made.newest(service)) + 1:04}"
        _write_migration(made.packages / "services" / service / "migrations" / f"v{number}_next.py", number, service)
    return made


def _installed(name: str, wheel: Path, environment: Path) -> Version:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, timeout=120)
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(environment), "platbase": str(environment)}))
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(packages)
    # Behind what is installed here; what makes an installation of this checkout is not read from there.
    (packages / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return Version(name, environment / "bin/python", packages)


def _write_migration(path: Path, number: str, service: str) -> None:
    column = 'sa.Column("of_next", sa.Integer, nullable=False, server_default="0")'
    path.write_text(
        "import sqlalchemy as sa\nfrom alembic import op\n\n"
        f'revision = "{number}"\nrelease = "{__version__}"\n\n\n'
        f'def upgrade():\n    op.add_column("{TABLES[service]}", {column})\n'
        f'    op.create_table("{service}_of_next", sa.Column("id", sa.Integer, primary_key=True))\n'
    )
