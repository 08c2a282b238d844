"""Connections to a server, and what their errors mean.

https://www.postgresql.org/docs/current/protocol-replication.html: a connection with `replication=database` takes replication
commands; https://www.postgresql.org/docs/current/errcodes-appendix.html.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, LiteralString, NoReturn

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow, tuple_row

from connectors.databases import sessions
from connectors.databases.tls import FIX, untrusted_text
from rocketconnect_sdk.errors import ConnectorError, PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.permissions.connections import libpq

_SETTINGS = {
    "client_encoding": "UTF8",
    "datestyle": "ISO,YMD",
    "intervalstyle": "iso_8601",
    "timezone": "UTC",
    "extra_float_digits": "3",
    "bytea_output": "hex",
    **sessions.POSTGRES,
}
"""The texts of values, and how a session ends, depend on these, whatever the database, the role or the server are set to."""
_MONEY = {"lc_monetary": "C"}
"""How amounts are written; without it an amount as a number has the digits that the server's currency has."""

_PERMANENT = (
    "password authentication failed",
    "no password supplied",
    "does not exist",
    "pg_hba.conf",
    "permission denied",
    "is not permitted to log in",
    "invalid",
)
_NO_REPLICATION = ("must be superuser or replication role", "permission denied to start WAL sender")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a database is, and who asks.

    Attributes:
        host: A name or an address.
        port: The port.
        user: The role.
        database: The name of the database.
        password: Its password; never shown.
        options: Further parameters of libpq, such as sslmode.
    """

    host: str
    port: int
    user: str
    database: str
    password: str = field(default="", repr=False)
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """For people, without the password."""
        return f"{self.user}@{self.host}:{self.port}/{self.database}"

    def conninfo(self, settings: Mapping[str, str] = _SETTINGS, **more: str) -> str:
        """As libpq takes it, with the password, and with settings of the session.

        Raises:
            HostRefused: the executor lets no connector speak to the server.
            OSError: its name has no address.
        """
        ours = [f"-c {name}={value}" for name, value in settings.items()]
        options = " ".join([*filter(None, [self.options.get("options")]), *ours])
        parameters = {
            "connect_timeout": "10",
            **sessions.LIBPQ,
            "application_name": "rocketconnect",
            **{name: value for name, value in self.options.items() if name != "options"},
            **({"password": self.password} if self.password else {}),
        }
        who = {"user": self.user, "dbname": self.database, "options": options}
        return make_conninfo("", **libpq(self.host, self.port), port=self.port, **who, **parameters, **more)


def connect(address: Address) -> psycopg.Connection[TupleRow]:
    """A connection that commits each statement. Texts of money are in the server's own form there.

    Raises:
        SystemAway: the server cannot be reached, or is not ready.
        PermanentError: it refuses; says what to do.
    """
    try:
        connection = psycopg.connect(address.conninfo(), autocommit=True, row_factory=tuple_row)
        # Not every server has it. Nothing is asked while a table is read or the task is paused.
        connection.execute("SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'")
    except (psycopg.Error, OSError) as error:
        _refused(address, str(error))
    else:
        return connection


def connect_replication(address: Address) -> pq.abc.PGconn:
    """A connection for replication commands. The errors are those of connect."""
    # PGconn works on it without a call for each message.
    try:
        conninfo = address.conninfo({**_SETTINGS, **_MONEY}, replication="database")
    except (psycopg.Error, OSError) as error:
        _refused(address, str(error))
    connection = pq.PGconn.connect(conninfo.encode())
    if connection.status != pq.ConnStatus.OK:
        reason = connection.get_error_message()
        connection.finish()
        _refused(address, reason)
    return connection


def ask(connection: psycopg.Connection[TupleRow], sql: LiteralString, parameters: Sequence[object] = ()) -> list[TupleRow]:
    """The rows of a statement.

    Raises:
        ConnectorError: see failure.
    """
    return run(connection, sql.encode(), parameters)


def run(connection: psycopg.Connection[TupleRow], sql: Any, parameters: Sequence[object] = ()) -> list[TupleRow]:
    """The same with a statement that is made of quoted names."""
    try:
        cursor = connection.execute(sql, parameters or None)
        return cursor.fetchall() if cursor.description else []
    except psycopg.Error as error:
        raise failure(error.sqlstate, str(error)) from None


def command(connection: pq.abc.PGconn, text: str) -> pq.abc.PGresult:
    """The result of a replication command.

    Raises:
        ConnectorError: see failure.
    """
    result = connection.exec_(text.encode())
    if result.status in (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.BAD_RESPONSE):
        raise failed_result(result)
    return result


def failed_result(result: pq.abc.PGresult) -> ConnectorError:
    """What the error of a result means."""
    state = result.error_field(pq.DiagnosticField.SQLSTATE)
    return failure(state.decode() if state else None, result.get_error_message())


def failure(sqlstate: str | None, text: str) -> ConnectorError:
    """What an error of the server means.

    Args:
        sqlstate: Its code; None: there was no answer.
        text: What the server says.

    Returns:
        SystemAway: the connection broke, or the server is ending. RetriableError: what is asked for is in use. Else PermanentError.
    """
    text = " ".join(text.split())
    # 25P03 and 25P04: the transaction was idle, or took, for longer than the server lets it.
    if sqlstate is None or sqlstate.startswith(("08", "57P", "25P03", "25P04")):
        return SystemAway(f"PostgreSQL ended the connection: {text}")
    if sqlstate in ("57014", "55006", "55P03", "40001", "40P01") or sqlstate.startswith("53"):
        return RetriableError(f"PostgreSQL cannot do it now: {text}")
    return PermanentError(f"PostgreSQL refuses: {text} (SQLSTATE {sqlstate})")


def _refused(address: Address, text: str) -> NoReturn:
    """Raises what a failed connection means. There is no code of it, only the text."""
    reason = " ".join((text.replace(address.password, "***") if address.password else text).split())
    if any(words in reason for words in _NO_REPLICATION):
        fix = f"A superuser has to run {grant_replication(address.user)}"
        msg = f"{address}: the role may not replicate. {fix}. PostgreSQL says: {reason}"
        raise PermanentError(msg)
    if untrusted_text(reason):
        msg = f"{address}: there is no connection over TLS. {FIX}. libpq says: {reason}"
        raise PermanentError(msg).naming("ssl.mode")
    if any(words in reason for words in _PERMANENT):
        fix = "Correct the user, the password, the database or the server's pg_hba.conf"
        msg = f"{address}: PostgreSQL refuses the connection. {fix}. It says: {reason}"
        raise PermanentError(msg)
    msg = f"{address}: PostgreSQL does not answer: {reason}"
    raise SystemAway(msg)


def grant_replication(role: str) -> str:
    """The statement that lets a role replicate."""
    return f"ALTER ROLE {quoted(role)} REPLICATION"


def quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'
