"""The Dockerfile, read; its commands run here, since there may be no Docker engine."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "deploy/docker/Dockerfile").read_text()


def stage(name: str) -> str:
    """The part that makes a stage."""
    found = re.search(rf"^FROM \S+ AS {name}$(.*?)(?=^FROM |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"no target {name}"
    return found[1]


def commands(name: str) -> list[str]:
    """What a stage runs, in order."""
    return re.findall(r"^RUN (.*)$", stage(name), re.MULTILINE)


def command(name: str, word: str) -> str:
    """The command of a stage that contains this word."""
    (found,) = [each for each in commands(name) if word in each]
    return found


def run(text: str, paths: Mapping[str, Path], *, folder: Path | None = None, programs: Path | None = None) -> str:
    """Run a command with these paths in the place of those of the image; return what it said."""
    for path, here in paths.items():
        text = re.sub(rf"(?<![\w/.]){re.escape(path)}(?![\w.])", str(here), text)
    environment = {**os.environ, "PATH": f"{programs or Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", text], cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    return done.stdout
