import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deploy.dockerfile import ROOT, command, run, stage


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made as the images make it, of nothing but what they copy."""
    source, wheels = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheels")
    for copied in re.findall(r"^COPY (.*)$", stage("wheel"), re.MULTILINE):
        *names, target = copied.split()
        for name in names:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, source / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, source / target)
    run(command("wheel", "pip wheel"), {"/wheels": wheels}, folder=source)
    (found,) = wheels.glob("rocketconnect-*.whl")
    return found


@pytest.fixture(scope="session")
def constraints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The versions that the images take, made as they make them."""
    path = tmp_path_factory.mktemp("image") / "constraints.txt"
    run(command("base", "/constraints.txt"), {"/requirements.lock": ROOT / "requirements.lock", "/constraints.txt": path})
    return path


@pytest.fixture(scope="session")
def install(wheel: Path, constraints: Path) -> Callable[..., str]:
    """Run an image's own line in a fresh environment: `install(service, environment, "--dry-run")`; return what pip said."""

    def installed(service: str, environment: Path, more: str = "") -> str:
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True, timeout=120)
        paths = {"/constraints.txt": constraints, "/wheels": wheel.parent}
        return run(f"{command(service, 'pip install')} {more}", paths, programs=environment / "bin")

    return installed
