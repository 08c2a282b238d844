"""ClickHouse: an old server from this machine's own programs (Debian: apt-get install clickhouse-server), and a new engine.

That is in a process of its own, which answers like a server: see tests.servers.clickhouse_embedded.
"""

import json
import shutil
import sys
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any, Self

import httpx

from tests import free_ports
from tests.server_process import Server, ServerFailed

PASSWORD = "the-secret-of-tester"
_CONFIG = """<yandex>
<logger><level>warning</level><console>1</console></logger>
<http_port>{port}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><format_schema_path>{folder}/schemas/</format_schema_path>
<users_config>{folder}/users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size><timezone>{zone}</timezone>{more}
</yandex>"""
_TLS = """<https_port>{port}</https_port><openSSL><server><certificateFile>{certificate}</certificateFile>
<privateKeyFile>{key}</privateKeyFile><verificationMode>none</verificationMode><disableProtocols>sslv2,sslv3</disableProtocols>
</server></openSSL>"""
_USERS = """<yandex>
<profiles><default/><readonly><readonly>1</readonly></readonly></profiles>
<quotas><default/></quotas>
<users>
<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
<tester><password>{password}</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></tester>
<reader><password></password><networks><ip>127.0.0.1</ip></networks><profile>readonly</profile><quota>default</quota></reader>
</users>
</yandex>"""


class ClickHouse(Server):
    """A server with its databases.

    Args:
        zone: Its time zone.
        tls: The certificate of 127.0.0.1 with which it speaks TLS as well, at `tls_url`, and its key; None: it does not.
    """

    title = "ClickHouse"
    prefix = "rocketconnect-clickhouse-"

    def __init__(self, zone: str = "Asia/Tokyo", tls: tuple[Path, Path] | None = None) -> None:
        super().__init__()
        self.port = free_ports.choose()
        self.url = f"http://127.0.0.1:{self.port}"
        self._tls_port, self._tls = free_ports.choose(), tls
        self.tls_url = f"https://127.0.0.1:{self._tls_port}"
        self.database = "default"
        self._zone = zone

    def with_database(self, name: str) -> Self:
        """The same, with a new database for everything."""
        self.run(f"CREATE DATABASE {name}")
        other = copy(self)
        other.database = name
        return other

    def options(self) -> dict[str, str]:
        """The options of a connector for it."""
        return {"url": self.url, "database": self.database}

    def command(self) -> Sequence[str]:
        """See Server."""
        server, setpriv = (shutil.which(name) or shutil.which(name, path="/usr/sbin") for name in ("clickhouse-server", "setpriv"))
        if server is None or setpriv is None:
            msg = "ClickHouse's server and setpriv are needed (Debian: apt-get install clickhouse-server util-linux)"
            raise ServerFailed(msg)
        more = ""
        if self._tls is not None:
            certificate, key = self._tls
            more = _TLS.format(port=self._tls_port, certificate=certificate, key=key)
        config = _CONFIG.format(port=self.port, tcp=free_ports.choose(), folder=self.folder, zone=self._zone, more=more)
        (self.folder / "config.xml").write_text(config)
        (self.folder / "users.xml").write_text(_USERS.format(password=PASSWORD))
        return [setpriv, "--pdeathsig", "KILL", server, f"--config-file={self.folder / 'config.xml'}"]

    def run(self, *queries: str) -> list[list[Any]]:
        """The rows of the last of some queries; none of a statement."""
        return [self._run(query) for query in queries][-1]

    def _run(self, query: str) -> list[list[Any]]:
        reads = query.lstrip().upper().startswith(("SELECT", "SHOW", "DESCRIBE"))
        asked = f"{query} FORMAT JSONCompact" if reads else query
        parameters = {"database": self.database} | ({"output_format_json_quote_64bit_integers": "0"} if reads else {})
        answer = httpx.post(self.url, params=parameters, content=asked.encode(), timeout=60)
        assert answer.is_success, answer.text
        return list(json.loads(answer.text)["data"]) if reads else []

    def answers(self) -> bool:
        """Whether it answers."""
        try:
            return httpx.post(self.url, content=b"SELECT 1", timeout=5).is_success
        except httpx.HTTPError:
            return False


class EmbeddedClickHouse(ClickHouse):
    """A new engine, which answers to the requests that the connectors make. It knows no users."""

    title = "the embedded ClickHouse (of chdb-core)"

    def command(self) -> Sequence[str]:
        """See Server."""
        return [sys.executable, "-m", "tests.servers.clickhouse_embedded", str(self.port), str(self.folder / "data")]

    @property
    def runs_in(self) -> Path:
        """See Server. It finds its module from the root of the repository."""
        return Path(__file__).parents[2]
