"""The Dockerfile and what its images are built of, read."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "deploy/docker/Dockerfile").read_text()
SOURCES = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
"""What there is to copy when an image is built, from the root of the checkout."""


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
