"""Connections of the client of HTTP are kept, and end."""

import pickle
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rocketconnect_sdk.http import HttpClient

_SECONDS = 30


class Keeping(BaseHTTPRequestHandler):
    """Answers each request of a connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    made = 0
    ended: threading.Semaphore

    def setup(self) -> None:
        type(self).made += 1
        super().setup()

    def finish(self) -> None:
        super().finish()
        type(self).ended.release()

    def do_POST(self) -> None:
        """Refuses, and reads nothing of the body."""
        self._say(400)

    def do_GET(self) -> None:
        self._say(200)

    def _say(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


@pytest.fixture
def server() -> Iterator[tuple[str, type[Keeping]]]:
    """Its URL, and what it has seen."""
    kind = type("Seen", (Keeping,), {"ended": threading.Semaphore(0)})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as made:
        threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_address[1]}", kind
        made.shutdown()


def test_a_connection_is_kept_until_the_client_is_closed_or_nobody_has_it(server: tuple[str, type[Keeping]]) -> None:
    url, seen = server
    client = HttpClient([url])
    with closing(client):
        for _ in range(3):
            client.asked("GET", "/")
        assert seen.made == 1
    assert seen.ended.acquire(timeout=_SECONDS)
    client.asked("GET", "/")
    assert seen.made == 2
    del client
    assert seen.ended.acquire(timeout=_SECONDS)


def test_what_a_server_has_not_read_of_a_body_is_no_request(server: tuple[str, type[Keeping]]) -> None:
    url, seen = server
    with closing(HttpClient([url])) as client:
        assert client.ask("POST", "/", b"GET /another HTTP/1.1\r\n\r\n").status == 400
        assert client.ask("GET", "/").status == 200
    assert seen.made == 2


def test_who_gets_a_client_pickled_has_connections_of_its_own(server: tuple[str, type[Keeping]]) -> None:
    url, seen = server
    with closing(HttpClient([url])) as client:
        client.asked("GET", "/")
        with closing(pickle.loads(pickle.dumps(client))) as other:  # our own
            other.asked("GET", "/")
        assert seen.ended.acquire(timeout=_SECONDS)
        client.asked("GET", "/")
        assert seen.made == 2
