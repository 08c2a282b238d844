"""The port that is scraped: few connections at a time, each for a short while, and an answer to whom the settings say."""

import ssl
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from io import BytesIO
from socket import AI_PASSIVE, SHUT_RDWR, SOCK_STREAM, getaddrinfo, socket
from socketserver import ThreadingMixIn
from typing import IO, TYPE_CHECKING, Any, cast
from wsgiref.simple_server import ServerHandler, WSGIRequestHandler, WSGIServer

from rocketconnect_kit.access.gate import HOW
from rocketconnect_kit.access.tokens import Tokens
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.certificates import certificate_name
from rocketconnect_kit.settings import ServiceSettings, paths

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

MOST = 64
"""So many connections are held, each with a thread; beyond them the one that has waited longest for its head is closed, or else
the new one."""
HEAD_SECONDS = 10.0
"""How long the head of a request may take, with what TLS needs before it."""
ANSWER_SECONDS = 60.0
"""How long the answer may take then, until it is read."""
HEAD_BYTES = 16 * 1024
"""How large a head may be."""
_READY = "/readyz"
_LOOK_SECONDS = 0.5
_CERTIFICATE = "rocketconnect.certificate"
_log = get_logger(__name__)


@dataclass(frozen=True)
class Guard:
    """Who is answered, and how what is said is kept from being read on the way.

    Attributes:
        secure: TLS; None: in the clear.
        tokens: Who is answered; None: nobody is asked who it is.
        certificates: Who asks must show a certificate.
    """

    secure: ssl.SSLContext | None = None
    tokens: Tokens | None = None
    certificates: bool = False

    @staticmethod
    def of(settings: ServiceSettings, *, always_secure: bool = False) -> "Guard":
        """As the settings say.

        Args:
            settings: `metrics_guarded` and what callers of the service itself meet.
            always_secure: TLS is spoken where there is a certificate, guarded or not.

        Raises:
            OSError: a certificate or its key can't be used.
        """
        guarded = settings.metrics_guarded
        certificates = settings.asks_for_certificates and (guarded or always_secure)
        return Guard(
            _secure(settings) if guarded or always_secure else None,
            Tokens(paths(settings.tokens_files)) if guarded and settings.tokens_files else None,
            certificates,
        )

    def refusal(self, environ: "WSGIEnvironment") -> str:
        """Why a request is not answered; empty: it is."""
        shown = environ.get(_CERTIFICATE, "")
        if self.certificates and not shown:
            return "show a certificate that --tls-ca has signed"
        if self.tokens is not None and self.tokens.who(environ.get("HTTP_AUTHORIZATION"), shown) is None:
            return f"who asks is not known; {HOW}"
        return ""


