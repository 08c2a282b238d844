"""Queries whose rows are taken as they come over the connection, as many as are wanted at a time."""

from typing import Self

from connectors.mysql.packets import PacketReader
from connectors.mysql.text_rows import TextRows
from connectors.mysql_cdc_source.binlog.server import Connection
from rocketconnect_sdk.database_logs.locked import TableLocked
from rocketconnect_sdk.errors import PermanentError, SystemAway

_LOST = frozenset({1053, 1077, 1079, 1158, 1159, 1160, 1161, 1213, 1317, 1927, 1969, 3024})
_ALTERED = 1412
_LOCKED = 1205


class QueryRefused(PermanentError):
    """The server refuses a query.

    Attributes:
        code: The number of its error.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class TableAltered(QueryRefused):
    """A table has another definition than when the transaction began."""


class TextQueries:
    """Runs queries in turn on a connection. Nothing else is done on it until the rows of the last one have all been read.

    Args:
        connection: With a transaction that they are to be part of; it belongs to this object from now on.
        server: For people.
    """

    def __init__(self, connection: Connection, server: str) -> None:
        self._connection = connection
        self._server = server
        self._reader = PacketReader(connection._sock)  # noqa: SLF001 - PyMySQL makes an object of each value

    def run(self, query: str) -> TextRows:
        """Sends a query; the rows of the one before have all been read.

        Reading raises QueryRefused, TableAltered and TableLocked, too.

        Raises:
            SystemAway: the connection is lost, or the server gives the query up.
        """

        def refused(code: int, text: str) -> Exception:
            msg = f"{self._server} answers {query[:200]!r} with the error {code}: {text}"
            if code in _LOST:
                return SystemAway(msg)
            if code == _LOCKED:
                return TableLocked(msg)
            return TableAltered(msg, code) if code == _ALTERED else QueryRefused(msg, code)

        try:
            return TextRows(self._connection, self._reader, query, refused)
        except OSError as error:
            msg = f"the connection to {self._server} is lost: {error}"
            raise SystemAway(msg) from error

    def close(self) -> None:
        """Ends the connection. Calling it again does nothing."""
        self._reader.close()
        self._connection._force_close()  # noqa: SLF001 - close() would say goodbye on a connection that does not listen

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()
