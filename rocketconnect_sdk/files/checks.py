"""What can be known of a target before anything is written."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.targets.owned import Target


def place_problems(filename: str) -> Iterator[Problem]:
    """What is wrong with the name, and with the directory that it is in, of what a sink is to write. Changes nothing."""
    path = Path(filename)

    def problem(reason: str, fix: str) -> Problem:
        return Problem("filename", filename, reason, fix)

    if not all(char.isprintable() for char in filename) or path.name in ("", ".."):
        yield problem("is not the name of a file", "Give a path that ends in a name, without control characters.")
    elif not path.is_absolute():
        fix = f"Give an absolute path, such as /DIRECTORY/{path.name}."
        yield problem("is a relative path, and a worker has a directory of its own", fix)
    elif len(path.name.encode()) > 200:
        yield problem("has a name of more than 200 bytes", "Choose a shorter one.")
    elif not path.parent.is_dir():
        yield problem("is in a directory that does not exist", f"Create {path.parent}.")
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        yield problem("is in a directory that cannot be written to", "Give the worker's user the right.")
    elif path.exists() and not os.access(path, os.W_OK):
        yield problem("cannot be written to", "Give the worker's user the right.")


def kind_problems(filename: str, *, directory: bool) -> Iterator[Problem]:
    """What is wrong with what is already there, where a file (or, with directory, a directory of files) is to be written."""
    path = Path(filename)
    if any(place_problems(filename)) or not path.exists():
        return
    if directory != path.is_dir():
        kind = "directory" if path.is_dir() else "file"
        fix = "Name a directory or a new name." if directory else "Name a file."
        yield Problem("filename", filename, f"is a {kind}", fix)
    elif not directory and not path.is_file():
        yield Problem("filename", filename, "is not a regular file", "Name a file.")


def file_targets(filename: str) -> Iterator[Target]:
    """The file as what has one owner, by whatever symbolic links it is named: those of the machine where this is called."""
    if place := _place(filename):
        yield Target("filename", place)


def directory_targets(key: str, path: str, topics: Iterable[str]) -> Iterator[Target]:
    """Of a directory that several connectors may write to: each topic in it has one owner, as two would double its records.

    Args:
        key: The option that names the directory.
        path: The directory, by whatever symbolic links.
        topics: Those that go there.
    """
    if place := _place(path):
        for topic in topics:
            yield Target(key, f"topic {topic} in {place}")


def _place(path: str) -> str:
    """The same for the same file or directory; empty: it is no path, which place_problems tells."""
    return "" if "\0" in path else f"file://{os.path.realpath(path)}"
