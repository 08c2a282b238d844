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
from tests.server_process import START_SECONDS


class PostgresFailed(Exception):
    """It is not installed, or does not start; the text says what to do."""


class Postgres:
    """A server's data, and the command that runs the server on them. Whoever runs it may kill it and start it again.

    Args:
        primary: One that runs, of which it is to be a hot standby; None: it has data of its own.
        settings: What postgresql.conf would say, such as fsync="off". By default what it has confirmed is on disk.

    Raises:
        PostgresFailed: programs are missing.
        subprocess.CalledProcessError: the data could not be made.
    """

    def __init__(self, primary: "Postgres | None" = None, /, **settings: str) -> None:
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
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
        make = ["initdb", *options]
        if primary is not None:
            make = ["pg_basebackup", "-h", "127.0.0.1", "-p", str(primary.port), "-U", "postgres", "-R", "-c", "fast", "-N"]
        words = [*self._as_owner, str(programs / make[0]), "-D", str(self._folder), *make[1:]]
        subprocess.run(words, check=True, capture_output=True, cwd="/", timeout=START_SECONDS)

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
        """Run it until the end of the block and remove it; gives the SQLAlchemy URL of an empty database, of a standby of any.

        Raises:
            PostgresFailed: it does not start; the text has its log.
        """
        try:
            self._start()
            if not self._is_standby():
                self.say(f'CREATE DATABASE "{database}"')
            yield self.url(database=database)
        finally:
            # At once: nobody needs what it would write, and in order it waits for whoever is connected.
            self._stop(signal.SIGQUIT)
            self.remove()

    def kill(self) -> None:
        """End it at once."""
        self._stop(signal.SIGKILL)

    def restart(self) -> None:
        """Kill it, and start it again with its data.

        Raises:
            PostgresFailed: it does not start.
        """
        self.kill()
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self._start()
            except PostgresFailed:
                # Those that it left behind hold its memory for a moment.
                if time.monotonic() > deadline:
                    raise
            else:
                return

    def demote(self) -> None:
        """Start it again as a hot standby of nobody, as a failover does with a primary that is to be one no longer."""
        self._stop(signal.SIGINT)
        (self._folder / "standby.signal").touch()
        self._start()

    def promote(self) -> None:
        """Let a standby take changes, and return when it does."""
        self.say("SELECT pg_promote()")

    def take_changes(self, does: bool) -> None:
        """Let transactions that begin from now on be such as may write, or not; sessions that are there see it a moment later."""
        value = "off" if does else "on"
        begin = "SET default_transaction_read_only = off"
        self.say(begin, f"ALTER SYSTEM SET default_transaction_read_only = {value}", "SELECT pg_reload_conf()")

    def say(self, *statements: str) -> None:
        """Have statements run, each by itself."""
        with self._connect() as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def wait_for_end(self, pid: int) -> None:
        """Return when the session of this process is gone.

        Raises:
            PostgresFailed: it is there for too long.
        """
        deadline = time.monotonic() + START_SECONDS
        with self._connect() as connection:
            while connection.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (pid,)).fetchone() is not None:
                if time.monotonic() > deadline:
                    msg = f"the session of {pid} is still there"
                    raise PostgresFailed(msg)
                time.sleep(0.05)

    def _is_standby(self) -> bool:
        return (self._folder / "standby.signal").exists()

    def _start(self) -> None:
        with tempfile.TemporaryFile() as log:
            self._process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd="/", start_new_session=True)
            deadline = time.monotonic() + START_SECONDS
            while not self.is_ready():
                if self._process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    msg = f"PostgreSQL did not start:\n{log.read().decode(errors='replace')}"
                    raise PostgresFailed(msg)
                time.sleep(0.05)

    def _stop(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(START_SECONDS)
        finally:
            self._process.kill()

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
