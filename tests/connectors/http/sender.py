"""Sends requests as clients do, each over a connection of its own."""

import http.client
import socket
import ssl
from collections.abc import Mapping


def post(
    port: int,
    body: bytes = b"",
    path: str = "/in",
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
) -> tuple[int, str, dict[str, str]]:
    """The status, the text and the headers of the answer."""
    made = (
        http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=tls)
        if tls
        else http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    )
    try:
        made.request(method, path, body, dict(headers or {}))
        answer = made.getresponse()
        return answer.status, answer.read().decode(), {name.lower(): text for name, text in answer.headers.items()}
    finally:
        made.close()


def spoken(port: int, data: bytes) -> bytes:
    """What comes back until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", port), 60) as made:
        made.sendall(data)
        found = b""
        while part := made.recv(65536):
            found += part
        return found
