"""Processes in which what users have written runs: it may never end, crash, or take too much memory, and can always be ended.

A child is a module of this package, `python -m MODULE FD PARENT`, which calls `serve` at once. First it is sent what it needs to
begin, and its first answer is what is wrong with that; empty: nothing.
"""

import contextlib
import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from rocketconnect_sdk.errors import PermanentError

_START_SECONDS = 60.0
"""How long one may take to begin; it has to import what it needs."""

_PR_SET_PDEATHSIG = 1


class Child:
    """A process that is begun when it is asked for, and anew after it was ended. Used by one thread at a time.

    It has a folder for temporary files of its own, beneath that of this process, which goes with it: also when it was killed.

    Args:
        module: What it runs.
        first: What it needs to begin.
        what: For people.
    """

    def __init__(self, module: str, first: object, what: str) -> None:
        self._module = module
        self._first = first
        self._what = what
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: Connection | None = None
        self._scratch = ""

    @property
    def socket(self) -> Connection:
        """Where it is asked and answers; EOFError or OSError there: it has ended.

        Raises:
            PermanentError: it could not begin.
        """
        return self._socket or self._begin()

    def end(self) -> None:
        """Ends it."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = ""

    def _begin(self) -> Connection:
        # One that has ended by itself leaves its process and its folder behind.
        self.end()
        mine, other = Pipe()
        self._scratch = tempfile.mkdtemp(prefix="rocketconnect-child-")
        search = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", self._module, str(other.fileno()), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            pass_fds=[other.fileno()],
            env={**os.environ, "PYTHONPATH": search, "TMPDIR": self._scratch},
        )
        other.close()
        self._socket = mine
        wrong: object = "did not begin in time"
        with contextlib.suppress(EOFError, OSError):
            mine.send(self._first)
            if mine.poll(_START_SECONDS):
                wrong = mine.recv()
        if wrong:
            self.end()
            msg = f"{self._what} {wrong}"
            raise PermanentError(msg)
        return mine


def serve(answer: Callable[[Connection], None], *, memory: int = 0) -> int:
    """What a child does: answer until the other end of its socket is closed.

    Args:
        answer: Takes what it is sent first, and then all else.
        memory: How many bytes it may have; 0: no limit.

    Returns: the exit code.
    """
    number, parent = map(int, sys.argv[1:])
    # It must not outlive who asks, even within what never ends (prctl(2)).
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        return 1
    # What it prints is for the log.
    os.dup2(2, 1)
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
        answer(Connection(number))
    return 0
