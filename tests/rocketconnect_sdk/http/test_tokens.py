"""Tokens of OAuth2, against a server that gives them and lets nobody in without."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.http import HttpClient, NotLetIn, NoToken, Tokens

SECRET = "s3cr3t-of-mine"


class Giving(ThreadingHTTPServer):
    """Gives tokens, of which the newest counts."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.forms: list[dict[str, list[str]]] = []
        self.valid = True
        self.answer: tuple[int, object] | None = None
        self.seconds = 3600.0
        self.asked = 0


class _Handler(BaseHTTPRequestHandler):
    server: Giving

    def do_POST(self) -> None:
        self.server.forms.append(parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        self.server.valid = True
        token = f"token-{len(self.server.forms)}"
        self._say(*(self.server.answer or (200, {"access_token": token, "expires_in": self.server.seconds})))

    def do_GET(self) -> None:
        self.server.asked += 1
        known = self.server.valid and self.headers["Authorization"] == f"Bearer token-{len(self.server.forms)}"
        self._say(200 if known else 401, {"message": f"{self.headers['Authorization']} is over"})

    def _say(self, status: int, said: object) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass


@pytest.fixture
def server() -> Iterator[Giving]:
    with Giving() as made:
        threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield made
        made.shutdown()


def client_of(server: Giving) -> HttpClient:
    return HttpClient([server.url], tokens=Tokens(f"{server.url}/tokens", "me", SECRET, "some"))


def test_a_token_is_asked_for_once_and_anew_when_it_has_ended(server: Giving) -> None:
    with closing(client_of(server)) as client:
        for _ in range(3):
            assert client.asked("GET", "/").status == 200
        form = {"grant_type": ["client_credentials"], "client_id": ["me"], "client_secret": [SECRET], "scope": ["some"]}
        assert server.forms == [form]
        server.valid = False
        assert client.asked("GET", "/").status == 200
        assert len(server.forms) == 2


def test_a_token_whose_time_is_over_is_not_tried(server: Giving) -> None:
    server.seconds = -1
    with closing(client_of(server)) as client:
        for _ in range(3):
            assert client.asked("GET", "/").status == 200
    assert (len(server.forms), server.asked) == (3, 3)


def test_a_new_token_that_is_refused_is_not_asked_for_again(server: Giving) -> None:
    server.answer = (200, {"access_token": "of-somebody"})
    with closing(client_of(server)) as client, pytest.raises(NotLetIn, match=r"answers 401: Bearer \*\*\* is over"):
        client.asked("GET", "/")
    assert (len(server.forms), server.asked) == (1, 1)


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (
            (401, {"error": "invalid_client", "error_description": f"what {SECRET}"}),
            NoToken,
            r"401: invalid_client: what \*\*\*",
        ),
        ((200, {"access": 1}), SystemAway, "200 with what is no token"),
        ((200, ["a"]), SystemAway, "200 with what is no token"),
        ((200, {"access_token": "a", "expires_in": "soon"}), SystemAway, "200 with what is no token"),
        ((200, {"access_token": "a\n"}), PermanentError, "can't be shown in a header"),
        ((200, {"access_token": "a", "token_type": "mac"}), PermanentError, "its type is mac"),
        ((503, {}), SystemAway, "answers 503"),
    ],
)
def test_a_server_that_gives_no_token_is_told_without_the_secret(
    server: Giving, answer: tuple[int, object], kind: type[Exception], words: str
) -> None:
    server.answer = answer
    with closing(client_of(server)) as client, pytest.raises(kind, match=words) as raised:
        client.asked("GET", "/")
    assert f"{server.url}/tokens" in str(raised.value)
    assert SECRET not in str(raised.value)
    assert server.asked == 0
