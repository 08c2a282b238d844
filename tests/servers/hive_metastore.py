"""A metastore of Hive, out of the jars that Spark ships: a Java process of its own over Derby, that speaks Thrift."""

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyspark

from rocketconnect_kit.java.find import find_javac
from rocketconnect_kit.tethered import tethered
from tests import free_ports

START_SECONDS = 120.0
_SERVER = "org.apache.hadoop.hive.metastore.HiveMetaStore"
_HEAP = "256m"
_SOURCE = Path(__file__).parent / "java" / "FolderOfS3.java"


class MetastoreFailed(Exception):
    """It does not start; the text has its log."""


class HiveMetastore:
    """A server and its data. It may be killed or suspended, and started again with its data.

    Attributes:
        folder: For its data.
        port: Where it listens.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rocketconnect-metastore-"))
        self.port = free_ports.choose()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        """As connectors name it."""
        return f"thrift://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            MetastoreFailed: it does not.
        """
        settings = {
            "hive.metastore.warehouse.dir": f"file:{self.folder}/warehouse",
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={self.folder}/derby;create=true",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.async.log.enabled": "false",
            "fs.s3a.impl": _SOURCE.stem,
            "folder.of.s3": f"{self.folder}/s3",
        }
        fields = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items())
        (self.folder / "hive-site.xml").write_text(f"<configuration>{fields}</configuration>")
        jars = f"{Path(pyspark.__file__).with_name('jars')}/*"
        if not (self.folder / f"{_SOURCE.stem}.class").exists():
            subprocess.run([find_javac(), "-nowarn", "-cp", jars, "-d", self.folder, _SOURCE], check=True, capture_output=True)
        flags = [
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            f"-Xmx{_HEAP}",
            f"-Dderby.system.home={self.folder}",
            f"-Djava.io.tmpdir={self.folder}",
            f"-Dhive.log.dir={self.folder}",
        ]
        command = ["java", *flags, "-cp", f"{self.folder}:{jars}", _SERVER, "-p", str(self.port)]
        log = self.folder / "server.log"
        with log.open("ab") as file:
            self._process = subprocess.Popen(tethered(command), stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=self.folder)
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                msg = f"the metastore did not start:\n{log.read_text(errors='replace')[-5_000:]}"
                raise MetastoreFailed(msg)
            time.sleep(0.1)

    def answers(self) -> bool:
        """Whether it takes connections."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5):
            return True
        return False

    def signal(self, number: signal.Signals) -> None:
        """Suspends it or lets it go on."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill it; its data stay."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @contextmanager
    def running(self) -> Iterator["HiveMetastore"]:
        """Run it until the end of the block, and remove it with its data.

        Raises:
            MetastoreFailed: it does not start.
        """
        try:
            self.start()
            yield self
        finally:
            self.kill()
            shutil.rmtree(self.folder, ignore_errors=True)
