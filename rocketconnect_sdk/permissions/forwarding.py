"""Lets clients of HTTP that do not use Python's sockets connect through those: a proxy of this process, for it alone.

Such a client looks names up by itself, and follows redirects. Through the proxy each of its connections is one of this process,
judged as rocketconnect_sdk.permissions.connections judges all of them.
"""

import contextlib
import logging
import os
import socket
import threading
from urllib.parse import urlsplit
from urllib.request import getproxies

from rocketconnect_sdk.permissions import connections
from rocketconnect_sdk.permissions.connections import HostRefused

_LONGEST_HEAD = 64 << 10
_PIECE = 256 << 10
_CONNECT_SECONDS = 5.0
_HEAD_SECONDS = 10.0
_END = b"\r\n\r\n"
_PORTS = {"http": 80, "https": 443}

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_proxy: tuple[int, str] | None = None


class _Wrong(ValueError):
    """What came is no request to a proxy."""


def proxy() -> str | None:
    """The URL of the proxy, which runs for as long as the process. May be called from any thread. Raises OSError: it cannot listen.

    None: nobody guards this process, or the environment names a proxy, which all requests then go through, and which decides.
    """
    global _proxy  # noqa: PLW0603 - one of the process
    if not connections.is_guarded() or {"http", "https", "all"} & set(getproxies()):
        return None
    with _lock:
        # A copy of a process has no threads of it.
        if _proxy is None or _proxy[0] != os.getpid():
            listening = socket.create_server(("127.0.0.1", 0), backlog=128)
            _proxy = os.getpid(), f"http://127.0.0.1:{listening.getsockname()[1]}"
            threading.Thread(target=_accept, args=(listening,), name="proxy of this process", daemon=True).start()
        return _proxy[1]


def _accept(listening: socket.socket) -> None:
    while True:
        client, _ = listening.accept()
        threading.Thread(target=_serve, args=(client,), name="proxied connection", daemon=True).start()


def _serve(client: socket.socket) -> None:
    with client:
        client.settimeout(_HEAD_SECONDS)
        try:
            head, rest = _head(client)
            host, port, opening = wanted(head)
        except (OSError, ValueError):
            return
        try:
            server = socket.create_connection((host, port), _CONNECT_SECONDS)
        except HostRefused as error:
            _log.warning("a connection was refused: %s", error)
            _answer(client, "421 Misdirected Request", str(error))
            return
        except OSError as error:
            _answer(client, "502 Bad Gateway", f"{host}:{port} cannot be reached: {error}")
            return
        with server:
            for each in (client, server):
                each.settimeout(None)
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with contextlib.suppress(OSError):
                if opening is None:
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    server.sendall(opening)
                server.sendall(rest)
            answers = threading.Thread(target=_copy, args=(server, client), name="answers of a proxied connection", daemon=True)
            answers.start()
            _copy(client, server)
            answers.join()


def _head(client: socket.socket) -> tuple[bytes, bytes]:
    """The head of the first request, and what came behind it."""
    data = b""
    while _END not in data:
        part = client.recv(_PIECE)
        if not part or len(data) > _LONGEST_HEAD:
            raise _Wrong
        data += part
    head, _, rest = data.partition(_END)
    return head, rest


def wanted(head: bytes) -> tuple[str, int, bytes | None]:
    """Where a request goes, and its head for the server; None: it wants the connection alone. Raises ValueError: it is none.

    A connection goes to one server: that of its first request. So it is told to end after that.
    """
    first, *lines = head.split(b"\r\n")
    method, target, version = first.decode("latin-1").split(" ", 2)
    parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
    port = parts.port or _PORTS.get(parts.scheme)
    if not parts.hostname or port is None:
        raise _Wrong
    if method == "CONNECT":
        return parts.hostname, port, None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = [line for line in lines if line.partition(b":")[0].strip().lower() not in (b"connection", b"proxy-connection")]
    opening = b"\r\n".join([f"{method} {path} {version}".encode("latin-1"), *kept, b"Connection: close"])
    return parts.hostname, port, opening + _END


def _copy(source: socket.socket, target: socket.socket) -> None:
    buffer = memoryview(bytearray(_PIECE))
    try:
        while count := source.recv_into(buffer):
            target.sendall(buffer[:count])
    except OSError:
        # One side is gone: so is the other one then.
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
    else:
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


def _answer(client: socket.socket, status: str, text: str) -> None:
    body = text.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    with contextlib.suppress(OSError):
        client.sendall(head.encode() + body)
