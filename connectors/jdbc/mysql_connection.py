"""A connection of PyMySQL on which rows come and go in bulk."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pymysql.connections import Connection, MySQLResult
from pymysql.constants import CR
from pymysql.cursors import Cursor
from pymysql.err import DataError, OperationalError

from connectors.databases.sessions import keep_alive
from connectors.mysql.packets import PacketReader

_PACKET = 1 << 20
_CHANGED = frozenset({1264, 1265, 1292, 1366, 1406})
"""Warnings that say that a value was changed: out of range, cut off, not what its column has."""


class BulkConnection(Connection):
    """See Connection of PyMySQL.

    Attributes:
        rows_to_load: What the server is given when it asks for a file: whatever file it names, none is read.
    """

    rows_to_load: memoryview | None = None
    _packets: PacketReader | None = None

    def connect(self, sock: Any = None) -> None:
        """Connects, which alone the timeouts are for: a statement may take as long as the server's machine is there."""
        super().connect(sock)
        keep_alive(self._sock)  # type: ignore[attr-defined]  # PyMySQL's types do not tell
        self._read_timeout = self._write_timeout = None

    @contextmanager
    def answered_within(self, seconds: float) -> Iterator[None]:
        """What is asked meanwhile fails as if the server was away when nothing comes for so long."""
        self._read_timeout = seconds  # type: ignore[assignment]  # PyMySQL's types do not tell
        try:
            yield
        finally:
            self._read_timeout = None

    @property
    def packets(self) -> PacketReader:
        """Reads what the server answers."""
        if self._packets is None:
            self._packets = PacketReader(self._sock)  # type: ignore[attr-defined]  # PyMySQL's types do not tell
        return self._packets

    def close(self) -> None:
        """Ends it."""
        try:
            super().close()
        finally:
            if self._packets is not None:
                self._packets.close()

    def _read_query_result(self, unbuffered: bool = False) -> int:  # PyMySQL's own
        self._result = None
        result: Any = _Result(self)
        if unbuffered:
            result.init_unbuffered_query()
        else:
            result.read()
        self._result = result
        if result.server_status is not None:
            self.server_status = result.server_status
        return int(result.affected_rows)


class CheckedCursor(Cursor):
    """A cursor on which it is an error that a value is cut off, which a server may only warn of."""

    def _do_get_result(self) -> None:  # PyMySQL's own
        super()._do_get_result()  # type: ignore[misc]  # PyMySQL's types do not tell
        if self.warning_count:
            connection: Any = self.connection
            for _, code, text in connection.show_warnings():
                if code in _CHANGED:
                    raise DataError(code, text)


class _Result(MySQLResult):
    def _read_load_local_packet(self, _: Any) -> None:
        # Of PyMySQL's inside, which its types do not tell.
        connection: Any = self.connection
        rows = connection.rows_to_load or b""
        for start in range(0, len(rows), _PACKET):
            connection.write_packet(bytes(rows[start : start + _PACKET]))
        connection.write_packet(b"")
        answer = connection._read_packet()  # noqa: SLF001
        if not answer.is_ok_packet():
            raise OperationalError(CR.CR_COMMANDS_OUT_OF_SYNC, "Commands Out of Sync")
        self._read_ok_packet(answer)  # type: ignore[attr-defined]
