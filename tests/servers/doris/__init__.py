"""A stand-in for Apache Doris: a frontend, a backend and the protocol of MySQL, with tables of SQLite in memory.

No server of Doris can be had here. This one answers as the documentation and the sources of Doris 2.1 say: loads and their
transactions, labels, redirects, the texts of refusals. It shows what the connector does with such answers, and not that Doris gives
them. It can be told to lose, delay and refuse, and to stop: `on`, `kill`.
"""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer
from typing import Any, Self

from tests.servers.doris.cluster import USER, Cluster
from tests.servers.doris.http import Http
from tests.servers.doris.sql import Sql


class Doris(Cluster):
    """A cluster that listens: one frontend, one backend, and the port of queries."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._servers: list[_Server] = []

    def start(self) -> None:
        """Answers, at the ports that it had before."""
        kinds: list[tuple[type[_Server], Any]] = [
            (_HttpServer, type("Http", (Http,), {"doris": self, "part": "fe"})),
            (_HttpServer, type("Http", (Http,), {"doris": self, "part": "be"})),
            (_Server, type("Sql", (Sql,), {"doris": self})),
        ]
        for place, (kind, handler) in enumerate(kinds):
            server = kind(("127.0.0.1", self.ports[place]), handler)
            self.ports[place] = server.server_address[1]
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
            self._servers.append(server)

    def kill(self) -> None:
        """Is gone with all connections; what was committed is there when it starts again, and loads under way are not."""
        servers, self._servers = self._servers, []
        for server in servers:
            server.shutdown()
            server.server_close()
            for each in list(server.open):
                with suppress(OSError):
                    each.shutdown(2)
        with self.lock:
            for load in self.loads.values():
                if load.state == "PREPARE":
                    load.state, load.reason = "ABORTED", "coordinate BE is down"

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Started, and ended."""
        self.start()
        try:
            yield self
        finally:
            self.kill()
            self.close()

    def options(self, database: str) -> dict[str, str]:
        """The options of a connector for it."""
        known = {"url": self.url, "query.port": str(self.ports[2]), "database": database}
        return {**known, "user": USER, "request.timeout": "10s"}


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, *args: Any) -> None:
        self.open: set[Any] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever is gone is gone."""


class _HttpServer(_Server, ThreadingHTTPServer):
    pass
