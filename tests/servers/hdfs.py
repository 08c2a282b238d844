"""HDFS out of Hadoop's jars: a NameNode and a DataNode in a Java process of their own, which are reached by WebHDFS."""

import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from rocketconnect_kit.java.jars import JarSet, jars_of
from tests import free_ports
from tests.server_process import START_SECONDS, JavaServer

HADOOP_VERSION = "3.4.2"
HADOOP = JarSet(
    f"Hadoop {HADOOP_VERSION}",
    Path(__file__).with_name(f"hadoop-{HADOOP_VERSION}.jars"),
    "65 MB",
    "ROCKETCONNECT_HADOOP_JARS",
    ("hadoop-hdfs-*.jar", "hadoop-common-*.jar"),
)
USER = "tester"
"""Who connectors are; whoever runs the tests is the superuser."""
_ROOT = Path("/")
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""The default one takes longer to make than an answer to come."""


class Hdfs(JavaServer):
    """A NameNode with a DataNode.

    Args:
        url: Of one that another process runs; empty: its own.

    Attributes:
        url: Of the NameNode.
    """

    title = "HDFS"
    prefix = "rocketconnect-hdfs-"
    source = Path(__file__).parent / "java" / "OneNodeHdfs.java"

    def __init__(self, url: str = "") -> None:
        self.url = url
        if url:
            return
        super().__init__()
        self.url = f"http://127.0.0.1:{free_ports.choose()}"
        self._ports = [free_ports.choose() for _ in range(4)]

    def command(self) -> Sequence[str]:
        """See Server. Raises JarsUnavailable: the jars could not be downloaded."""
        for name in ("hdfs", "datanode"):
            # Of pages for browsers, which the jars do not have.
            (self.folder / "webapps" / name / "WEB-INF").mkdir(parents=True, exist_ok=True)
        self._write_settings()
        flags = ["--add-opens=java.base/java.lang=ALL-UNNAMED"]
        return self.java(f"{jars_of(HADOOP)}/*", flags, [self.source.stem, f"{self.folder}/name"])

    def _write_settings(self) -> None:
        names, *others = self._ports
        data, http, ipc = others
        settings = {
            "fs.defaultFS": f"hdfs://127.0.0.1:{names}",
            "hadoop.tmp.dir": f"{self.folder}/tmp",
            "dfs.namenode.name.dir": f"file://{self.folder}/name",
            "dfs.namenode.http-address": self.url.removeprefix("http://"),
            "dfs.namenode.safemode.extension": "0",
            "dfs.datanode.data.dir": f"file://{self.folder}/data",
            "dfs.datanode.hostname": "127.0.0.1",
            "dfs.datanode.address": f"127.0.0.1:{data}",
            "dfs.datanode.http.address": f"127.0.0.1:{http}",
            "dfs.datanode.ipc.address": f"127.0.0.1:{ipc}",
            "dfs.replication": "1",
            "dfs.heartbeat.interval": "1",
            # The DataNode asks so soon again whether a file is closed.
            "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "5",
            # So that a folder of some files has several pages.
            "dfs.ls.limit": "10",
        }
        fields = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in settings.items())
        (self.folder / "hdfs-site.xml").write_text(f"<configuration>{fields}</configuration>")

    def answers(self) -> bool:
        """Whether it takes files."""
        try:
            self.put("ready", "file", b"")
        except (httpx.HTTPError, AssertionError):
            return False
        return True

    @property
    def rpc_port(self) -> int:
        """Where the NameNode speaks to Hadoop's clients."""
        return self._ports[0]

    def safe_mode(self, wanted: str) -> None:
        """Lets the NameNode "enter" its safe mode, in which nothing is changed, or "leave" it."""
        class_path = f"{self.folder}:{jars_of(HADOOP)}/*"
        command = ["java", "-cp", class_path, "org.apache.hadoop.hdfs.tools.DFSAdmin", "-safemode", wanted]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, timeout=START_SECONDS)

    def options(self) -> dict[str, str]:
        """The options of a connector for it, but for the URL of the folder."""
        return {"endpoint": self.url, "user.name": USER}

    @staticmethod
    def place(bucket: str) -> str:
        """The URL of a folder, as connectors have it."""
        return f"hdfs:///{bucket}"

    def make(self, bucket: str) -> None:
        """A folder that everybody may write."""
        assert self.ask("PUT", bucket, "MKDIRS", permission="777").json() == {"boolean": True}

    def ask(self, method: str, path: str, operation: str, data: bytes = b"", **more: str) -> httpx.Response:
        """One request as the superuser, wherever it is led."""
        url = f"{self.url}/webhdfs/v1/{quote(path)}"
        who = {"op": operation, "user.name": _ROOT.owner(), **more}
        with httpx.Client(timeout=60, verify=_NO_TLS) as client:
            answer = client.request(method, url, params=who)
            if answer.is_redirect:
                answer = client.request(method, answer.headers["location"], content=data)
        assert answer.is_success, answer.text
        return answer

    def objects(self, bucket: str, prefix: str = "") -> dict[str, bytes]:
        """By its path below a folder what is in each file."""
        found: dict[str, bytes] = {}
        below = f"{bucket}/{prefix}".rstrip("/")
        try:
            listed = self.ask("GET", below, "LISTSTATUS").json()["FileStatuses"]["FileStatus"]
        except AssertionError as error:
            if "FileNotFoundException" in str(error):
                return {}
            raise
        for each in listed:
            name = f"{prefix.rstrip('/')}/{each['pathSuffix']}".lstrip("/")
            if each["type"] == "DIRECTORY":
                found |= self.objects(bucket, name)
            else:
                found[name] = self.get(bucket, name)
        return found

    def get(self, bucket: str, key: str) -> bytes:
        """A file."""
        return self.ask("GET", f"{bucket}/{key}", "OPEN").content

    def put(self, bucket: str, key: str, data: bytes) -> None:
        """Makes or replaces a file."""
        self.ask("PUT", f"{bucket}/{key}", "CREATE", data, overwrite="true")

    def delete(self, bucket: str, key: str) -> None:
        """Removes a file."""
        self.ask("DELETE", f"{bucket}/{key}", "DELETE", recursive="true")

    def status(self, bucket: str, key: str) -> dict[str, Any]:
        """What the NameNode knows of a file."""
        found: dict[str, Any] = self.ask("GET", f"{bucket}/{key}", "GETFILESTATUS").json()["FileStatus"]
        return found

    def tag(self, bucket: str, key: str) -> str:
        """What is another one of a file that is written anew."""
        status = self.status(bucket, key)
        return f"{status['fileId']} {status['modificationTime']} {status['length']}"
