"""Rows of the text protocol, taken as they come and read as columns, without an object for each value.

https://mariadb.com/kb/en/resultset-row/: each value is its length and its text; a first byte of 251 is NULL, from 252 on the length
follows in 2, 3 or 8 bytes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from connectors.mysql.packets import PacketReader
from rocketconnect_sdk.changes.slices import Array, binary

GEOMETRY = 255
"""The type of such columns, in the packets that describe them."""
_COM_QUERY = 0x03
_EOF, _ERROR = 0xFE, 0xFF
_EOF_SIZE = 9
_NULL = 251
_LENGTHS = {252: 2, 253: 3, 254: 8}
_TEXTS_OF_A_COLUMN = 6
_KIND_BEHIND_THEM = 7
_SRID = 4


class TextRows:
    """Runs a query, whose rows stay with the server until they are read. Until then nothing else is done on the connection.

    Behind the last row, or the server's error, PyMySQL may use it again.

    Args:
        connection: Of PyMySQL.
        reader: Of the packets on its socket.
        query: The query.
        refused: Makes what is raised of the number of an error and its text.

    Attributes:
        finished: All were read.
        kinds: The type of each column, once there were rows.

    Raises:
        OSError: the connection is lost; and what PyMySQL raises then.
    """

    def __init__(self, connection: Any, reader: PacketReader, query: str, refused: Callable[[int, str], Exception]) -> None:
        self.finished = False
        self.kinds: list[int] = []
        self._connection = connection
        self._reader = reader
        self._refused = refused
        self._pending: list[bytes] = []
        self._width: int | None = None
        self._heads = 0
        connection._execute_command(_COM_QUERY, query)  # noqa: SLF001 - PyMySQL makes an object of each value

    def read(self, most: int, size: int, timeout: float) -> list[bytes]:
        """Whole rows: at most so many, of about so many bytes; what has come after so many seconds.

        Raises:
            SystemAway: the connection is lost.
            Exception: what `refused` made of the server's error.
        """
        rows: list[bytes] = []
        held = 0
        while not self.finished and len(rows) < most and held < size:
            packets = self._pending or self._reader.read(timeout)
            self._pending = []
            if not packets:
                break
            packets = self._body(packets)
            if packets and self._is_last(packets[-1]):
                packets.pop()
                self.finished = True
            room = most - len(rows)
            rows += packets[:room]
            held += sum(map(len, packets[:room]))
            if len(packets) > room:
                self._pending = packets[room:]
                if self.finished:
                    self.finished, self._pending = False, [*self._pending, bytes([_EOF])]
        return rows

    def _body(self, packets: list[bytes]) -> list[bytes]:
        """Without what comes before the rows: the number of columns, one packet for each, and an EOF."""
        if self._width is None:
            self._is_last(packets[0])
            self._width = packets[0][0] if packets[0][0] < 252 else int.from_bytes(packets[0][1:3], "little")
            self._heads = self._width + 1
            packets = packets[1:]
        left_out = min(self._heads, len(packets))
        room = self._width - len(self.kinds)
        self.kinds += map(_kind, packets[: min(left_out, room)])
        self._heads -= left_out
        return packets[left_out:]

    def _is_last(self, packet: bytes) -> bool:
        is_error = packet[0] == _ERROR and len(packet) > _EOF_SIZE
        is_last = packet[0] == _EOF and len(packet) < _EOF_SIZE
        if is_error or is_last:
            # PyMySQL sets the timeout only where it takes it for another one.
            self._connection._sock.settimeout(self._connection._current_timeout)  # noqa: SLF001 - as above
        if is_error:
            raise self._refused(int.from_bytes(packet[1:3], "little"), packet[9:].decode("utf-8", "backslashreplace"))
        return is_last


def split(packets: Sequence[bytes], kinds: Sequence[int]) -> list[pa.Array]:
    """The texts of rows, one binary array for each column; of a geometry its well-known binary, without its reference system."""
    # Lengths may be looked for behind the end where there are none.
    data = np.frombuffer(b"".join((*packets, bytes(16))), np.uint8)
    sizes = np.fromiter(map(len, packets), np.int64, len(packets))
    at = np.cumsum(sizes) - sizes
    made = []
    for kind in kinds:
        starts, lengths, nulls = _lengths(data, at)
        at = starts + lengths
        if kind == GEOMETRY:
            # The well-known binary is behind the number of the reference system.
            starts, lengths = np.where(nulls, starts, starts + _SRID), np.where(nulls, 0, lengths - _SRID)
        made.append(binary(data, starts, lengths, nulls))
    return made


def _lengths(data: Array, at: Array) -> tuple[Array, Array, Array]:
    """Where values begin, how long they are, and which are NULL."""
    first = data[at].astype(np.int64)
    nulls = first == _NULL
    starts, lengths = at + 1, np.where(nulls, 0, first)
    for mark, size in _LENGTHS.items():
        longer = np.flatnonzero(first == mark)
        if len(longer):
            places = at[longer]
            lengths[longer] = sum(data[places + 1 + byte].astype(np.int64) << 8 * byte for byte in range(size))
            starts[longer] = places + 1 + size
    return starts, lengths, nulls


def _kind(packet: bytes) -> int:
    """The type in the description of a column: https://mariadb.com/kb/en/result-set-packets/#column-definition-packet."""
    at = 0
    for _ in range(_TEXTS_OF_A_COLUMN):
        size = packet[at]
        if size in _LENGTHS:
            width = _LENGTHS[size]
            at, size = at + width, int.from_bytes(packet[at + 1 : at + 1 + width], "little")
        at += 1 + size
    # The size of what follows, a character set in 2 bytes and a length in 4 come before it.
    return packet[at + _KIND_BEHIND_THEM]
