"""Requests with several records as JSON lines, to a server that only takes them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

from bench.systems import moved
from bench.systems.driving import sinking
from bench.systems.system import Compared, Move
from connectors.http.sink import HttpSink

_IN_A_REQUEST = 500


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink, until the end of the block."""
    bodies: list[bytes] = []
    with _server(bodies) as url:
        config = {"url": url, "request.format": "joined", "request.records": str(_IN_A_REQUEST)}
        yield [
            Compared(
                "http_sink",
                "httpx",
                lambda: sinking(HttpSink(), config, records),
                lambda: _post(url, records),
                lambda: (line for body in bodies for line in body.splitlines()),
                bodies.clear,
            )
        ]


@contextmanager
def _server(bodies: list[bytes]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Keeps the body."""
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def do_HEAD(self) -> None:
            """Who looks whether it is there."""
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing is written to the terminal."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/orders"
        server.shutdown()


@contextmanager
def _post(url: str, records: int) -> Iterator[Move]:
    texts = [moved.text(number) for number in range(records)]
    with httpx.Client() as client:

        def move() -> tuple[str, ...]:
            for begin in range(0, records, _IN_A_REQUEST):
                client.post(url, content="\n".join(texts[begin : begin + _IN_A_REQUEST])).raise_for_status()
            return ()

        yield move
