"""A host lives no longer than its executor."""

import ctypes
import os
import signal
import sys

from services.executor.contract.messages import Exit

_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Ask the kernel to kill this process when the thread that started it ends (Linux).

    The executor starts hosts from its main thread, which lives as long as the process. Elsewhere than on Linux the end of the
    socket alone tells.

    Raises:
        OSError: the kernel refused.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    # It may have died before the call above, and then nobody sends the signal.
    if os.getppid() != parent:
        os._exit(Exit.PARENT_GONE)


def ignore_signals() -> None:
    """Let the executor decide: a signal to the whole group or service (Ctrl-C, systemd) must not end tasks before it drains them.

    Handlers that do nothing, rather than SIG_IGN: programs that plugins start must not inherit it.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: None)
