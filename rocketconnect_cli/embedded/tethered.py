"""Runs a command that dies with the process that started it, even when that one is killed with SIGKILL.

    python -I -S tethered.py PARENT_PID COMMAND [ARGUMENT ...]

The command replaces this program, so it keeps the process id. The kernel delivers SIGKILL when the *thread* that
started it ends: start such a command from a thread that lives as long as the command shall (usually the main one).
A small program instead of a function run between fork and exec: that one isn't safe in a process with threads.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def tethered(command: list[str]) -> list[str]:
    """Return the command line that runs `command` as a child that dies with the calling process."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def _run(parent: int, command: list[str]) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # The parent may have died before the line above; then no signal will come any more.
    if os.getppid() != parent:
        sys.exit(f"process {parent}, which started this one, is gone")
    os.execvp(command[0], command)  # noqa: S606 - there is no shell, on purpose


if __name__ == "__main__":
    _run(int(sys.argv[1]), sys.argv[2:])
