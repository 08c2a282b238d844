"""What can be known of a target before anything is written."""

import os
from collections.abc import Iterator
from pathlib import Path

from rocketconnect_sdk.errors import Problem


def output_problems(filename: str, *, directory: bool) -> Iterator[Problem]:
    """What is wrong with a file (or, with directory, a directory of files) that a sink is to write. Changes nothing."""
    path = Path(filename)

    def problem(reason: str, fix: str) -> Problem:
        return Problem("filename", filename, reason, fix)

    if not all(char.isprintable() for char in filename) or path.name in ("", ".."):
        yield problem("is not the name of a file", "Give a path that ends in a name, without control characters.")
    elif len(path.name.encode()) > 200:
        yield problem("has a name of more than 200 bytes", "Choose a shorter one.")
    elif not path.parent.is_dir():
        yield problem("is in a directory that does not exist", f"Create {path.parent}.")
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        yield problem("is in a directory that cannot be written to", "Give the worker's user the right.")
    elif path.exists():
        if directory != path.is_dir():
            kind = "directory" if path.is_dir() else "file"
            yield problem(f"is a {kind}", "Name a directory or a new name." if directory else "Name a file.")
        elif not directory and not path.is_file():
            yield problem("is not a regular file", "Name a file.")
        elif not os.access(path, os.W_OK):
            yield problem("cannot be written to", "Give the worker's user the right.")
