"""The host's end of the socket to its executor."""

import os
import socket
import threading
from collections.abc import Iterator

from services.executor.contract.messages import Event, Exit, Order, decode_order, encode


class Line:
    """Orders in, events out. Sending is safe from any thread."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def orders(self) -> Iterator[Order]:
        """Every order, until the executor closes its end."""
        with self._connection.makefile("rb") as lines:
            while True:
                try:
                    line = lines.readline()
                except ConnectionResetError:
                    # It is gone, and had not read all that was sent to it.
                    return
                # A line without its end is what was in the socket when the executor died.
                if not line.endswith(b"\n"):
                    return
                yield decode_order(line)

    def send(self, *events: Event) -> None:
        """Send events together, in order. Blocks while the executor does not read; ends the process when it is gone."""
        data = b"".join(map(encode, events))
        try:
            with self._sending:
                self._connection.sendall(data)
        except OSError:
            os._exit(Exit.PARENT_GONE)