@dataclass(frozen=True)
class Endpoint:
    """A running server."""

    address: str
    server: WSGIServer
    thread: threading.Thread

    def close(self) -> None:
        """Stop it and wait for its thread."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def start(host: str, port: int, shown: "WSGIApplication", guard: Guard, unwell: Callable[[], str] = lambda: "") -> Endpoint:
    """Serve metrics, and `/readyz`, on a thread.

    Args:
        host: Where to listen.
        port: 0: a free one.
        shown: The metrics; called on other threads, as is `unwell`.
        guard: Who is told of them.
        unwell: Says why the service can't do its work, "" when it can. `/readyz` is 503 with it, else 200; it tells everybody.

    Raises:
        OSError: when the port is taken.
    """

    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        if environ["PATH_INFO"] == _READY:
            cause = unwell()
            return _said(start_response, "503 Service Unavailable" if cause else "200 OK", cause or "ready")
        if refusal := guard.refusal(environ):
            return _said(start_response, "401 Unauthorized", refusal, ("WWW-Authenticate", "Bearer"))
        return shown(environ, start_response)

    server = _Server(host, port, answer, guard.secure)
    thread = threading.Thread(target=server.serve_forever, args=(_LOOK_SECONDS,), name="metrics", daemon=True)
    thread.start()
    return Endpoint(f"{host}:{server.server_port}", server, thread)


def _said(start_response: "StartResponse", status: str, text: str, *headers: tuple[str, str]) -> list[bytes]:
    start_response(status, [("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store"), *headers])
    return [f"{text}\n".encode()]


def _secure(settings: ServiceSettings) -> ssl.SSLContext | None:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(settings.tls_cert, settings.tls_key)
    if settings.tls_ca is not None:
        context.load_verify_locations(settings.tls_ca)
        # Whether one is needed is decided by what is asked for: a container's health check has none.
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


@dataclass(slots=True)
class _Open:
    """A connection: when it is over, and whether the head of its request has come."""

    until: float
    heard: bool = False


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, answers: "WSGIApplication", secure: ssl.SSLContext | None) -> None:
        self.address_family = getaddrinfo(host, port, type=SOCK_STREAM, flags=AI_PASSIVE)[0][0]
        self.answers = answers
        self._secure = secure
        self._lock = threading.Lock()
        self._open: dict[socket, _Open] = {}
        self._is_full = False
        super().__init__((host, port), _Handler)

    def heard(self, connection: socket) -> None:
        """The head of its request has come."""
        with self._lock:
            if connection in self._open:
                self._open[connection] = _Open(time.monotonic() + ANSWER_SECONDS, heard=True)

    def get_request(self) -> tuple[socket, Any]:
        connection, address = super().get_request()
        connection.settimeout(HEAD_SECONDS)
        if self._secure is not None:
            # Its thread greets: one that says nothing would keep all others waiting here.
            connection = self._secure.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            closed = None
            if len(self._open) >= MOST:
                closed = next((each for each, known in self._open.items() if not known.heard), request)
                self._open.pop(closed, None)
            if closed is not request:
                self._open[request] = _Open(time.monotonic() + HEAD_SECONDS)
        if closed is None:
            self._is_full = False
        else:
            if not self._is_full:
                _log.warning("too many connections for metrics: some are closed, those first that say nothing", connections=MOST)
            self._is_full = True
            _hang_up(closed)
        if closed is request:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self._secure is not None:
            request.do_handshake()
        super().finish_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End what takes too long; called several times a second."""
        now = time.monotonic()
        with self._lock:
            late = [each for each, known in self._open.items() if known.until < now]
            for each in late:
                _hang_up(each)

    def handle_error(self, request: Any, client_address: Any) -> None:
        del request
        _log.debug("a connection for metrics has ended", caller=str(client_address), exc_info=True)


def _hang_up(connection: socket) -> None:
    """End what its thread waits for; that closes it."""
    with suppress(OSError):  # it is closed already
        # Not as TLS does it: that would change what the thread reads from under it.
        socket.shutdown(connection, SHUT_RDWR)


class _TooLargeError(Exception):
    """The head of a request is."""


class _Head:
    """The head of a request, of a limited size. Nothing behind it is read."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._left = HEAD_BYTES
        self.close = file.close

    def readline(self, size: int = -1) -> bytes:
        most = self._left + 1
        line: bytes = self._file.readline(most if size < 0 else min(size, most))
        self._left -= len(line)
        if self._left < 0:
            raise _TooLargeError
        return line


class _Handler(WSGIRequestHandler):
    server: _Server
    timeout = HEAD_SECONDS

    def handle(self) -> None:
        self.rfile = _Head(self.rfile)  # type: ignore[assignment]
        try:
            self.raw_requestline = self.rfile.readline()
            if not self.parse_request():
                return
        except _TooLargeError:
            self.requestline, self.command, self.request_version = "", "", "HTTP/1.0"
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return
        self.server.heard(self.connection)
        answer = _Answer(BytesIO(), cast("IO[bytes]", self.wfile), self.get_stderr(), self.get_environ())
        answer.request_handler = self  # type: ignore[attr-defined]
        answer.run(self.server.answers)

    def get_environ(self) -> "WSGIEnvironment":
        environ = super().get_environ()
        if isinstance(self.connection, ssl.SSLSocket):
            environ[_CERTIFICATE] = certificate_name(self.connection.getpeercert())
        return environ

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that it has there
        pass


class _Answer(ServerHandler):
    def log_exception(self, exc_info: Any) -> None:
        # Who asked may be gone, or read too slowly.
        if not isinstance(exc_info[1], OSError):
            _log.error("metrics could not be told", exc_info=exc_info)
