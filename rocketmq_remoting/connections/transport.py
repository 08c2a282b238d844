"""Byte streams to one server: plain TCP, and TLS on top.

One thread reads and any number write, one at a time; the caller holds the lock for writing.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import sys
import threading
from typing import TYPE_CHECKING, Protocol

from rocketmq_remoting.connections.clock import boot_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocketmq_remoting.model import TlsOptions

_READ_BUFFER = 1 << 16
_TLS_RECORD = 1 << 14


class Transport(Protocol):
    """A connected byte stream."""

    def read(self, size: int) -> bytes:
        """Return exactly `size` bytes, or fewer at the end of the stream. Raises OSError."""

    def write(self, buffers: Sequence[bytes], give_up_at: float) -> None:
        """Hand all bytes to the operating system.

        Raises:
            TimeoutError: they were not all taken by `give_up_at` (`clock.boot_seconds`); the stream is then of no more use.
            OSError: the stream broke.
        """

    def close(self) -> None:
        """End the stream; a thread blocked in `read` returns."""


def connect(
    host: str, port: int, timeout: float, tls: TlsOptions | None, unacknowledged: float, address: str | None = None
) -> Transport:
    """Connect to a server. What it has not acknowledged within `unacknowledged` seconds is not sent again: the stream then breaks.

    Args:
        host: its name, which its certificate has.
        port: its port.
        timeout: for all of it, seconds.
        tls: for a server that speaks TLS.
        unacknowledged: see above.
        address: what is connected to in the place of the name.

    Raises:
        OSError: it can't be reached within `timeout` seconds, or the TLS handshake failed.
    """
    sock = socket.create_connection((address or host, port), timeout)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _notice_silence(sock, unacknowledged)
        if tls is not None:
            return TlsTransport(sock, tls.context, tls.server_hostname or host)
        sock.settimeout(None)
        return TcpTransport(sock)
    except BaseException:
        sock.close()
        raise


def _notice_silence(sock: socket.socket, unacknowledged: float) -> None:
    """Let the kernel end a connection whose other side is gone without a word: an idle one within about 15 seconds.

    One with bytes under way sooner, if so wanted. The kernel keeps to that also when the stream was closed or its process is gone.
    """
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sys.platform == "linux":
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 5)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 3)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(unacknowledged * 1000))


class TcpTransport:
    """Plain TCP."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._ahead = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        """See `Transport.read`."""
        end = self._at + size
        if end <= len(self._ahead):
            taken = self._ahead[self._at : end]
            self._at = end
            return taken
        parts = [self._ahead[self._at :]]
        missing = size - len(parts[0])
        self._ahead, self._at = b"", 0
        while missing >= _READ_BUFFER:
            # One call for all of it: each return from a call waits for the interpreter's lock.
            part = self._sock.recv(missing, socket.MSG_WAITALL)
            if not part:
                return b"".join(parts)
            parts.append(part)
            missing -= len(part)
        while missing:
            part = self._sock.recv(_READ_BUFFER)
            if not part:
                break
            self._at = min(missing, len(part))
            self._ahead = part
            parts.append(part[: self._at])
            missing -= self._at
        return b"".join(parts)

    def write(self, buffers: Sequence[bytes], give_up_at: float) -> None:
        """See `Transport.write`."""
        try:
            sent = self._sock.sendmsg(buffers, (), socket.MSG_DONTWAIT)
        except BlockingIOError:
            sent = 0
        if sent < sum(map(len, buffers)):
            _write_rest(self._sock, memoryview(b"".join(buffers))[sent:], give_up_at)

    def close(self) -> None:
        """See `Transport.close`."""
        _shut(self._sock)
        self._sock.close()


class TlsTransport:
    """TLS over TCP.

    Reading and writing meet in one TLS state, which is no place for two threads, so each step on it takes a lock and
    the socket is read and written outside of it.
    """

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, server_hostname: str) -> None:
        self._sock = sock
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_hostname)
        self._lock = threading.Lock()
        self._plain = bytearray()
        self._handshake()
        sock.settimeout(None)

    def _handshake(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._sock.sendall(self._outgoing.read())
                data = self._sock.recv(_READ_BUFFER)
                if not data:
                    msg = "the server closed the connection during the TLS handshake"
                    raise ConnectionResetError(msg) from None
                self._incoming.write(data)
            else:
                self._sock.sendall(self._outgoing.read())
                return

    def read(self, size: int) -> bytes:
        """See `Transport.read`."""
        while len(self._plain) < size:
            with self._lock:
                more = self._decrypted()
            if more is None:
                data = self._sock.recv(_READ_BUFFER)
                if not data:
                    break
                with self._lock:
                    self._incoming.write(data)
            elif more:
                self._plain += more
            else:
                break
        taken = bytes(self._plain[:size])
        del self._plain[:size]
        return taken

    def _decrypted(self) -> bytes | None:
        """Return plain bytes, None if more of the stream is needed, nothing at its end."""
        try:
            return self._tls.read(_READ_BUFFER)
        except ssl.SSLWantReadError:
            return None
        except ssl.SSLZeroReturnError:
            return b""

    def write(self, buffers: Sequence[bytes], give_up_at: float) -> None:
        """See `Transport.write`."""
        plain = memoryview(b"".join(buffers))
        for start in range(0, len(plain), _TLS_RECORD * 16):
            with self._lock:
                self._tls.write(plain[start : start + _TLS_RECORD * 16])
                cipher = self._outgoing.read()
            _write_rest(self._sock, memoryview(cipher), give_up_at)

    def close(self) -> None:
        """See `Transport.close`."""
        _shut(self._sock)
        self._sock.close()


def _write_rest(sock: socket.socket, data: memoryview, give_up_at: float) -> None:
    poller = select.poll()
    poller.register(sock, select.POLLOUT)
    while data:
        # Looked at before each part: the machine may have been suspended since the one before.
        left = give_up_at - boot_seconds()
        if left <= 0:
            msg = "the server takes no more bytes"
            raise TimeoutError(msg)
        try:
            data = data[sock.send(data, socket.MSG_DONTWAIT) :]
        except BlockingIOError:
            poller.poll(left * 1000)


def _shut(sock: socket.socket) -> None:
    # The other side may have gone first; closed is closed.
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
