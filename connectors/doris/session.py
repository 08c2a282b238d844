"""Statements, over the protocol of MySQL that frontends speak."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from connectors.doris.endpoint import Endpoint, Login
from connectors.doris.faults import refused
from rocketconnect_sdk.tables.faults import Fault, ServerRejected, understood

if TYPE_CHECKING:
    from pymysql.connections import Connection

_CONNECT_SECONDS = 3.0


class Session:
    """A connection, made when it is needed. One thread has it; whoever it is pickled for makes one of its own.

    Args:
        place: The cluster and the database.
        login: Who we are there.
    """

    def __init__(self, place: Endpoint, login: Login) -> None:
        self.place = place
        self.login = login
        self._connection: Connection[Any] | None = None

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query.

        Raises:
            SystemAway: the frontend does not answer, or cannot do it now.
            PermanentError: it has refused it.
        """
        try:
            if self._connection is None:
                self._connection = self._connected()
            return ask(self._connection, query)
        except Exception as error:
            self.close()
            raise self._told(error) from error

    def run(self, statement: str) -> None:
        """Runs a statement. Raises as rows; then it may have been done, and may still be."""
        self.rows(statement)

    def close(self) -> None:
        """Ends the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def _connected(self) -> "Connection[Any]":
        import pymysql

        seconds = max(1, round(self.login.seconds))
        return pymysql.connect(
            host=self.place.host,
            port=self.place.port,
            user=self.login.user,
            password=self.login.password,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=max(1, round(min(_CONNECT_SECONDS, self.login.seconds))),
            read_timeout=seconds,
            write_timeout=seconds,
        )

    def _told(self, error: Exception) -> Exception:
        import pymysql

        if isinstance(error, pymysql.err.MySQLError):
            number, *texts = error.args or (0,)
            # Without a number the connection has ended.
            found = refused(" ".join(map(str, texts)) or str(error), number=number if isinstance(number, int) else 0)
            if isinstance(error, pymysql.err.InterfaceError):
                found = ServerRejected(Fault.AWAY, str(error))
            return understood(found, f"{self.place.host}:{self.place.port}/{self.place.database}", self.login.user)
        if isinstance(error, OSError):
            return understood(ServerRejected(Fault.AWAY, str(error)), self.place, self.login.user)
        return error


def ask(connection: "Connection[Any]", statement: str) -> list[tuple[Any, ...]]:
    """One statement: its rows. Everything that is asked of a frontend goes through here."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())
