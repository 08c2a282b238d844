"""OceanBase's own kernel on one node, in MySQL mode: seekdb, from the wheel that carries it.

It is downloaded when it is used first, 54 MB. It has no tenants, no binlog service and no XA.
https://github.com/oceanbase/seekdb
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymysql

from rocketconnect_kit.java.jars import cache_folder
from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.server_process import Server, ServerFailed

VERSION = "1.4.0.post1"
_PINNED = "sha256:7c1c1e13148189af1332f69b896a818b674db3a4615c7caf1c9db05055738ad6"
_MADE_FOR = ("--python-version=3.11", "--implementation=cp", "--abi=cp311", "--platform=manylinux_2_28_x86_64")
"""One wheel, whichever Python runs the tests: of it only the server is used."""
_PARTS = ("seekdb", "libaio.so.1")
PASSWORD = "the-root-secret"
_SESSION = {"init_command": "SET time_zone = '+00:00'"}
_PARAMETERS = {
    "datafile_size": "256M",
    "datafile_maxsize": "2G",
    "log_disk_size": "2G",
    "memory_limit": "2G",
    "cpu_count": "2",
}


class Seekdb(Server):
    """A server with its databases. It listens on all addresses, which can't be changed: so root has a password."""

    title = "seekdb"
    prefix = "rocketconnect-seekdb-"

    def __init__(self) -> None:
        super().__init__()
        self.port = free_ports.choose()

    def command(self) -> Sequence[str]:
        """See Server."""
        program = program_folder()
        base = self.folder / "base"
        base.mkdir(exist_ok=True)
        words = [f"--port={self.port}", f"--base-dir={base}", "--nodaemon", "--log-level", "WARN"]
        for name, value in _PARAMETERS.items():
            words += ["--parameter", f"{name}={value}"]
        return tethered(["env", f"LD_LIBRARY_PATH={program}", str(program / "seekdb"), *words])

    def answers(self) -> bool:
        """See Server. A new one has its password from then on."""
        try:
            with self.connect():
                return True
        except pymysql.err.OperationalError as error:
            if error.args[0] != 1045:
                return False
        with self.connect(password="") as connection, connection.cursor() as cursor:
            cursor.execute("ALTER USER root IDENTIFIED BY %s", (PASSWORD,))
        return True

    def connect(self, **options: Any) -> "pymysql.Connection":
        """A connection as root, which commits by itself."""
        wanted = {
            "user": "root",
            "password": PASSWORD,
            "charset": "utf8mb4",
            "autocommit": True,
            "connect_timeout": 2,
            **_SESSION,
            **options,
        }
        return pymysql.connect(host="127.0.0.1", port=self.port, **wanted)

    def make(self, database: str, user: str) -> None:
        """An empty database, and a user without a password who may do everything in it."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {database}")
            cursor.execute(f"CREATE USER IF NOT EXISTS {user}@'%'")
            cursor.execute(f"GRANT ALL ON {database}.* TO {user}@'%'")


def program_folder() -> Path:
    """The folder of the server, which is downloaded where it is not yet.

    Raises:
        ServerFailed: it can't be, or another wheel comes than is pinned.
    """
    there = cache_folder() / f"seekdb-{VERSION}"
    if there.exists():
        return there
    there.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=there.parent) as name:
        folder = Path(name)
        (folder / "requirements.txt").write_text(f"pylibseekdb=={VERSION} --hash={_PINNED}\n", encoding="utf-8")
        wanted = ["--no-deps", "--only-binary=:all:", "--require-hashes", *_MADE_FOR, "-r", "requirements.txt"]
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", *wanted], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            msg = f"seekdb {VERSION} could not be downloaded:\n{done.stderr[-3_000:]}"
            raise ServerFailed(msg)
        (wheel,) = folder.glob("*.whl")
        made = folder / "made"
        made.mkdir()
        with zipfile.ZipFile(wheel) as packed:
            for part in _PARTS:
                with packed.open(f"pylibseekdb/{part}") as read, (made / part).open("wb") as written:
                    shutil.copyfileobj(read, written)
                (made / part).chmod(0o755)
        if not there.exists():
            made.rename(there)
    return there
