"""Databases that pipelines begin at, and what of them is copied."""

from collections.abc import Mapping, Sequence
from signal import SIGKILL
from typing import ClassVar

import pymysql

from tests.databases.load import KINDS, LARGE
from tests.databases.mariadb import COLUMNS, KEYS, USER, MariadbSide, MysqlSide
from tests.databases.part import Part
from tests.databases.side import DATABASE, Definition
from tests.databases.tables import Column, Table, of_types
from tests.servers.oceanbase.seekdb import Seekdb

_EVERYWHERE = (
    *("small", "int_u", "big", "big_u", "price", "real_8", "flag", "day", "clock", "moment", "point_in_time"),
    *("name", "long_text", "data", "state", "facts"),
)
"""Types that all targets have a form for, and seekdb has, too."""
_CHANGED = Column(
    "TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)",
    COLUMNS["point_in_time"].make,
    told=COLUMNS["point_in_time"].told,
)


def copied(side: MysqlSide) -> Sequence[Table]:
    """The tables of a side that pipelines copy, each into a topic."""
    return side.tables.orders, side.tables.everything, side.tables.words


def topic_of(table: Table) -> str:
    """The topic of a table."""
    return f"{DATABASE}-{table.name}"


class Shop(MariadbSide):
    """MariaDB, whose log is read. Not every target knows truncations, nor columns that change."""

    tables = of_types({name: COLUMNS[name] for name in (*_EVERYWHERE, "uuid_16")}, *KEYS)
    stop = SIGKILL
    leaves_out = frozenset({"drafts", "odd"})

    def as_source(self) -> Mapping[str, str]:
        """See Side."""
        return {
            **super().as_source(),
            "table.include": ",".join(rf"{DATABASE}\.{table.name}" for table in copied(self)),
            "topic": DATABASE,
            "table.topic": "${topic}-${table}",
        }

    def definitions(self) -> Sequence[Definition]:
        """See Side."""
        return ()


class Ocean(MysqlSide):
    """OceanBase's kernel. As a source its tables are asked for what has changed, which shows no row that is gone."""

    name = "seekdb"
    scope = DATABASE
    tables = of_types({name: COLUMNS[name] for name in _EVERYWHERE}, *KEYS, own={"changed": _CHANGED})
    stop = SIGKILL
    leaves_out = frozenset(KINDS) - {"insert", "many", "update", "range", "everything", "touch", "words"} | {LARGE}
    _own: ClassVar[range] = range(4000, 7000)
    """Numbers of errors of OceanBase's own: it is starting, or its transaction was ended."""

    def __init__(self) -> None:
        self._server = Seekdb()

    @property
    def port(self) -> int:
        """See MysqlSide."""
        return self._server.port

    @property
    def part(self) -> Part:
        """See Side."""
        return Part(self.name, self.command, self.is_ready, self.remove, self.make, self.stop, self._server.runs_in)

    def command(self) -> Sequence[str]:
        """See Side."""
        return self._server.command()

    def is_ready(self) -> bool:
        """See Side."""
        return self._server.answers()

    def make(self) -> None:
        """See Side."""
        with self._server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {DATABASE}")

    def remove(self) -> None:
        """See Side."""
        Part.of(self.name, self._server).remove()

    def connect(self) -> "pymysql.Connection":
        """See Side."""
        return self._server.connect(database=DATABASE)

    def is_lost(self, error: BaseException) -> bool:
        """See Side."""
        return super().is_lost(error) or (isinstance(error, pymysql.err.OperationalError) and error.args[0] in self._own)

    def as_source(self) -> Mapping[str, str]:
        """See Side. A transaction takes less than the delay, whatever else this machine does."""
        return {
            **self.as_sink(),
            "connector.class": "jdbc_source",
            "table.whitelist": ",".join(table.name for table in copied(self)),
            "mode": "timestamp",
            "timestamp.column.name": "changed",
            "timestamp.delay.interval": "20s",
            "poll.interval": "1s",
            "topic": DATABASE,
            "topic.prefix": f"{DATABASE}-",
        }

    def as_sink(self) -> Mapping[str, str]:
        """See Side."""
        return {**USER, "connection.url": f"oceanbase://127.0.0.1:{self.port}/{DATABASE}"}

    def definitions(self) -> Sequence[Definition]:
        """See Side."""
        return ()
