"""A PostgreSQL server of this machine's own programs, with its defaults: what it has confirmed is on disk."""

import os
import pwd
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from bench.workload import BenchFailed
from rocketconnect_cli.embedded import ports

START_SECONDS = 30.0


def programs() -> Path | None:
    """The folder with the newest server's programs; None: there is none (Debian: apt-get install postgresql)."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    return found[-1] if found else None


@contextmanager
def postgres(binaries: Path, folder: Path) -> Iterator[str]:
    """A server until the end of the block; gives the URL of an empty database.

    Raises:
        BenchFailed: it does not start.
    """
    data = folder / "postgres"
    data.mkdir(mode=0o700)
    as_owner = ["setpriv", "--pdeathsig", "KILL"]
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root.
        nobody = pwd.getpwnam("nobody")
        for path in (folder, data):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        as_owner += [f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    made = [str(binaries / "initdb"), "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale"]
    subprocess.run([*as_owner, *made], check=True, capture_output=True, cwd=folder, timeout=START_SECONDS)
    port = ports.choose()
    command = [*as_owner, str(binaries / "postgres"), "-D", str(data), "-p", str(port), "-h", "127.0.0.1", "-k", ""]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder) as process:
        try:
            _wait(port)
            yield f"postgresql+psycopg://postgres@127.0.0.1:{port}/bench"
        finally:
            process.terminate()


def _wait(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with psycopg.connect(host="127.0.0.1", port=port, user="postgres", autocommit=True) as connection:
                connection.execute("CREATE DATABASE bench")
                return
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline:
                msg = f"PostgreSQL did not start: {error}"
                raise BenchFailed(msg) from error
            time.sleep(0.05)
