"""Replicas of a server: each needs a server id of its own, as the server ends the stream of an older one with the same.

https://mariadb.com/kb/en/show-replica-hosts/
"""

from collections.abc import Sequence
from typing import NamedTuple

from connectors.mysql_cdc_source.binlog.server import Connection, code_of, rows_of

_MARK = "rocketconnect "
_LONGEST = 60
_NO_SUCH_STATEMENT = 1064
_REFUSED = {1142, 1227}


class Replica(NamedTuple):
    """One that a server sends its log to.

    Attributes:
        server_id: Its number.
        host: What it says that its host is; of connectors a name that they have here.
    """

    server_id: int
    host: str

    @property
    def is_connector(self) -> bool:
        """Whether it is a connector of RocketConnect."""
        return self.host.startswith(_MARK)

    def __str__(self) -> str:
        """For people."""
        return f"the replica of the host {self.host or '(not told)'}"


def name_of(connector_uid: str) -> str:
    """What the server shows of a connector in the place of a host."""
    return f"{_MARK}{connector_uid}"[:_LONGEST]


def replicas(connection: Connection) -> Sequence[Replica]:
    """Those that are there now; none where the user may not see them (MariaDB: REPLICATION MASTER ADMIN)."""
    import pymysql

    # MySQL has lost the first one, and MariaDB does not know the second one.
    for statement in ("SHOW SLAVE HOSTS", "SHOW REPLICAS"):
        try:
            return [Replica(int(row[0]), str(row[1])) for row in rows_of(connection, statement)]
        except pymysql.MySQLError as error:
            if code_of(error) in _REFUSED:
                return []
            if code_of(error) != _NO_SUCH_STATEMENT:
                raise
    return []
