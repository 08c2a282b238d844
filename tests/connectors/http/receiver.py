"""A server that keeps what it is sent, and answers as it is told."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

Fault = Callable[["_Handler", "Sent"], bool]
"""Answers in the place of the server, or not; whether it has."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request.

    Attributes:
        method: Of it.
        path: With its parameters.
        headers: By their names in lower case.
        body: Of it.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


class Receiver(ThreadingHTTPServer):
    """The server.

    Attributes:
        seen: What was taken.
        faults: What goes wrong with the next requests, one of them each.
        always: What goes wrong with each request; None: nothing.
        tokens: How many were given; the newest one is "token-N". `seconds`: how long one is good.
        asked: The bodies of requests for tokens.
    """

    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.server_port}"
        self.seen: list[Sent] = []
        self.faults: list[Fault] = []
        self.always: Fault | None = None
        self.tokens = 0
        self.seconds: object = 3600
        self.asked: list[Sent] = []

    @contextmanager
    def running(self) -> Iterator["Receiver"]:
        thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        with self:
            yield self
            self.shutdown()
        thread.join()

    def handle_error(self, *_: object) -> None:
        """Clients may go away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    server: Receiver

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def answer(self, status: int, body: bytes | str | Mapping[str, Any] = b"", **headers: str) -> None:
        data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        for name, text in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else data)

    def _do(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) < length:
            # Who has sent it was killed in the middle.
            self.close_connection = True
            return None
        sent = Sent(self.command, self.path, {name.lower(): text for name, text in self.headers.items()}, body)
        if self.path == "/oauth/token":
            return self._token(sent)
        if self.command == "HEAD":
            return self.answer(404)
        if self.server.faults and self.server.faults.pop(0)(self, sent):
            return None
        if self.server.always is not None and self.server.always(self, sent):
            return None
        self.server.seen.append(sent)
        return self.answer(202)

    def _token(self, sent: Sent) -> None:
        self.server.asked.append(sent)
        asked = parse_qs(sent.body.decode())
        if asked["grant_type"] != ["client_credentials"] or ("authorization" not in sent.headers and "client_secret" not in asked):
            return self.answer(400, {"error": "invalid_request"})
        if "d3Jvbmc" in sent.headers.get("authorization", "") or asked.get("client_secret") == ["wrong"]:
            return self.answer(401, {"error": "invalid_client", "error_description": "Unknown client"})
        self.server.tokens += 1
        token = {"access_token": f"token-{self.server.tokens}", "token_type": "Bearer", "expires_in": self.server.seconds}
        return self.answer(200, token)


for _method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
    setattr(_Handler, f"do_{_method}", _Handler._do)


def answers(status: int, body: bytes | str | Mapping[str, Any] = b"", **headers: str) -> Fault:
    """Answers so, and takes nothing."""

    def fault(handler: Any, sent: Sent) -> bool:
        del sent
        handler.answer(status, body, **headers)
        return True

    return fault


def breaks(handler: Any, sent: Sent) -> bool:
    """Takes it, and ends the connection in the middle of the answer."""
    handler.server.seen.append(sent)
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    handler.close_connection = True
    return True


def writes(data: bytes) -> Fault:
    """Answers with what is no answer of HTTP."""

    def fault(handler: Any, sent: Sent) -> bool:
        del sent
        handler.wfile.write(data)
        handler.close_connection = True
        return True

    return fault
