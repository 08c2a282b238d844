"""A server in a process of its own, with its data in a folder."""

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar, Self

from rocketconnect_kit.java.find import find_javac
from rocketconnect_kit.tethered import tethered

START_SECONDS = 300.0
"""How long a server may take until it answers: for hangs alone."""


class ServerFailed(Exception):
    """It is not installed, or does not start; the text says what to do, or has its log."""


class Server(ABC):
    """A server and its data. It may be killed or suspended, and started again with its data.

    Class attributes:
        title: For people.
        prefix: Begins the name of its folder.

    Attributes:
        folder: For its data.
    """

    title: ClassVar[str]
    prefix: ClassVar[str]

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=self.prefix))
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> Sequence[str]:
        """What runs it, in `runs_in`; it dies with the thread that starts it. Raises ServerFailed."""

    @property
    def runs_in(self) -> Path:
        """Where it runs: in its folder."""
        return self.folder

    @abstractmethod
    def answers(self) -> bool:
        """Whether it answers."""

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            ServerFailed: it does not.
        """
        log = self.folder / "server.log"
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=self.runs_in, start_new_session=True
            )
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                msg = f"{self.title} did not start:\n{log.read_text(errors='replace')[-5_000:]}"
                raise ServerFailed(msg)
            time.sleep(0.05)

    def signal(self, number: signal.Signals) -> None:
        """Suspends it or lets it go on."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill it; its data stay."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def restart(self) -> None:
        """Kill it, and start it again with its data.

        Raises:
            ServerFailed: it does not start.
        """
        self.kill()
        self.start()

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Run it until the end of the block, and remove it with its data.

        Raises:
            ServerFailed: it does not start.
        """
        try:
            self.start()
            yield self
        finally:
            self.kill()
            shutil.rmtree(self.folder, ignore_errors=True)


class JavaServer(Server):
    """One of Java's.

    Class attributes:
        source: A file of Java that it needs, of one class.
    """

    source: ClassVar[Path]

    def java(self, class_path: str, flags: Sequence[str], words: Sequence[str]) -> Sequence[str]:
        """What runs it, with its class, which is compiled once.

        Args:
            class_path: Of what it is made of.
            flags: Of Java's, beside those that all have.
            words: The main class, and what it is told.
        """
        if not (self.folder / f"{self.source.stem}.class").exists():
            compiled = [str(find_javac()), "-nowarn", "-cp", class_path, "-d", str(self.folder), str(self.source)]
            subprocess.run(compiled, check=True, capture_output=True)
        all_have = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", f"-Djava.io.tmpdir={self.folder}"]
        return tethered(["java", *all_have, *flags, "-cp", f"{self.folder}:{class_path}", *words])


def takes_connections(port: int) -> bool:
    """Whether somebody listens there."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False
