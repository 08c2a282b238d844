"""What is known of a server, and the places of its log that it still has."""

from connectors.mysql_cdc_source.binlog.server import (
    Connection,
    Login,
    Position,
    connected,
    end_of_log,
    gtids_at,
    is_mariadb,
    log_files,
    variables_of,
)
from connectors.mysql_cdc_source.watermark import BinlogCoordinate, Watermark, file_number, server_of
from rocketconnect_sdk.errors import PermanentError

_FILE_DIGITS = 6


NO_LOG = "none.0"


class Server:
    """What is known of a server.

    Attributes:
        mariadb: Whether it is MariaDB.
        identity: Integers that stand for it.
        folds_names: Whether it has names of tables in small letters, whatever statements have.
        era: How many others were read before.
    """

    def __init__(self, connection: Connection) -> None:
        self.mariadb = is_mariadb(connection)
        found = variables_of(connection, "server_uuid", "server_uid", "server_id", "log_bin_basename", "lower_case_table_names")
        # Servers that know of each other have different ids.
        own = found.get("server_uuid") or found.get("server_uid") or found.get("server_id", "")
        self.identity = server_of(own)
        self.folds_names = found.get("lower_case_table_names") == "1"
        self._base = found.get("log_bin_basename", "").replace("\\", "/").rpartition("/")[2]
        self.era = 0

    def file(self, number: int) -> str:
        """The name of a file of the log."""
        return f"{self._base}.{number:0{_FILE_DIGITS}}"

    def place(self, position: Position) -> BinlogCoordinate:
        """A position that names a file, as a place."""
        return BinlogCoordinate(self.era, file_number(position.file), position.offset)

    def mark(self, position: Position, *, snapshot_done: bool) -> Watermark:
        """The watermark of a place."""
        return Watermark(self.place(position), snapshot_done, self.identity, position.gtid_set)


def log_end(login: Login, *, needed: bool) -> Position:
    """Where the log ends."""
    try:
        with connected(login) as connection:
            return end_of_log(connection)
    except PermanentError:
        # The rows that are there can be had without a log.
        if needed:
            raise
        return Position(NO_LOG)


def first_place(connection: Connection) -> Position:
    """The first place that the server still has."""
    file = log_files(connection)[0].name
    return Position(file, 4, gtids_at(connection, file, 4) or "")
