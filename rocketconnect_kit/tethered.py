"""Runs a command that dies with the process that started it, even when that one is killed with SIGKILL.

    python -I -S tethered.py PARENT_PID PORT COMMAND [ARGUMENT ...]

The command replaces this program, so it keeps the process id; it starts once something listens on PORT of this machine
(0: at once). The kernel delivers SIGKILL when the *thread* that started it ends: start such a command from a thread that
lives as long as the command shall (usually the main one).
A small program instead of a function run between fork and exec: that one isn't safe in a process with threads.
"""

import ctypes
import os
import signal
import socket
import sys
import time

_PR_SET_PDEATHSIG = 1
_LISTENING_DEADLINE_SECONDS = 20
_POLL_SECONDS = 0.05


def tethered(command: list[str], *, once_listening: int = 0) -> list[str]:
    """Return the command line that runs `command` as a child that dies with the calling process.

    With `once_listening` it starts when something listens on this port of 127.0.0.1, or after 20 s.
    """
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(once_listening), *command]


def _run(parent: int, port: int, command: list[str]) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # The parent may have died before the line above; then no signal will come any more.
    if os.getppid() != parent:
        sys.exit(f"process {parent}, which started this one, is gone")
    deadline = time.monotonic() + _LISTENING_DEADLINE_SECONDS
    while port and not _listens(port) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    os.execvp(command[0], command)  # noqa: S606 - there is no shell, on purpose


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    _run(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
