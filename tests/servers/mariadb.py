"""MariaDB from this machine's own programs (Debian: apt-get install mariadb-server)."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql

from tests import free_ports
from tests.server_process import START_SECONDS

PASSWORD = "the-root-secret"
_SETTINGS = {
    "log-bin": "log",
    "server-id": "1",
    "binlog-format": "ROW",
    "binlog-row-metadata": "FULL",
    "character-set-server": "utf8mb4",
    "default-time-zone": "+00:00",
    "innodb-flush-log-at-trx-commit": "2",
}


class MariadbFailed(Exception):
    """It is not installed, or does not start; the text says what to do."""


class Mariadb:
    """A server and its data, which writes a log of rows. It may be stopped or killed, and started again with its data.

    Args:
        settings: What its configuration would say, such as binlog_row_image="MINIMAL"; None leaves out one of those above.

    Raises:
        MariadbFailed: programs are missing.
        subprocess.CalledProcessError: the data could not be made.
    """

    def __init__(self, **settings: str | None) -> None:
        self._settings = {**_SETTINGS, **{name.replace("_", "-"): value for name, value in settings.items()}}
        server, install, setpriv = (_program(name) for name in ("mariadbd", "mariadb-install-db", "setpriv"))
        if server is None or install is None or setpriv is None:
            msg = "MariaDB's server programs and setpriv are needed (Debian: apt-get install mariadb-server util-linux)"
            raise MariadbFailed(msg)
        self._server, self._setpriv = server, setpriv
        self.port = free_ports.choose()
        self.folder = Path(tempfile.mkdtemp(prefix="rocketconnect-mariadb-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._user = ["--user=root"] if os.geteuid() == 0 else []
        # Two that are installed at a time with one folder for temporary tables stumble over each other's.
        places = [f"--datadir={self.folder / 'data'}", f"--tmpdir={self.folder}"]
        options = [*places, "--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run([install, "--no-defaults", *self._user, *options], check=True, capture_output=True, timeout=START_SECONDS)

    @staticmethod
    def is_installed() -> bool:
        """Whether this machine has its programs."""
        return _program("mariadbd") is not None

    def command(self) -> Sequence[str]:
        """The server; it dies with the thread that starts it."""
        places = [f"--datadir={self.folder / 'data'}", f"--socket={self.folder / 'socket'}", f"--pid-file={self.folder / 'pid'}"]
        places += [f"--tmpdir={self.folder}"]
        network = [f"--port={self.port}", "--bind-address=127.0.0.1"]
        settings = [f"--{name}={value}" for name, value in self._settings.items() if value is not None]
        return [self._setpriv, "--pdeathsig", "KILL", self._server, "--no-defaults", *self._user, *places, *network, *settings]

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            MariadbFailed: it does not; the text has its log.
        """
        log = self.folder / "server.log"
        with log.open("ab") as file:
            self._process = subprocess.Popen(self.command(), stdout=file, stderr=file, start_new_session=True)
        deadline = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                msg = f"MariaDB did not start:\n{log.read_text(errors='replace')[-5_000:]}"
                raise MariadbFailed(msg)
            time.sleep(0.05)

    def stop(self) -> None:
        """Shut it down in order."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(START_SECONDS)
            finally:
                self.kill()

    def kill(self) -> None:
        """End it at once; its data stay."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def connect(self, **options: Any) -> "pymysql.Connection":
        """A connection as root, which commits by itself."""
        wanted = {"user": "root", "password": PASSWORD, "charset": "utf8mb4", "autocommit": True, "connect_timeout": 2, **options}
        return pymysql.connect(host="127.0.0.1", port=self.port, **wanted)

    @contextmanager
    def running(self) -> Iterator["Mariadb"]:
        """Run it until the end of the block, and remove it with its data.

        Raises:
            MariadbFailed: it does not start.
        """
        try:
            self.start()
            yield self
        finally:
            self.kill()
            self.remove()

    def remove(self) -> None:
        """Remove its data, once nobody runs it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def is_ready(self) -> bool:
        """Whether it answers; a new one has its password from then on."""
        try:
            with self.connect():
                return True
        except pymysql.err.OperationalError as error:
            if error.args[0] != 1045:
                return False
        # New data, on which root has no password yet.
        with self.connect(password="") as connection, connection.cursor() as cursor:
            cursor.execute("DELETE FROM mysql.global_priv WHERE User = '' OR Host NOT IN ('127.0.0.1', 'localhost')")
            cursor.execute("FLUSH PRIVILEGES")
            for host in ("localhost", "127.0.0.1"):
                cursor.execute("SET PASSWORD FOR 'root'@%s = PASSWORD(%s)", (host, PASSWORD))
        return True


def _program(name: str) -> str | None:
    # A server's programs are where only root's PATH leads.
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
