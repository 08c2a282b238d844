"""What answers as Vault's documentation says of KV, version 2, and what answers otherwise."""

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

from services.executor.secrets.vault_access import ADDRESS, CA, MOUNTS, NAMESPACE, PATHS, TOKEN_FILE

TOKEN = "s.token-of-the-executor"
"""The one token that may read what is beneath secret/team."""

Answer = tuple[int, Mapping[str, str], bytes]


@dataclass(frozen=True)
class Request:
    """What a server was asked.

    Attributes:
        target: As it stood in the request.
        headers: By their names in lower case.
    """

    target: str
    headers: Mapping[str, str]


@dataclass
class Asked:
    """A server that runs.

    Attributes:
        address: Its URL.
        requests: What it was asked until now.
    """

    address: str
    requests: list[Request] = field(default_factory=list)


@contextmanager
def answering(answer: Callable[[Request], Answer], *, port: int = 0, certificate: Path | None = None) -> Iterator[Asked]:
    """A server of HTTP, or with a PEM file of certificate and key of HTTPS, until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            request = Request(self.path, {name.lower(): value for name, value in self.headers.items()})
            asked.requests.append(request)
            status, headers, body = answer(request)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Tests say what they want to know."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Whoever asked has gone away."""

    server = Server(("127.0.0.1", port), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    asked = Asked(f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_address[1]}")
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def as_vault(stored: Mapping[str, Mapping[str, object] | None]) -> Callable[[Request], Answer]:
    """Answers of a Vault with these secrets, by [NAMESPACE/]MOUNT/PATH; None: one that was deleted."""

    def answer(request: Request) -> Answer:
        path = unquote(urlsplit(request.target).path).removeprefix("/v1/")
        mount, _, name = path.partition("/data/")
        if request.headers.get("x-vault-token") != TOKEN or not f"{mount}/{name}".startswith("secret/team/"):
            return _json(403, {"errors": ["permission denied"]})
        namespace = request.headers.get("x-vault-namespace", "")
        secret = f"{namespace}/{mount}/{name}".strip("/")
        if secret not in stored:
            return _json(404, {"errors": []})
        found = stored[secret]
        return _json(404 if found is None else 200, {"data": {"data": found, "metadata": {"version": 1}}, "warnings": None})

    return answer


def told(
    address: str, token_file: Path, *, paths: str = "secret/team", ca: Path | None = None, namespace: str = ""
) -> dict[str, str]:
    """What a host is told of a Vault."""
    return {
        ADDRESS: address,
        TOKEN_FILE: str(token_file),
        NAMESPACE: namespace,
        CA: str(ca or ""),
        MOUNTS: "secret",
        PATHS: paths,
    }


def _json(status: int, body: object) -> Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(body).encode()
