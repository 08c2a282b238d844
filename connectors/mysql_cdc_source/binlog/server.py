"""The connection to a server, and what it must allow and be set to so that its log can be read.

Handshake, authentication and queries are PyMySQL's.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from connectors.databases.tls import FIX, DatabaseTls, untrusted
from connectors.mysql_cdc_source.binlog.errors import NotAllowed, NotReady
from connectors.mysql_cdc_source.binlog.gtid import MariadbGtidSet
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway

if TYPE_CHECKING:
    import pymysql

Connection = Any
"""A connection of PyMySQL."""

_REFUSED = {1044, 1045, 1130, 1698, 1862, 3118, 3955}
_NOT_ALLOWED = {1045, 1142, 1227, 3619}
_BUSY = {1040, 1203, 1226}
_NOT_A_PLACE = 1220
_CONNECT_SECONDS = 10
_PROBE_ID = (1 << 32) - 1
"""Of a replica that leaves at once: none has it that is configured by hand."""
COM_REGISTER_SLAVE = 0x15


@dataclass(frozen=True, slots=True)
class Login:
    """How to reach a server.

    Attributes:
        host: Its name or address.
        port: Its port.
        user: Who reads its log.
        password: Never shown.
        tls: How connections are encrypted.
    """

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    tls: DatabaseTls = field(default_factory=DatabaseTls)

    @property
    def server(self) -> str:
        """The server, for people."""
        return f"{self.host}:{self.port}"


class Position(NamedTuple):
    """A place in a server's log.

    Attributes:
        file: The file; empty: the place is known by its GTIDs alone.
        offset: Where in the file.
        gtid_set: The transactions before this place; empty when they are not known.
    """

    file: str = ""
    offset: int = 4
    gtid_set: str = ""

    def __str__(self) -> str:
        """For people."""
        return f"{self.file}:{self.offset}" if self.file else f"the GTIDs {self.gtid_set or '(none)'}"


@contextmanager
def connected(login: Login) -> Iterator[Connection]:
    """A connection for the time of a block; its errors, inside the block too, are those of `connect`."""
    connection = connect(login)
    try:
        with explained(login):
            yield connection
    finally:
        connection.close()


def connect(login: Login) -> Connection:
    """A connection; it commits by itself.

    Raises:
        NotAllowed: the user or the password is wrong, or may not come from here.
        SystemAway: the server does not answer.
        RetriableError: it has too many connections.
        PermanentError: anything else that it says.
    """
    import pymysql

    with explained(login):
        return pymysql.connect(
            host=login.host,
            port=login.port,
            user=login.user,
            password=login.password,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=60,
            write_timeout=60,
            **login.tls.pymysql(),
        )


@contextmanager
def explained(login: Login) -> Iterator[None]:
    """Raises what PyMySQL does as the errors that `connect` names."""
    import pymysql

    try:
        yield
    except pymysql.MySQLError as error:
        raise _explained(login, error) from None
    except (OSError, EOFError) as error:
        msg = f"{login.server} does not answer: {error}"
        raise SystemAway(msg) from error


def _explained(login: Login, error: "pymysql.MySQLError") -> Exception:
    code, text = code_of(error), error.args[-1] if error.args else ""
    where = f"{login.server} as the user {login.user!r}"
    if code in _REFUSED:
        return NotAllowed(f"cannot log in to {where}: the server refuses the user or the password, or this host ({text})")
    if code in _NOT_ALLOWED:
        return NotAllowed(f"{where} lacks a privilege: {text}")
    if code in _BUSY:
        return RetriableError(f"{login.server} has too many connections: {text}")
    if untrusted(error):
        return NotReady(f"cannot talk to {login.server} over TLS: {text}. {FIX}").naming("ssl.mode")
    if code == 0 or 2000 <= code < 3000 or code in {1053, 1077, 1079, 1080, 1927, 4031}:
        return SystemAway(f"{login.server} does not answer: {text}")
    return PermanentError(f"{where} answers with the error {code}: {text}")


def code_of(error: "pymysql.MySQLError") -> int:
    """The number of an error; 0 for none."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


def rows_of(connection: Connection, query: str, *values: object) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(query, values or None)
        return list(cursor.fetchall())


