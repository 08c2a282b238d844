"""What the first line of a CSV file that is there already says of the columns that are to be written."""

import csv
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from rocketconnect_sdk.files.appended import remembered_of
from rocketconnect_sdk.permissions.roots import OutsideRoots, writing
from rocketconnect_sdk.wording.counts import counted

_LOOKED_AT = 1 << 16
_DELIMITERS = (",", ";", "\t", "|")


def header_problem(path: Path, delimiter: str, names: Sequence[str]) -> str | None:
    """Why rows with columns of these names do not belong into the file; None: they may, or nothing can be seen of it.

    What the file holds is not repeated: whoever may check a configuration may not be who may read the file.
    """
    there = _header(path, delimiter)
    if there is None or there == list(names):
        return None
    if new := [name for name in names if name not in there]:
        return f"the file has a first line of {counted(there, 'column')} already, without {', '.join(map(repr, new))}"
    has = f"the file has a first line of {counted(there, 'column')} already"
    return f"{has}, and these {len(names)} are not all of them in their order"


def delimiter_problem(path: Path, delimiter: str, names: Sequence[str] | None, *, has_header: bool) -> tuple[str, str] | None:
    """Why rows with another delimiter do not belong into the file, and the one that it has; None: they may, or nothing is known.

    What the sink has noted with its last batch says it. Where it has not, the first line does: one that is one field with this
    delimiter, and with another one the columns that are expected or, where none are, several.

    Args:
        path: The file.
        delimiter: Between the fields of the rows.
        names: The columns that are expected; None: not known.
        has_header: Its first line has names.
    """
    remembered = remembered_of(path)
    noted = remembered.get("delimiter")
    if noted is not None:
        return None if noted == delimiter else (f"the file has rows already, with {_shown(noted)} between their fields", noted)
    expected = list(names or remembered.get("columns", ()))
    there = _header(path, delimiter) if has_header else None
    if there is None or len(there) != 1 or there == expected:
        return None
    for other in _DELIMITERS:
        found = _header(path, other)
        if found is not None and len(found) > 1 and expected in ([], found):
            return f"the first line of the file is one field with it, and has {len(found)} with {_shown(other)}", other
    return None


def _shown(delimiter: str) -> str:
    return "a tab" if delimiter == "\t" else f'"{delimiter}"'


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
