"""A server on 127.0.0.1 that stands where REST is asked, and writes down what it is asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import typer.main
import typer.testing
from typer.testing import Result

from tests.spoken import answered


@pytest.fixture(scope="session", autouse=True)
def _built_once() -> Iterator[None]:
    """The tree of commands is built once and not for each command, of which there are thousands: half of what one takes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(typer.testing, "_get_command", cache(typer.main.get_command))
        yield


def run(url: str, *words: str) -> Result:
    """What a command says that asks there."""
    return answered(*words, "--url", url)


def ago(**time: int) -> str:
    """That time before now, as REST tells it."""
    return (datetime.now(UTC) - timedelta(**time)).isoformat().replace("+00:00", "Z")


@dataclass
class Rest:
    """What it answers to everything, and the requests that came."""

    status: int = 200
    body: bytes = b"{}"
    bodies: dict[str, bytes] = field(default_factory=dict)
    """By path, without the query, where it answers otherwise."""
    statuses: dict[str, int] = field(default_factory=dict)
    """The same."""
    first: dict[str, list[bytes]] = field(default_factory=dict)
    """By path what it answers first, each once."""
    asked: list[str] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)
    encodings: list[str] = field(default_factory=list)
    """How the answers may be packed, as the requests say."""
    url: str = ""


RestFactory = Callable[[int, object], Rest]


@pytest.fixture
def rest_factory() -> Iterator[RestFactory]:
    """Start one that answers this status and this: bytes as they are, all else as JSON."""
    with ExitStack() as running:

        def start(status: int, answer: object) -> Rest:
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            return running.enter_context(_serving(Rest(status, body)))

        yield start


@contextmanager
def _serving(rest: Rest) -> Iterator[Rest]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            rest.sent.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            rest.asked.append(f"{self.command} {self.path}")
            rest.encodings.append(self.headers.get("Accept-Encoding", ""))
            path = self.path.partition("?")[0]
            self.send_response(rest.statuses.get(path, rest.status))
            waiting = rest.first.get(path)
            body = waiting.pop(0) if waiting else rest.bodies.get(path, rest.body)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    for method in ("GET", "POST", "PUT", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.answer)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        rest.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield rest
        finally:
            server.shutdown()
            thread.join()
