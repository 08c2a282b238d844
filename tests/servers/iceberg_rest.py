"""Iceberg's own REST catalogue for tests, out of its jars: a Java process of its own, over a file of SQLite."""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pyspark
from pyiceberg.catalog.rest import RestCatalog

from rocketconnect_kit.java.find import find_javac
from rocketconnect_kit.java.jars import JarSet, jars_of
from rocketconnect_kit.tethered import tethered
from tests import free_ports

START_SECONDS = 120.0
VERSION = "1.10.1"
"""The newest one whose tests are to be had as a jar."""
SERVER = JarSet(
    f"Iceberg's REST catalogue {VERSION}",
    Path(__file__).with_name(f"iceberg-rest-{VERSION}.jars"),
    "23 MB",
    "ROCKETCONNECT_ICEBERG_REST_JARS",
    (),
)
WAREHOUSE: Final = "lake"
CLIENT: Final = "loader"
SECRET: Final = "LAKE_SECRET"
TOKEN: Final = "LAKE_TOKEN"
GUEST: Final = "GUEST_TOKEN"
"""A token that is known, and may do nothing."""
_HEAP = "256m"
_PREFIX = "ws/1"
_SOURCE = Path(__file__).parent / "java" / "RestCatalog.java"


def reference(secret: str) -> str:
    """How a connector is told a secret, which is the name of what it is in."""
    return f"${{env:{secret}}}"


class CatalogFailed(Exception):
    """It does not start; the text has its log."""


class RestServer:
    """A server and its data. It may be killed, and started again with its data.

    Attributes:
        folder: For its data.
        port: Where it listens.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rocketconnect-iceberg-rest-"))
        self.port = free_ports.choose()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """As connectors name it."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def warehouse(self) -> Path:
        """The directory that its tables are in."""
        return self.folder / "warehouse"

    @property
    def options(self) -> dict[str, str]:
        """Those of a connector; it may get them as they are, or with its references resolved."""
        return {
            "catalog": "rest",
            "catalog.url": self.url,
            "catalog.warehouse": WAREHOUSE,
            "catalog.user": CLIENT,
            "catalog.password": reference(SECRET),
        }

    def client(self) -> RestCatalog:
        """Of pyiceberg; to be closed."""
        return RestCatalog("theirs", uri=self.url, warehouse=WAREHOUSE, token=TOKEN)

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            CatalogFailed: it does not.
        """
        jars = f"{jars_of(SERVER)}/*:{Path(pyspark.__file__).with_name('jars')}/*"
        if not (self.folder / f"{_SOURCE.stem}.class").exists():
            subprocess.run([find_javac(), "-nowarn", "-cp", jars, "-d", self.folder, _SOURCE], check=True, capture_output=True)
        flags = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-Xmx{_HEAP}", f"-Djava.io.tmpdir={self.folder}"]
        told = [str(self.port), str(self.folder), WAREHOUSE, _PREFIX, CLIENT, SECRET, TOKEN, GUEST]
        command = ["java", *flags, "-cp", f"{self.folder}:{jars}", _SOURCE.stem, *told]
        log = self.folder / "server.log"
        with log.open("ab") as file:
            self._process = subprocess.Popen(tethered(command), stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=self.folder)
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                msg = f"the catalogue did not start:\n{log.read_text(errors='replace')[-5_000:]}"
                raise CatalogFailed(msg)
            time.sleep(0.1)

    def lose_an_answer(self, status: int) -> None:
        """The next commit is done, and answered with this status of an error."""
        (self.folder / "lost").write_text(str(status))

    def end_tokens(self) -> None:
        """Those that clients were given until now are unknown; may be called once."""
        (self.folder / "ended").touch(exist_ok=False)

    def kill(self) -> None:
        """Kill it; its data stay."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @contextmanager
    def running(self) -> Iterator["RestServer"]:
        """Run it until the end of the block, and remove it with its data.

        Raises:
            CatalogFailed: it does not start.
        """
        try:
            self.start()
            yield self
        finally:
            self.kill()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5):
            return True
        return False
