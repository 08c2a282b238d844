"""A server between the sink and its store, which can be worse than either."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote, urlsplit

import httpx

from tests.connectors.stores import Server
from tests.servers.handled import handled

_CONDITIONS = {"if-match", "if-none-match", "x-goog-if-generation-match"}
Requests = list[tuple[str, str, Mapping[str, str]]]


@dataclass
class Between:
    """What it does.

    Attributes:
        store: Who really answers; None: nobody does, but with `answer`.
        unconditional: It leaves out the conditions of writes.
        loses: Whether the answer to a request (its method and path) is lost: asked of each, after it was done.
        answer: A status and a body instead.
        requests: The method, the path and the headers of each.
        url: Its URL, with the path of the store's.
    """

    store: Server | None = None
    unconditional: bool = False
    loses: Callable[[str, str], bool] = lambda method, path: False
    answer: tuple[int, str] | None = None
    requests: Requests = field(default_factory=list)
    url: str = ""

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        """One request."""
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append((request.command, request.path, headers))
        body = request.rfile.read(int(headers.get("content-length", 0)))
        if self.answer is not None or self.store is None:
            status, text = self.answer or (500, "")
            self._send(request, status, {}, text.encode())
            return
        left_out = {"host", "connection", "accept-encoding"} | (_CONDITIONS if self.unconditional else set())
        passed = {name: value for name, value in headers.items() if name not in left_out}
        found = httpx.request(request.command, _origin(self.store.url) + request.path, headers=passed, content=body, timeout=60)
        if self.loses(request.command, unquote(request.path)):
            request.close_connection = True
            return
        kept = {
            name: value
            for name, value in found.headers.items()
            if name not in ("content-length", "transfer-encoding", "connection")
        }
        if request.command == "HEAD":
            kept["content-length"] = found.headers.get("content-length", "0")
        self._send(request, found.status_code, kept, found.content)

    @staticmethod
    def _send(request: BaseHTTPRequestHandler, status: int, headers: Mapping[str, str], body: bytes) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        if "content-length" not in headers:
            request.send_header("content-length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)


def _origin(url: str) -> str:
    return url.removesuffix(urlsplit(url).path)


@contextmanager
def between(made: Between) -> Iterator[Between]:
    """It runs until the end of the block."""

    with handled(made.handle) as port:
        made.url = f"http://127.0.0.1:{port}{urlsplit(made.store.url).path if made.store else ''}"
        yield made
