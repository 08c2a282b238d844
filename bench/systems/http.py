"""Requests with several records: to a server that only takes them, for pages of a list, and to us."""

import multiprocessing
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx

from bench.systems import moved
from bench.systems.driving import sinking, sourcing
from bench.systems.system import Compared, Move
from connectors.http.sink import HttpSink
from connectors.http.source import HttpSource
from connectors.http.webhook_source import WebhookSource
from tests import free_ports

_IN_A_REQUEST = 500
_SENDERS = 4


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink, and the sources that ask and that are asked, until the end of the block."""
    bodies: list[bytes] = []
    port = free_ports.choose()
    listening = {"listen": f"127.0.0.1:{port}", "value.format": "text", "records": "lines"}
    with _taking(bodies.append) as url, _giving(records) as pages:
        config = {"url": url, "request.format": "joined", "request.records": str(_IN_A_REQUEST)}
        reading = {"url": pages, "pages": "offset", "page.size.parameter": "limit", "page.size": str(_IN_A_REQUEST)}
        yield [
            Compared(
                "http_sink",
                "httpx",
                lambda: sinking(HttpSink(), config, records),
                lambda: _post(url, records),
                lambda: (line for body in bodies for line in body.splitlines()),
                bodies.clear,
            ),
            Compared(
                "http_source",
                "httpx",
                lambda: sourcing(HttpSource(), reading, records),
                lambda: _get(pages, records),
            ),
            Compared(
                "webhook_source",
                "http.server",
                lambda: _listen(port, listening, records),
                lambda: _serve(port, records),
            ),
        ]


@contextmanager
def _server(handler: type[BaseHTTPRequestHandler], port: int = 0) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/orders"
        server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing is written to the terminal."""

    def answer(self, body: bytes = b"") -> None:
        """Says yes, with a body or without one."""
        self.send_response(200 if body else 204)
        if body:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def _taking(take: Callable[[bytes], object], port: int = 0) -> Iterator[str]:
    """The URL of a server that hands bodies over."""

    class Handler(_Handler):
        def do_POST(self) -> None:
            """Takes the body."""
            take(self.rfile.read(int(self.headers["Content-Length"])))
            self.answer()

        def do_HEAD(self) -> None:
            """Who looks whether it is there."""
            self.answer()

    with _server(Handler, port) as url:
        yield url


@contextmanager
def _giving(records: int) -> Iterator[str]:
    """The URL of a server that has all records as a list, in pages."""

    class Handler(_Handler):
        def do_GET(self) -> None:
            """A page from an offset on."""
            asked = parse_qs(urlsplit(self.path).query)
            begin, limit = int(asked["offset"][0]), int(asked["limit"][0])
            self.answer(f"[{','.join(map(moved.text, range(begin, min(begin + limit, records))))}]".encode())

    with _server(Handler) as url:
        yield url


@contextmanager
def _get(url: str, records: int) -> Iterator[Move]:
    with httpx.Client() as client:

        def move() -> Iterator[str | bytes]:
            found: list[object] = []
            while len(found) < records:
                answer = client.get(url, params={"offset": len(found), "limit": _IN_A_REQUEST})
                found += answer.raise_for_status().json()
            return map(moved.written, found)

        yield move


@contextmanager
def _listen(port: int, config: dict[str, str], records: int) -> Iterator[Move]:
    with sourcing(WebhookSource(), config, records) as receive, _sending(port, records) as sent:
        yield lambda: sent(receive)


@contextmanager
def _serve(port: int, records: int) -> Iterator[Move]:
    found: list[bytes] = []
    with _taking(lambda body: found.extend(body.splitlines()), port), _sending(port, records) as sent:
        yield lambda: sent(lambda: found)


@contextmanager
def _sending(port: int, records: int) -> Iterator[Callable[[Move], Iterable[str | bytes]]]:
    """What moves while a process of its own sends all, and until that has heard that all are there."""
    fork = multiprocessing.get_context("fork")
    begin = fork.Event()
    sender = fork.Process(target=_send, args=(f"http://127.0.0.1:{port}/orders", records, begin.wait), daemon=True)
    sender.start()

    def sent(move: Move) -> Iterable[str | bytes]:
        begin.set()
        values = move()
        sender.join()
        assert sender.exitcode == 0, "not all requests were answered well"
        return values

    yield sent


def _send(url: str, records: int, wait: Callable[[], object]) -> None:
    wait()
    with ThreadPoolExecutor(_SENDERS) as senders:
        parts = [range(number * _IN_A_REQUEST, records, _SENDERS * _IN_A_REQUEST) for number in range(_SENDERS)]
        list(senders.map(lambda begins: _send_some(url, begins, records), parts))


def _send_some(url: str, begins: range, records: int) -> None:
    with httpx.Client(timeout=60) as client:
        for begin in begins:
            texts = map(moved.text, range(begin, min(begin + _IN_A_REQUEST, records)))
            client.post(url, content="\n".join(texts)).raise_for_status()


@contextmanager
def _post(url: str, records: int) -> Iterator[Move]:
    texts = [moved.text(number) for number in range(records)]
    with httpx.Client() as client:

        def move() -> tuple[str, ...]:
            for begin in range(0, records, _IN_A_REQUEST):
                client.post(url, content="\n".join(texts[begin : begin + _IN_A_REQUEST])).raise_for_status()
            return ()

        yield move
