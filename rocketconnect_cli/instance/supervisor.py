"""Runs a group of processes as one: starts them, starts again what dies, stops all in order."""

import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from types import FrameType

from rocketconnect_cli.instance.process import Process
from rocketconnect_cli.instance.rotation import Rotation

POLL_SECONDS = 0.1
QUIET_SECONDS = 5.0
"""How long it rests while all of them run: a death and a signal wake it."""
SILENT_SECONDS = 2.0
"""Whoever waits longer is told what for."""


class Supervisor:
    """A group of processes. For the main thread only: signals arrive there, and children die with it.

    Args:
        processes: In the order in which they are started.
        tell: Called with a line for people at each death, each forced end and each end that takes its time.
        rotation: What becomes of logs that are large; None: nothing.
    """

    def __init__(self, processes: Iterable[Process], tell: Callable[[str], None], rotation: Rotation | None = None) -> None:
        self.processes = tuple(processes)
        self._tell = tell
        self._rotation = rotation
        self._kept_whole: set[Path] = set()
        """Logs of which somebody was told that they can't be cut."""
        self._stop = threading.Event()
        self._now = threading.Event()
        self._wakes: tuple[socket.socket, socket.socket] | None = None
        """Of the first one can be read when a signal has come."""

    def catch_signals(self) -> None:
        """From now on a first SIGINT or SIGTERM asks run() to drain and stop, and a second one to stop at once."""
        self._wakes = socket.socketpair()
        for end in self._wakes:
            end.setblocking(False)
        signal.set_wakeup_fd(self._wakes[1].fileno(), warn_on_full_buffer=False)
        # Only signals with a handler wake it.
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def start(self) -> None:
        """Starts all, without waiting for any to be ready."""
        for process in self.processes:
            process.start()

    @property
    def stopping(self) -> bool:
        """Somebody asked for the end."""
        return self._stop.is_set()

    def look_after(self, rest: float = POLL_SECONDS) -> None:
        """Starts again what has died; rests for so long, or until a signal or a death if signals are caught. Call it in a loop."""
        now = time.monotonic()
        for process in self.processes:
            code = process.revive(now)
            if code is not None:
                how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
                self._tell(f"{process.name} {how}; starting it again (its log: {process.log})")
            self._cut(process.log)
        if self._wakes is None:
            time.sleep(rest)
        elif select.select(self._wakes[:1], [], [], rest)[0]:
            self._wakes[0].recv(4096)

    def _cut(self, log: Path) -> None:
        try:
            if self._rotation is not None and self._rotation.turn(log):
                self._kept_whole.discard(log)
        except OSError as error:
            if log not in self._kept_whole:
                self._kept_whole.add(log)
                self._tell(f"{log} is too large, and what is older can't be put aside: {error.strerror}; make room there")

    def run(self) -> None:
        """Looks after them until the end is asked for."""
        while not self.stopping:
            is_whole = all(process.pid for process in self.processes)
            self.look_after(QUIET_SECONDS if is_whole else POLL_SECONDS)

    def stop(self) -> None:
        """Stops all: stage by stage, each process within its time, at once after a second signal. Nothing is left running."""
        self._stop.set()
        for stage in self._stages():
            for process in stage:
                process.terminate()
            self._await(stage)
        for process in self.processes:
            process.kill()

    def _await(self, stage: list[Process]) -> None:
        begin = time.monotonic()
        left = list(stage)
        told = False
        while left and not self._now.is_set():
            late = [process for process in left if time.monotonic() - begin > process.stop_seconds]
            for process in late:
                self._tell(f"{process.name} did not stop within {process.stop_seconds:g} s and is ended now")
                process.kill()
            for process in left:
                if process.is_closed():
                    process.kill()
            left = [process for process in left if not process.wait(time.monotonic())]
            if left and not told and time.monotonic() - begin > SILENT_SECONDS:
                told = True
                for process in left:
                    self._tell(f"Waiting for {process.name} to {process.ending} ...")
            if left:
                self._now.wait(POLL_SECONDS / 5)

    def _stages(self) -> Iterator[list[Process]]:
        ordered = sorted(self.processes, key=lambda process: process.stage)
        return (list(group) for _, group in groupby(ordered, key=lambda process: process.stage))

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._stop.is_set():
            self._now.set()
        self._stop.set()
