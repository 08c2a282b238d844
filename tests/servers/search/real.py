"""Real servers out of the jars of Maven: OpenSearch, and the core of Elasticsearch. They want Java 21 or newer."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import httpx

from rocketconnect_kit.java.find import major_version
from rocketconnect_kit.java.jars import JarSet, jars_of, listed
from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.server_process import Server, ServerFailed

_HERE = Path(__file__).parent
_WANTED = 21
OPENSEARCH_VERSION, ELASTICSEARCH_VERSION = "3.9.0", "9.5.3"
OPENSEARCH = listed(f"OpenSearch {OPENSEARCH_VERSION}", _HERE / f"opensearch-{OPENSEARCH_VERSION}.jars")
ELASTICSEARCH = listed(f"Elasticsearch {ELASTICSEARCH_VERSION}", _HERE / f"elasticsearch-{ELASTICSEARCH_VERSION}.jars")


def _java_home() -> Path:
    homes = [Path(os.environ[name]) for name in ("JAVA25_HOME", "JAVA_HOME") if os.environ.get(name)]
    homes += sorted(Path("/usr/lib/jvm").glob("*"))
    for home in homes:
        if (home / "bin" / "javac").exists() and (major_version(home / "bin" / "java") or 0) >= _WANTED:
            return home
    msg = f"a JDK {_WANTED} or newer is needed: install one (temurin-25-jdk), and set JAVA25_HOME"
    raise ServerFailed(msg)


class SearchServer(Server):
    """A node that is a cluster of its own.

    Class attributes:
        jars: What it is made of.
        source: Its class.
    """

    prefix = "rocketconnect-search-"
    jars: ClassVar[JarSet]
    source: ClassVar[Path]

    def __init__(self) -> None:
        super().__init__()
        self.port, self._transport = free_ports.choose(), free_ports.choose()
        self.url = f"http://127.0.0.1:{self.port}"

    def class_path(self) -> str:
        """Lays out the folder, and says where the classes are."""
        return f"{jars_of(self.jars)}/*"

    def flags(self) -> Sequence[str]:
        """More of Java's."""
        return ()

    def command(self) -> Sequence[str]:
        """See Server."""
        home, path = _java_home(), self.class_path()
        if not (self.folder / f"{self.source.stem}.class").exists():
            compiled = [str(home / "bin" / "javac"), "-nowarn", "-cp", path, "-d", str(self.folder), str(self.source)]
            subprocess.run(compiled, check=True, capture_output=True)
        all_have = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", f"-Djava.io.tmpdir={self.folder}"]
        all_have += ["--enable-native-access=ALL-UNNAMED", "--add-modules", "jdk.incubator.vector"]
        words = [self.source.stem, str(self.folder / "home"), str(self.port), str(self._transport)]
        (self.folder / "home" / "config").mkdir(parents=True, exist_ok=True)
        return tethered([str(home / "bin" / "java"), *all_have, *self.flags(), "-cp", f"{self.folder}:{path}", *words])

    def answers(self) -> bool:
        """See Server."""
        try:
            return httpx.get(f"{self.url}/_cluster/health?wait_for_status=yellow&timeout=1s", timeout=5).is_success
        except httpx.HTTPError:
            return False


class OpenSearch(SearchServer):
    """OpenSearch with the modules that tests need."""

    title = "OpenSearch"
    jars = OPENSEARCH
    source = _HERE / "OpenSearchNode.java"

    def flags(self) -> Sequence[str]:
        """See SearchServer."""
        return [f"-Dopensearch.path.conf={self.folder / 'home'}"]


class Elasticsearch(SearchServer):
    """The core of Elasticsearch: without scripts, data streams, security, and GET /."""

    title = "Elasticsearch"
    jars = ELASTICSEARCH
    source = _HERE / "ElasticsearchNode.java"

    def class_path(self) -> str:
        """See SearchServer: netty is a module with a loader of its own."""
        jars, home = jars_of(self.jars), self.folder / "home"
        module = home / "modules" / "transport-netty4"
        if not module.exists():
            module.mkdir(parents=True)
            (home / "lib").mkdir()
            for jar in jars.glob("*.jar"):
                is_netty = jar.name.startswith(("netty-", "transport-netty4"))
                (module if is_netty else home / "lib").joinpath(jar.name).symlink_to(jar)
            told = {"description": "netty", "version": ELASTICSEARCH_VERSION, "name": "transport-netty4", "java.version": "21"}
            told |= {"elasticsearch.version": ELASTICSEARCH_VERSION, "classname": "org.elasticsearch.transport.netty4.Netty4Plugin"}
            properties = "".join(f"{name}={text}\n" for name, text in told.items())
            (module / "plugin-descriptor.properties").write_text(properties)
            natives = self.folder / "natives" / "linux-x64"
            natives.mkdir(parents=True)
            zstd = next((each for each in Path("/usr/lib/x86_64-linux-gnu").glob("libzstd.so.1*")), None)
            if zstd is None:
                msg = "libzstd is needed (Debian: apt-get install libzstd1)"
                raise ServerFailed(msg)
            shutil.copy(zstd, natives / "libzstd.so")
        return f"{home}/lib/*"

    def flags(self) -> Sequence[str]:
        """See SearchServer."""
        return [
            f"-Des.nativelibs.path={self.folder / 'natives'}",
            "-Dorg.elasticsearch.nativeaccess.enableVectorLibrary=false",
            "-Dlog4j2.formatMsgNoLookups=true",
            "-Djava.security.manager=disallow",
        ]
