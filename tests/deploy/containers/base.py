"""The base of the images where no registry can be reached: a Debian that debootstrap makes.

It stands in for the public base of the Dockerfile, which has the same Debian, and Python of the same version.
"""

import shutil
from pathlib import Path

from tests.deploy.containers.engine import Engine, said

BASE = "localhost/rocketconnect/base:test"
_PACKAGES = "ca-certificates,python3,python3-venv"
_SECONDS = 900
# How this machine reaches packages.
_CONFIGURATION = (
    "etc/apt/apt.conf.d",
    "etc/apt/sources.list.d",
    "etc/hosts",
    "etc/pip.conf",
    "etc/resolv.conf",
    "etc/ssl/certs",
    "usr/local/share/ca-certificates",
    "root/.config/pip",
    "root/.m2/settings.xml",
)
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


def make_base(engine: Engine, folder: Path) -> None:
    """Make the base, unless it is there."""
    if engine.has_image(BASE):
        return
    system = folder / "base"
    shutil.rmtree(system, ignore_errors=True)
    said(["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", str(system)], _SECONDS)
    for name in _CONFIGURATION:
        here, there = Path("/", name), system / name
        if here.is_dir():
            shutil.rmtree(there, ignore_errors=True)
            shutil.copytree(here, there)
        elif here.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(here, there)
    engine.import_tree(system, BASE, {"SSL_CERT_FILE": _CERTIFICATES, "PIP_CERT": _CERTIFICATES})
    shutil.rmtree(system)
