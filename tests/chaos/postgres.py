"""A real PostgreSQL whose server can be killed and started again on the same data."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import psycopg

from rocketconnect_cli.embedded import ports

_START_SECONDS = 60


class Postgres:
    """Its commands; somebody else runs the server."""

    def __init__(self) -> None:
        programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
        if not programs:
            msg = "PostgreSQL's server programs are needed in /usr/lib/postgresql (Debian: apt-get install postgresql)"
            raise FileNotFoundError(msg)
        self._programs = programs[-1].parent
        self.port = ports.choose()
        # In a place of its own: its user may not be let into the folder of the one who runs the harness.
        self._data = data = Path(tempfile.mkdtemp(prefix="rocketconnect-postgres-"))
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            nobody = pwd.getpwnam("nobody")
            os.chown(data, nobody.pw_uid, nobody.pw_gid)
        initdb = [
            str(self._programs / "initdb"),
            "-D",
            str(data),
            "-A",
            "trust",
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--no-locale",
            "-N",
        ]
        subprocess.run([*_as_owner(), *initdb], check=True, capture_output=True, cwd="/", timeout=_START_SECONDS)

    def url(self, port: int) -> str:
        """The SQLAlchemy URL of the database that the services share, as it is reached at a port."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"

    def command(self) -> Sequence[str]:
        """The server; it dies with the thread that starts it."""
        # Those that a killed server leaves behind hold its shared memory for a moment, so it may have to be started more than once.
        server = [
            str(self._programs / "postgres"),
            "-D",
            str(self._data),
            "-p",
            str(self.port),
            "-h",
            "127.0.0.1",
            "-k",
            "",
        ]
        return [*_as_owner(), *server, "-c", "max_connections=200"]

    def remove(self) -> None:
        """Remove its data, once nobody runs it."""
        shutil.rmtree(self._data, ignore_errors=True)

    def is_ready(self) -> bool:
        """Whether it answers."""
        try:
            with psycopg.connect(host="127.0.0.1", port=self.port, user="postgres", connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False


def _as_owner() -> list[str]:
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        msg = "the program setpriv is missing (Debian: apt-get install util-linux)"
        raise FileNotFoundError(msg)
    words = [setpriv, "--pdeathsig", "KILL"]
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        words += [f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    return words
