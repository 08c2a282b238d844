"""What the first line of a CSV file that is there already says of the columns that are to be written."""

import csv
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from rocketconnect_sdk.permissions.roots import OutsideRoots, writing

_LOOKED_AT = 1 << 16


def header_problem(path: Path, delimiter: str, names: Sequence[str]) -> str | None:
    """Why rows with columns of these names do not belong into the file; None: they may, or nothing can be seen of it.

    What the file holds is not repeated: whoever may check a configuration may not be who may read the file.
    """
    there = _header(path, delimiter)
    if there is None or there == list(names):
        return None
    if new := [name for name in names if name not in there]:
        return f"the file has a first line of {len(there)} columns already, without {', '.join(map(repr, new))}"
    return f"the file has a first line of {len(there)} columns already, and these {len(names)} are not all of them in their order"


def _header(path: Path, delimiter: str) -> list[str] | None:
    """The names in the first line; None: there is no file, it is empty, or nobody may look."""
    try:
        # A pipe that nobody writes to would be waited for.
        file = writing().open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, OutsideRoots):
        return None  # told where the file itself is checked
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        head = os.pread(file, _LOOKED_AT, 0)
    finally:
        os.close(file)
    lines = head.decode("utf-8", "replace").split("\n")
    try:
        return next(csv.reader((f"{line}\n" for line in lines), delimiter=delimiter), None) if head else None
    except csv.Error:
        return None
