"""Packets of the client/server protocol, read from a socket in bulk.

https://mariadb.com/kb/en/0-packet/. One of 16 MiB - 1 goes on in the next.
"""

import os
import select
import socket
import ssl
import threading
import time

from rocketconnect_sdk.errors import PermanentError, SystemAway

_HEAD = 4
_WHOLE = 0xFFFFFF
_BUFFER = 1 << 18
LARGEST = 1 << 30
"""What a server sends a replica at most (slave_max_allowed_packet)."""


class PacketTooLarge(PermanentError):
    """What a server sends has more bytes than are taken; none of it was given."""


class PacketReader:
    """Reads the packets that come over a connection. `close` may be called from another thread, and ends a read at once.

    The memory that it takes is that of the largest packet that has come, and a quarter MiB.

    Args:
        sock: The connection; it belongs to this object from now on.
        largest: The most bytes of a packet with all that it goes on in.
    """

    def __init__(self, sock: socket.socket, largest: int = LARGEST) -> None:
        self._socket = sock
        self._largest = largest
        self._buffer = bytearray(_BUFFER)
        self._start = self._end = 0
        self._parts: list[bytes] = []
        self._closed = False
        self._reading = threading.Lock()
        self._wake, self._waker = os.pipe()
        self._poll = select.poll()
        self._poll.register(self._wake, select.POLLIN)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def read(self, timeout: float) -> list[bytes]:
        """What has come: whole packets without their heads; none after so many seconds without any, or when it was closed.

        Raises:
            SystemAway: the connection is lost.
            PacketTooLarge: see there.
        """
        deadline = time.monotonic() + timeout
        with self._reading:
            while not self._closed:
                if packets := self._whole():
                    return packets
                if not self._receive(deadline):
                    break
        return []

    def close(self) -> None:
        """Closes the connection. Calling it again does nothing."""
        if self._closed:
            return
        self._closed = True
        os.write(self._waker, b"x")
        with self._reading:
            self._socket.close()
            os.close(self._wake)
            os.close(self._waker)

    def _receive(self, deadline: float) -> bool:
        """More bytes; False when the time is over."""
        self._make_room()
        # PyMySQL gives the socket a timeout for what it writes and reads by itself.
        if self._socket.gettimeout() != 0:
            self._socket.setblocking(False)
        while not self._closed:
            wanted = select.POLLIN
            try:
                with memoryview(self._buffer) as view:
                    got = self._socket.recv_into(view[self._end :])
            except (BlockingIOError, ssl.SSLWantReadError):
                pass
            except ssl.SSLWantWriteError:
                wanted = select.POLLOUT
            except OSError as error:
                msg = f"the connection to the database is lost: {error}"
                raise SystemAway(msg) from error
            else:
                if not got:
                    msg = "the database closed the connection"
                    raise SystemAway(msg)
                self._end += got
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._poll.register(self._socket, wanted)
            self._poll.poll(left * 1000)
        return False

    def _make_room(self) -> None:
        if self._start:
            self._buffer[: self._end - self._start] = self._buffer[self._start : self._end]
            self._end -= self._start
            self._start = 0
            if len(self._buffer) > _BUFFER and self._end < _BUFFER:
                del self._buffer[_BUFFER:]
        if self._end == len(self._buffer):
            # A packet that says that it is large gets memory as it comes.
            self._buffer += bytes(len(self._buffer))

    def _whole(self) -> list[bytes]:
        packets: list[bytes] = []
        buffer, at, end = self._buffer, self._start, self._end
        with memoryview(buffer) as view:
            while end - at >= _HEAD:
                size = buffer[at] | buffer[at + 1] << 8 | buffer[at + 2] << 16
                until = at + _HEAD + size
                if until > end:
                    break
                packet = bytes(view[at + _HEAD : until])
                at = until
                if self._parts or size == _WHOLE:
                    self._parts.append(packet)
                    if sum(map(len, self._parts)) > self._largest:
                        msg = f"the server sends a packet of more than {self._largest} bytes"
                        raise PacketTooLarge(msg)
                    if size == _WHOLE:
                        continue
                    packet = b"".join(self._parts)
                    self._parts = []
                packets.append(packet)
        self._start = at
        return packets
