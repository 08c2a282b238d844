"""What others of its user see of the environment of a process."""

import contextlib
from pathlib import Path

import psutil


def environments(process: psutil.Process) -> dict[int, str]:
    """The environments with which a process and all below it were started, as whoever has the same user can read them."""
    found = {}
    for each in (process, *process.children(recursive=True)):
        # It may end meanwhile.
        with contextlib.suppress(OSError, psutil.Error):
            found[each.pid] = Path(f"/proc/{each.pid}/environ").read_text(errors="replace")
    return found
