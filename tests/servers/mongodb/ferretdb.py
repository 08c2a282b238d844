"""FerretDB, which speaks MongoDB's protocol over SQLite: no MongoDB comes through a package registry.

It is built from its module of Go when it is used first, which takes minutes. https://docs.ferretdb.io/v1.24/
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Self

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from rocketconnect_kit.java.jars import cache_folder
from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.server_process import Server, ServerFailed

VERSION = "v1.24.2"
_DATABASES = count(1)
_MEMORY = Path("/dev/shm")


class FerretDb(Server):
    """A server with its databases.

    Args:
        oplog: It is a replica set of one member, and has an oplog.
    """

    title = "FerretDB"
    prefix = "rocketconnect-ferretdb-"

    def __init__(self, *, oplog: bool = False) -> None:
        super().__init__()
        self._oplog = oplog
        self.port = free_ports.choose()
        self._client: MongoClient[dict[str, Any]] = MongoClient(self.url, tz_aware=True, connect=False)
        # SQLite brings each document to disk by itself, which takes hundreds of times as long as in memory.
        self._data = Path(tempfile.mkdtemp(prefix=self.prefix, dir=_MEMORY if _MEMORY.is_dir() else None))

    @contextmanager
    def running(self) -> Iterator[Self]:
        """See Server."""
        try:
            with self._client, super().running():
                if self._oplog:
                    self.begin_oplog()
                yield self
        finally:
            shutil.rmtree(self._data, ignore_errors=True)

    def begin_oplog(self) -> None:
        """The oplog begins anew, without an entry."""
        local = self._client.get_database("local")
        local.drop_collection("oplog.rs")
        local.create_collection("oplog.rs", capped=True, size=64 << 20)

    @property
    def oplog(self) -> Any:
        """The collection of it."""
        return self._client.get_database("local").get_collection("oplog.rs")

    @property
    def url(self) -> str:
        """Of the server."""
        return f"mongodb://127.0.0.1:{self.port}/"

    def new_database(self) -> Any:
        """An empty one."""
        return self._client.get_database(f"shop{next(_DATABASES)}")

    def command(self) -> Sequence[str]:
        """See Server."""
        flags = {
            "handler": "sqlite",
            "sqlite-url": f"file:{self._data}/",
            "listen-addr": f"127.0.0.1:{self.port}",
            "state-dir": str(self.folder),
            "telemetry": "disable",
            "debug-addr": "-",
            "log-level": "warn",
            **({"repl-set-name": "rs0"} if self._oplog else {}),
        }
        return tethered([str(program()), *(f"--{name}={value}" for name, value in flags.items())])

    def answers(self) -> bool:
        """See Server."""
        try:
            client: MongoClient[dict[str, Any]] = MongoClient(self.url, serverSelectionTimeoutMS=200)
            with client:
                client.admin.command("ping")
        except PyMongoError:
            return False
        return True


def program() -> Path:
    """The server, which is built where it is not yet.

    Raises:
        ServerFailed: there is no Go, or it can't be built.
    """
    built = cache_folder() / f"ferretdb-{VERSION}"
    if built.exists():
        return built
    if (go := shutil.which("go", path=f"{os.environ.get('PATH', '')}:/usr/local/go/bin")) is None:
        msg = "Go is needed to build FerretDB (Debian: apt-get install golang)"
        raise ServerFailed(msg)
    built.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=built.parent) as folder:
        told = _run([go, "mod", "download", "-json", f"github.com/FerretDB/FerretDB@{VERSION}"], Path(folder))
        source = Path(folder) / "source"
        shutil.copytree(json.loads(told)["Dir"], source, copy_function=shutil.copyfile)
        for each in (source, *source.rglob("*/")):
            each.chmod(0o755)
        # It does not start where it does not know its version.
        (source / "build" / "version" / "version.txt").write_text(VERSION)
        _run([go, "build", "-o", str(Path(folder) / "ferretdb"), "./cmd/ferretdb"], source)
        (Path(folder) / "ferretdb").rename(built)
    return built


def _run(command: Sequence[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        msg = f"{' '.join(command)} failed:\n{done.stderr[-3_000:]}"
        raise ServerFailed(msg)
    return done.stdout
