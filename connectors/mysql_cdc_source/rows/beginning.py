"""The transaction in which a chunk of an incremental snapshot is read, and how much of the log its rows show."""

from collections.abc import Callable
from typing import NamedTuple

from connectors.mysql_cdc_source.binlog.errors import NotReady
from connectors.mysql_cdc_source.binlog.gtid import MysqlGtidSet
from connectors.mysql_cdc_source.binlog.server import Connection, Login, Position, end_of_log, explained, is_mariadb, rows_of
from connectors.mysql_cdc_source.rows.snapshot import opened, started
from connectors.mysql_cdc_source.rows.window import Shown, ShownBefore, ShownDone
from connectors.mysql_cdc_source.watermark import BinlogCoordinate

_MODE = "SELECT @@GLOBAL.gtid_mode, @@GLOBAL.gtid_executed"


class NoGtids(NotReady):
    """A MySQL does not tell by GTIDs what others see."""


class Begun(NamedTuple):
    """A transaction that has begun.

    Attributes:
        connection: With it.
        shown: What of the log its rows surely show.
        position: They show nothing that is behind this place.
    """

    connection: Connection
    shown: Shown
    position: Position


def begin(login: Login, place: Callable[[Position], BinlogCoordinate], connection: Connection | None = None) -> Begun:
    """Begins a transaction, which ends one before it on the same connection.

    MariaDB tells its place in the log. MySQL does not: what was done before is in the rows, and what comes behind the end of the
    log as it was after is not, as a transaction is in the log before others see it; they may show what lies in between, or not.

    Args:
        login: The server.
        place: The place in the log of a position of it.
        connection: One that `opened` made; None: a new one. It is closed where this raises.

    Raises:
        NoGtids: it is a MySQL without them.
        SystemAway, PermanentError: as connect.
    """
    connection = connection or opened(login)
    try:
        with explained(login):
            if is_mariadb(connection):
                position = started(connection) or Position()
                return Begun(connection, ShownBefore(place(position)), position)
            done = done_by(connection, login)
            started(connection)
            return Begun(connection, ShownDone(done), end_of_log(connection))
    except BaseException:
        connection.close()
        raise


def done_by(connection: Connection, login: Login) -> MysqlGtidSet:
    """The transactions that all others see on a MySQL by now.

    Raises:
        NoGtids: it does not give one to each, or such as can't be read.
    """
    ((mode, done),) = rows_of(connection, _MODE)
    if problem := gtid_problem(str(mode)):
        msg = f"{login.server}: {problem}. {GTID_FIX}"
        raise NoGtids(msg)
    try:
        return MysqlGtidSet.parse(str(done))
    except ValueError as error:
        msg = f"{login.server} has transactions that incremental snapshots can't tell: {error}"
        raise NoGtids(msg) from error


def gtid_problem(mode: str) -> str | None:
    """What is wrong with a MySQL's gtid_mode; None: nothing."""
    if mode == "ON":
        return None
    return f"gtid_mode is {mode or 'not known to it'}: incremental snapshots of MySQL need GTIDs"


GTID_FIX = (
    "SET GLOBAL enforce_gtid_consistency = 'ON', then SET GLOBAL gtid_mode to 'OFF_PERMISSIVE', 'ON_PERMISSIVE' and 'ON' in turn, "
    "and both in the server's configuration."
)
