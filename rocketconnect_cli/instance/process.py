"""One supervised child process: started, started again when it dies, stopped."""

import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FIRST_BACKOFF = 0.2
LONGEST_BACKOFF = 5.0
HEALTHY_SECONDS = 10.0


@dataclass(slots=True)
class Process:
    """A process that should run. For one thread: the main one, because children die with the thread that started them.

    Attributes:
        name: For people: "config", "executor-1", "broker".
        command: Makes the command line; called for each start.
        environment: The whole environment.
        log: Takes its output.
        stage: Stages are stopped one after the other, the lowest first; all of a stage at once.
        stop_seconds: After SIGTERM it has so long before SIGKILL.
        is_closed: While it stops: whether it has closed what it holds, so that nothing is lost by ending it.
        ending: What it takes its time for when it stops, for people: "close its store".
        folder: Where it runs; None: where this process does.
    """

    name: str
    command: Callable[[], Sequence[str]]
    environment: Mapping[str, str]
    log: Path
    stage: int
    stop_seconds: float
    is_closed: Callable[[], bool] = lambda: False
    ending: str = "end"
    folder: Path | None = None
    starts: int = 0
    failures: int = 0
    """How often in a row it has ended soon after its start and by itself: SIGKILL comes from somebody else."""
    _process: subprocess.Popen[bytes] | None = None
    _started: float = 0.0
    _backoff: float = FIRST_BACKOFF
    _start_after: float = field(default=0.0)

    def start(self) -> None:
        """Starts it. Its output is appended to the log."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                list(self.command()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(self.environment),
                cwd=self.folder,
                # Ctrl-C in a terminal goes to the foreground group; the supervisor alone decides who stops when.
                start_new_session=True,
            )
        self.starts += 1
        self._started = time.monotonic()

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs or before its first start."""
        return self._process.poll() if self._process else None

    def revive(self, now: float) -> int | None:
        """Starts it again if it has ended and its backoff is over.

        Returns:
            The exit code with which it was found dead, the first time that it is seen so; else None.
        """
        code = self.exit_code
        if code is None:
            return None
        if not self._start_after:
            self.failures = self._failures_after(code, now - self._started)
            self._backoff = FIRST_BACKOFF if now - self._started > HEALTHY_SECONDS else min(self._backoff * 2, LONGEST_BACKOFF)
            self._start_after = now + self._backoff
            return code
        if now >= self._start_after:
            self._start_after = 0.0
            self.start()
        return None

    def _failures_after(self, code: int, lived: float) -> int:
        if lived > HEALTHY_SECONDS:
            return 0
        return self.failures if code == -signal.SIGKILL else self.failures + 1

    def terminate(self) -> None:
        """Asks it to end."""
        if self.pid is not None and self._process is not None:
            self._process.terminate()

    def wait(self, deadline: float) -> bool:
        """Waits for its end until the monotonic deadline. True when it has ended."""
        if self._process is None:
            return True
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """Ends it now, if it runs. What it has started dies with it."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
