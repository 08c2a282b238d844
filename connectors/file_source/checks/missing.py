"""What is told of files that are not there while a configuration is checked."""

import os
from collections.abc import Iterable
from itertools import islice, takewhile
from pathlib import Path

from connectors.file_source.content import is_glob
from connectors.file_source.folders import entries
from connectors.file_source.present import paths
from rocketconnect_sdk.configuration.nearest import LIKE, did_you_mean, nearest
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.permissions.roots import reading

_ENTRIES = 10_000
"""So many names of a directory are compared."""
_LIKE_PATTERN = 0.5
"""A pattern has less in common with what it is meant for."""


def missing_problems(config: Config) -> Iterable[Problem]:
    """A warning of a file that is not there, or of a pattern that nothing matches, where that is waited for."""
    filename: str = config["filename"]
    if not config["follow"]:
        return
    if is_glob(filename):
        reason = "" if paths(config) else "matches no file now"
    else:
        reason = "" if os.path.exists(filename) else "is not there now"  # noqa: PTH110 - Path.exists raises without rights
    if reason:
        fix = f"{meant(filename)} Correct it, if it is not one that comes later: the connector waits for it.".lstrip()
        yield Problem("filename", filename[:200], f"{reason}{_where(Path(filename))}", fix, is_warning=True)


def meant(filename: str) -> str:
    """The question whether a file beside one that is not there was meant: "Did you mean /data/books.csv?"; empty: none is near."""
    path = Path(filename)
    first = _first_absent(path)
    names = [entry.name for entry in islice(entries(first.parent), _ENTRIES)]
    like = _LIKE_PATTERN if is_glob(first.name) else LIKE
    if not is_glob(first.name):
        # That both are texts is no likeness.
        names = [name for name in names if Path(name).stem == first.stem or nearest(first.stem, [Path(name).stem])]
    near = [str(Path(first.parent, name, *path.parts[len(first.parts) :])) for name in nearest(first.name, names, like)]
    allowed = [each for each in near if reading().problem(Path(each)) is None]
    question = did_you_mean(allowed)
    return question[:1].upper() + question[1:]


def _where(path: Path) -> str:
    """Which directory on the way is not there, and where links lead."""
    first = _first_absent(path)
    said = f": there is no directory {first}" if first != path and not is_glob(first.name) else ""
    resolved = Path(first.parent.resolve(), *path.parts[len(first.parts) - 1 :])
    return f"{said} (it leads to {resolved})" if resolved != path else said


def _first_absent(path: Path) -> Path:
    """The first part of a path that is not there; of a pattern it may be the pattern."""
    there = list(takewhile(os.path.exists, reversed(path.parents)))
    return Path(*path.parts[: len(there) + 1])
