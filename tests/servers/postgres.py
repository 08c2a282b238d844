"""PostgreSQL from this machine's own programs (Debian: apt-get install postgresql)."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests import free_ports

START_SECONDS = 60.0


class PostgresFailed(Exception):
    """It is not installed, or does not start; the text says what to do."""


class Postgres:
    """A server's data, and the command that runs the server on them. Whoever runs it may kill it and start it again.

    Args:
        settings: What postgresql.conf would say, such as fsync="off". By default what it has confirmed is on disk.

    Raises:
        PostgresFailed: programs are missing.
        subprocess.CalledProcessError: the data could not be made.
    """

    def __init__(self, **settings: str) -> None:
        self._settings = settings
        programs = _programs()
        if programs is None:
            msg = "PostgreSQL's server programs are needed in /usr/lib/postgresql (Debian: apt-get install postgresql)"
            raise PostgresFailed(msg)
        self._server = programs / "postgres"
        self._as_owner = _as_owner()
        self.port = free_ports.choose()
        # In a place of its own: its user may not be let into the folder of the one who runs this.
        self._folder = Path(tempfile.mkdtemp(prefix="rocketconnect-postgres-"))
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self._folder, nobody.pw_uid, nobody.pw_gid)
        options = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale", "-N"]
        initdb = [*self._as_owner, str(programs / "initdb"), "-D", str(self._folder), *options]
        subprocess.run(initdb, check=True, capture_output=True, cwd="/", timeout=START_SECONDS)

    @staticmethod
    def is_installed() -> bool:
        """Whether this machine has its programs."""
        return _programs() is not None

    def url(self, port: int | None = None, database: str = "postgres") -> str:
        """The SQLAlchemy URL of a database, as it is reached at a port; at its own by default."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{port or self.port}/{database}"

    def command(self) -> Sequence[str]:
        """The server; it dies with the thread that starts it.

        Those that a killed server leaves behind hold its shared memory for a moment, so it may have to be started more than once.
        """
        server = [str(self._server), "-D", str(self._folder), "-p", str(self.port), "-h", "127.0.0.1", "-k", ""]
        # A killed server leaves its shared memory behind: it goes with the folder.
        server += ["-c", "dynamic_shared_memory_type=mmap"]
        return [*self._as_owner, *server, *(word for name, value in self._settings.items() for word in ("-c", f"{name}={value}"))]

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            with self._connect():
                return True
        except psycopg.OperationalError:
            return False

    def remove(self) -> None:
        """Remove its data, once nobody runs it."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @contextmanager
    def running(self, database: str) -> Iterator[str]:
        """Run it until the end of the block and remove it; gives the SQLAlchemy URL of an empty database.

        Raises:
            PostgresFailed: it does not start; the text has its log.
        """
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd="/", start_new_session=True)
            try:
                deadline = time.monotonic() + START_SECONDS
                while not self.is_ready():
                    if process.poll() is not None or time.monotonic() > deadline:
                        log.seek(0)
                        msg = f"PostgreSQL did not start:\n{log.read().decode(errors='replace')}"
                        raise PostgresFailed(msg)
                    time.sleep(0.05)
                with self._connect() as connection:
                    connection.execute(f'CREATE DATABASE "{database}"'.encode())
                yield self.url(database=database)
            finally:
                # At once: nobody needs what it would write, and in order it waits for whoever is connected.
                process.send_signal(signal.SIGQUIT)
                try:
                    process.wait(START_SECONDS)
                finally:
                    process.kill()
                    self.remove()

    def _connect(self) -> "psycopg.Connection[tuple[object, ...]]":
        return psycopg.connect(host="127.0.0.1", port=self.port, user="postgres", autocommit=True, connect_timeout=2)


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def _as_owner() -> list[str]:
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        msg = "the program setpriv is missing (Debian: apt-get install util-linux)"
        raise PostgresFailed(msg)
    words = [setpriv, "--pdeathsig", "KILL"]
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root.
        nobody = pwd.getpwnam("nobody")
        words += [f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    return words
