"""A connection that tells what is wrong in the words of the sdk."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from connectors.databases.tls import FIX
from connectors.jdbc import Endpoint, Fault, dialect_of, reading_of
from connectors.jdbc.dialect import Connection
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway

_SHOWN = 500


class Session:
    """A database, connected to when it is needed.

    Args:
        place: The database.
        user: Its user.
        password: Of the user; never shown.
    """

    def __init__(self, place: Endpoint, user: str, password: str) -> None:
        self.place = place
        self.dialect = dialect_of(place)
        self.reading = reading_of(place)
        self._login = (user, password)
        self._connection: Connection = None

    @contextmanager
    def connected(self, what: str = "") -> Iterator[Connection]:
        """The connection. What fails ends it.

        Args:
            what: Is read, for messages.

        Raises:
            SystemAway: the database does not answer.
            RetriableError: something is locked, or the database has undone the transaction.
            PermanentError: anything else that it says.
        """
        try:
            if self._connection is None:
                self._connection = self.dialect.connect(self.place, *self._login)
            yield self._connection
        except Exception as error:
            fault = self.dialect.fault(error)
            self.close()
            if fault is None:
                raise
            raise self._told(fault, what, error) from None

    def close(self) -> None:
        """Ends the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def _told(self, fault: Fault, what: str, error: Exception) -> Exception:
        text = " ".join(str(error).split())[:_SHOWN]
        where = f"{self.place}: {what}: {text}" if what else f"{self.place}: {text}"
        match fault:
            case Fault.AWAY:
                return SystemAway(where)
            case Fault.LOCKED | Fault.UNDONE:
                return RetriableError(where)
            case Fault.UNTRUSTED:
                return PermanentError(f"{where}. {FIX}").naming("ssl.mode")
            case Fault.DENIED:
                user = self._login[0]
                fix = (
                    f"GRANT SELECT ON {what} TO {user}"
                    if what
                    else "Correct user and password, or GRANT the user the right to connect"
                )
                return PermanentError(f"{where}. {fix}")
            case _:
                return PermanentError(where)