def variables_of(connection: Connection, *names: str) -> dict[str, str]:
    """Global settings; those that the server does not know are left out."""
    places = ",".join(["%s"] * len(names))
    return dict(rows_of(connection, f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({places})", *names))


def is_mariadb(connection: Connection) -> bool:
    """Whether it is MariaDB, which has GTIDs and log events of its own."""
    return "mariadb" in str(connection.get_server_info()).lower()


def check(login: Login) -> None:
    """Looks at whether the server's log can be read.

    Raises:
        NotReady: it does not write the log that is needed; all settings to change.
        NotAllowed: privileges are missing; the GRANT of each. Also: all that connect raises.
    """
    with connected(login) as connection:
        problems = setting_problems(variables_of(connection, *_SETTINGS))
        if problems:
            msg = f"{login.server} does not write the log that is needed: {'; '.join(problems)}"
            raise NotReady(msg)
        missing = missing_privileges(login, connection)
    if missing:
        grants = "; ".join(f"GRANT {privilege} ON *.* TO {_account(login)}" for privilege in missing)
        msg = f"the user {login.user!r} lacks {' and '.join(missing)} on {login.server}: {grants}"
        raise NotAllowed(msg)


_SETTINGS = ("log_bin", "binlog_format")


def setting_problems(variables: dict[str, str]) -> list[str]:
    """What is wrong with a server's settings, and how to set it right."""
    problems = []
    if variables.get("log_bin") != "ON":
        problems.append("log_bin is OFF (start the server with --log-bin and a --server-id)")
    # MySQL will drop the setting, as there is only ROW then.
    if (form := variables.get("binlog_format", "ROW")) != "ROW":
        problems.append(f"binlog_format is {form} (SET GLOBAL binlog_format = 'ROW', and in the server's configuration)")
    return problems


def missing_privileges(login: Login, connection: Connection) -> list[str]:
    """What a replica needs that the user lacks."""
    import pymysql

    missing = []
    try:
        log_files(connection)
    except pymysql.MySQLError as error:
        if code_of(error) not in _NOT_ALLOWED:
            raise
        missing.append("BINLOG MONITOR" if is_mariadb(connection) else "REPLICATION CLIENT")
    with connected(login) as probe:
        try:
            register(probe, _PROBE_ID)
        except pymysql.MySQLError as error:
            if code_of(error) not in _NOT_ALLOWED:
                raise
            missing.append("REPLICATION SLAVE")
    return missing


def _account(login: Login) -> str:
    return f"'{login.user}'@'%'"


def register(connection: Connection, server_id: int, host: str = "") -> None:
    """Tells the server that this connection is a replica, on a host. https://mariadb.com/kb/en/com_register_slave/."""
    name = host.encode()
    body = server_id.to_bytes(4, "little") + bytes([len(name)]) + name + bytes(2) + bytes(2) + bytes(4) + bytes(4)
    command(connection, COM_REGISTER_SLAVE, body)
    connection._read_ok_packet()  # noqa: SLF001 - PyMySQL has no public way to send another command


def command(connection: Connection, number: int, body: bytes) -> None:
    """Sends a command; the answer is still to be read."""
    connection._execute_command(number, body)  # noqa: SLF001 - as above


class LogFile(NamedTuple):
    """A file of the log."""

    name: str
    size: int


def log_files(connection: Connection) -> list[LogFile]:
    """The files that the server still has, the oldest first."""
    return [LogFile(str(row[0]), int(row[1])) for row in rows_of(connection, "SHOW BINARY LOGS")]


def end_of_log(connection: Connection) -> Position:
    """Where the log ends now.

    Raises:
        NotReady: the server writes none.
    """
    import pymysql

    try:
        rows: Sequence[tuple[Any, ...]] = rows_of(connection, "SHOW MASTER STATUS")
    except pymysql.ProgrammingError:
        rows = rows_of(connection, "SHOW BINARY LOG STATUS")  # MySQL 8.4
    if not rows:
        msg = "the server writes no binary log: start it with --log-bin and a --server-id"
        raise NotReady(msg)
    file, offset = str(rows[0][0]), int(rows[0][1])
    if is_mariadb(connection):
        return Position(file, offset, gtids_at(connection, file, offset) or "")
    return Position(file, offset, str(rows[0][4]).replace("\n", "") if len(rows[0]) > 4 else "")


def gtids_at(connection: Connection, file: str, offset: int) -> str | None:
    """The GTIDs of a place in a file, which MariaDB alone can say.

    None: it is no place of that file, or an event before it is larger than the server's max_allowed_packet is now.
    """
    if not is_mariadb(connection):
        return None
    ((found, at_end),) = rows_of(connection, "SELECT BINLOG_GTID_POS(%s, %s), @@GLOBAL.gtid_binlog_pos", file, offset)
    if found is None and [tuple(row[:2]) for row in rows_of(connection, "SHOW MASTER STATUS")] == [(file, offset)]:
        found = at_end
    return None if found is None else str(MariadbGtidSet.parse(str(found)))


def is_place(connection: Connection, file: str, offset: int) -> bool:
    """Whether an event begins or the file ends there."""
    import pymysql

    try:
        rows_of(connection, f"SHOW BINLOG EVENTS IN %s FROM {offset:d} LIMIT 1", file)
    except (pymysql.OperationalError, pymysql.InternalError) as error:
        if error.args[0] != _NOT_A_PLACE:
            raise
        return False
    return True
