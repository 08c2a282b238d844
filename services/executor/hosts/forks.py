"""Host processes by forking one that has loaded what each of them needs: a hundredth of a second instead of half of one.

The one that forks (`services.executor.host.forks`) has no threads, runs no plugin, and opens no connection but the one to its
executor, so that a copy of it is as good as a process of its own. A copy is the executor's child: the one that forks does it twice
and lets the first copy end, and the kernel gives the second one to the nearest process that takes orphans (prctl(2),
PR_SET_CHILD_SUBREAPER). Elsewhere than on Linux, and as long as the one that forks is not ready, hosts are started without it.
"""

import ctypes
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from rocketconnect_kit.logs import get_logger

_ANSWER_SECONDS = 1.0
"""How long a fork may take: it is waited for, and takes some thousandths."""

_CONNECTION = 3
"""The file descriptor of its socket in a host that is started without a fork."""

_PR_SET_CHILD_SUBREAPER = 36

_log = get_logger(__name__)


class Started(NamedTuple):
    """A new host: a child of this process, and the first one of a session of its own."""

    pid: int
    connection: socket.socket
    """The executor's end of its socket."""
    output: int
    """Where what it prints can be read: a file descriptor, to be closed by the caller."""


class Forks:
    """Starts host processes. All methods are for the main thread: hosts die with the thread that started them.

    Args:
        environment: Of the host processes.
        packages: A folder whose modules come before others of the same name; None: there is none.
    """

    def __init__(self, environment: Mapping[str, str], packages: Path | None = None) -> None:
        first = [] if packages is None else [str(packages)]
        python_path = os.pathsep.join(filter(None, [*first, environment.get("PYTHONPATH")]))
        self._environment = {**environment, "PYTHONPATH": python_path}
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._is_ready = False

    def begin(self) -> None:
        """Start the process that forks, if there is none; it gets ready by itself.

        Raises:
            OSError: it could not be started.
            RuntimeError: this is not the main thread.
        """
        if threading.current_thread() is not threading.main_thread():
            msg = "hosts must be started from the main thread"
            raise RuntimeError(msg)
        if self._process is not None or sys.platform != "linux":
            return
        _take_orphans()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "services.executor.host.forks", str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=self._environment,
                # Signals to the executor's terminal or group are the executor's to handle.
                start_new_session=True,
            )

    def start(self, scratch: Path) -> Started:
        """Return a new host that puts its temporary files into a folder.

        Raises:
            OSError: no process could be started.
            RuntimeError: this is not the main thread.
        """
        self.begin()
        if (requests := self._ready()) is not None:
            try:
                return _with_ends(lambda theirs, output: _fork(requests, theirs, output, scratch))
            except OSError as error:
                _log.warning("the process that forks hosts has failed; it is replaced", cause=str(error))
                self.end()
                self.begin()
        return _with_ends(lambda theirs, output: _spawn(theirs, output, self._environment | {"TMPDIR": str(scratch)}))

    def end(self) -> None:
        """End the process that forks, if there is one; its hosts stay."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._socket is not None:
            self._socket.close()
        self._process = self._socket = None
        self._is_ready = False

    def _ready(self) -> socket.socket | None:
        """The socket of the one that forks, if it does now; one that has ended before it could is replaced."""
        if self._socket is not None and not self._is_ready:
            try:
                self._is_ready = bool(self._socket.recv(1, socket.MSG_DONTWAIT))
            except BlockingIOError:
                return None
            if not self._is_ready:
                self.end()
                self.begin()
        return self._socket if self._is_ready else None


def _fork(requests: socket.socket, theirs: socket.socket, output: int, scratch: Path) -> int:
    requests.settimeout(_ANSWER_SECONDS)
    socket.send_fds(requests, [os.fsencode(scratch)], [theirs.fileno(), output])
    answer = requests.recv(1 << 16).decode()
    if not answer.isdecimal():
        raise OSError(answer or "it has ended")
    return int(answer)


def _take_orphans() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _with_ends(start: Callable[[socket.socket, int], int]) -> Started:
    """Start a process with the other ends of a socket and of a pipe."""
    ours, theirs = socket.socketpair()
    readable, writable = os.pipe()
    try:
        with theirs:
            return Started(start(theirs, writable), ours, readable)
    except BaseException:
        ours.close()
        os.close(readable)
        raise
    finally:
        os.close(writable)


def _spawn(theirs: socket.socket, output: int, environment: Mapping[str, str]) -> int:
    words = [sys.executable, "-P", "-m", "services.executor.host", str(_CONNECTION), str(os.getpid())]
    return os.posix_spawn(
        sys.executable,
        words,
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, output, 2),
            (os.POSIX_SPAWN_DUP2, theirs.fileno(), _CONNECTION),
        ],
        setsid=True,
    )
