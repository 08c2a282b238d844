"""Connections of clients: each says what it wants within a time, and those that say nothing make room for those that do."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.certificates import certificate_name
from services.gateway.rpc.preface import speaks_grpc

if TYPE_CHECKING:
    from uvicorn.server import ServerState

HEAD_SECONDS = 10.0
"""How long the head of a request may take, from the connection or from the first byte of a further one."""
READ_SECONDS = 60.0
"""How long a client may take to read some of what is waiting for it: its connection would be one of MOST for good."""
MOST = 1000
"""So many connections are held; beyond them the one that has waited longest for its head is closed, or else the new one."""
_SILENT: "WeakKeyDictionary[ServerState, OrderedDict[Connection, None]]" = WeakKeyDictionary()
"""By server those whose heads are awaited, the one that has waited longest first."""
_log = get_logger(__name__)


CERTIFICATE = "certificate"
"""In the state of a request: the name in the certificate that its client has shown; "": it has shown none."""


TakesOver = Callable[[asyncio.Transport, bytes, str], None]
"""Answers gRPC on a connection, of which so much was read, and whose client has shown a certificate of this name."""


class Connection(H11Protocol):
    """A connection; see uvicorn's, which closes one only between requests, and counts those that never say anything.

    Args:
        given: See uvicorn.
        takes_over: Gets the connections that speak gRPC; None: none is expected.
        named: See uvicorn.
    """

    def __init__(self, *given: Any, takes_over: TakesOver | None = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self._takes_over = takes_over
        self._begun = b""
        self._awaiting: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._silent = _SILENT.setdefault(self.server_state, OrderedDict())

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it, if there is room, or room can be made."""
        super().connection_made(transport)
        # What asyncio tells of a certificate it has verified.
        shown = transport.get_extra_info("peercert")
        self.app_state = {**self.app_state, CERTIFICATE: certificate_name(shown)}
        if len(self.connections) > MOST:
            silent = next(iter(self._silent), None)
            _log.warning("too many connections: one is closed", connections=len(self.connections), silent=silent is not None)
            (silent or self).transport.abort()
        self._look()

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._takes_over is not None:
            data = self._begun + data
            secure = self.transport.get_extra_info("ssl_object")
            is_grpc = speaks_grpc(data, secure.selected_alpn_protocol() if secure is not None else None)
            if is_grpc is None:
                # Time runs: its head is awaited.
                self._begun = data
                return
            takes_over, self._takes_over, self._begun = self._takes_over, None, b""
            if is_grpc:
                self._heard()
                self.connections.discard(self)
                takes_over(self.transport, data, self.app_state[CERTIFICATE])
                return
        super().data_received(data)
        self._look()

    def pause_writing(self) -> None:
        """Write no more before the client has read: as long as it does not, time runs."""
        super().pause_writing()
        self._unread = self._unread or self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Write on."""
        self._has_read()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._heard()
        self._has_read()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Whether the head of a request is awaited: as long as it is, time runs."""
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._heard()
        elif self._awaiting is None:
            self._silent[self] = None
            self._awaiting = self.loop.call_later(HEAD_SECONDS, self._end)

    def _heard(self) -> None:
        self._silent.pop(self, None)
        if self._awaiting is not None:
            self._awaiting.cancel()
            self._awaiting = None

    def _has_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _end(self) -> None:
        self._heard()
        # Nobody waits for what is not sent: whoever is so slow would read no answer either.
        self.transport.abort()
