"""MariaDB, copied or the copy."""

import struct
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC
from decimal import Decimal
from random import Random
from signal import SIGTERM
from typing import Any
from uuid import UUID

import pymysql

from tests.databases.side import DATABASE, Definition, Side, Statement
from tests.databases.tables import Column, Table, facts, moment, of_day, of_types, packed, parsed, single, text, whole
from tests.servers.mariadb import Mariadb

PASSWORD_NAME = "MARIADB_PASSWORD"
USER = {"user": "root", "password": f"${{env:{PASSWORD_NAME}}}"}
"""In configurations."""
_NO_COLUMN = 1054
_LOST = frozenset({1053, 2002, 2003, 2006, 2013})


def _number(value: Any) -> int:
    return int.from_bytes(value, "big") if isinstance(value, bytes) else int(value)


COLUMNS: Mapping[str, Column] = {
    "tiny": Column("TINYINT", whole(8)),
    "tiny_u": Column("TINYINT UNSIGNED", whole(8, signed=False)),
    "small": Column("SMALLINT", whole(16)),
    "medium_u": Column("MEDIUMINT UNSIGNED", whole(24, signed=False)),
    "int_u": Column("INT UNSIGNED", whole(32, signed=False)),
    "big": Column("BIGINT", whole(64)),
    "big_u": Column("BIGINT UNSIGNED", whole(64, signed=False), found=int),
    "price": Column("DECIMAL(30,10)", lambda chance: Decimal(chance.randint(-(10**29), 10**29)).scaleb(-10)),
    "single": Column("FLOAT", single, "{} + 0e0", packed, packed),
    "real_8": Column("DOUBLE", lambda chance: chance.random() * 10 ** chance.randrange(-300, 300)),
    "flag": Column("BIT(1)", lambda chance: chance.randrange(2), told=lambda value: bool(_number(value))),
    "bits": Column("BIT(40)", lambda chance: chance.getrandbits(40), told=_number, found=int),
    "day": Column("DATE", lambda chance: moment(chance, 1)[:10]),
    "clock": Column("TIME(6)", lambda chance: moment(chance, 6)[11:], told=of_day),
    "moment": Column("DATETIME(6)", lambda chance: moment(chance, 6)),
    "second": Column("DATETIME", lambda chance: moment(chance, 1)[:19]),
    "point_in_time": Column("TIMESTAMP(3) NULL", lambda chance: moment(chance, 3), told=lambda value: value.replace(tzinfo=UTC)),
    "year_4": Column("YEAR", lambda chance: chance.randrange(1901, 2155)),
    "code": Column("CHAR(10)", lambda chance: text(chance, 9).rstrip()),
    "name": Column("VARCHAR(200)", lambda chance: text(chance, 60)),
    "latin": Column("VARCHAR(50) CHARACTER SET latin1", lambda chance: "".join(chance.choices("aéü ß", k=chance.randrange(20)))),
    "long_text": Column("TEXT", lambda chance: text(chance, 300)),
    "exact": Column("BINARY(8)", lambda chance: chance.randbytes(8), told=bytes, found=bytes),
    "data": Column("VARBINARY(100)", lambda chance: chance.randbytes(chance.randrange(100)), told=bytes, found=bytes),
    "state": Column("ENUM('new','paid','gone, away')", lambda chance: chance.choice(("new", "paid", "gone, away"))),
    "tags": Column("SET('a','b','c')", lambda chance: ",".join(tag for tag in "abc" if chance.random() < 0.5)),
    "facts": Column("JSON", facts, told=parsed, found=parsed),
    "uuid_16": Column("UUID", lambda chance: str(UUID(int=chance.getrandbits(128))), told=UUID),
    "address": Column("INET6", lambda chance: f"2001:db8::{chance.randrange(1, 65_536):x}"),
    "place": Column(
        "POINT",
        lambda chance: b"\0\0\0\0" + struct.pack("<BIdd", 1, 1, chance.random(), chance.random()),
        # The number of the reference system comes first.
        told=lambda value: bytes(value)[4:],
        found=bytes,
    ),
}
KEYS = (Column("BIGINT", whole(64)), Column("SMALLINT", whole(16)), Column("VARCHAR(40)", lambda chance: text(chance, 30)))
"""The columns of keys: a number, a small one, a word."""


class MysqlSide(Side):
    """What speaks as MySQL does. See Side."""

    tables = of_types(COLUMNS, *KEYS)
    stop = SIGTERM

    @property
    @abstractmethod
    def port(self) -> int:
        """Of its server."""

    def is_lost(self, error: BaseException) -> bool:
        """See Side."""
        return isinstance(error, pymysql.err.OperationalError) and error.args[0] in _LOST

    def lacks_column(self, error: BaseException) -> bool:
        """See Side."""
        return isinstance(error, pymysql.err.OperationalError) and error.args[0] == _NO_COLUMN

    def as_sink(self) -> Mapping[str, str]:
        """See Side."""
        return {"connection.url": f"mysql://127.0.0.1:{self.port}/{DATABASE}", **USER}

    def has(self, connection: "pymysql.Connection", table: str) -> bool:
        """See Side."""
        with closing(connection.cursor()) as cursor:
            return bool(cursor.execute("SHOW TABLES LIKE %s", [table]))

    def rows(self, connection: "pymysql.Connection", query: str) -> Iterator[tuple[Any, ...]]:
        """See Side."""
        with closing(connection.cursor(pymysql.cursors.SSCursor)) as cursor:
            cursor.execute(query)
            yield from cursor

    def ordered(self, name: str, column: Column) -> str:
        """See Side."""
        return f"BINARY {name}" if "CHAR" in column.kind else name

    def replaced(self, table: Table, names: Sequence[str]) -> tuple[str, str]:
        """See Side."""
        return f"REPLACE INTO {table.name} ({', '.join(names)})", ""

    def renamed(self, old: str, new: str) -> Statement:
        """See Side. In another case it is the same key for the database, and another one for who reads it."""
        return "UPDATE IGNORE words SET word = %s WHERE word = %s", [new, old]

    def odd(self, number: int, chance: Random) -> Statement:
        """See Side."""
        if chance.random() < 0.5:
            return "INSERT INTO odd (id, day) VALUES (%s, '0000-00-00')", [number]
        return "INSERT INTO odd (id, name) VALUES (%s, %s)", [number, "a\0b"]

    def many(self, first: int, last: int) -> Statement:
        """See Side."""
        rows = f"SELECT seq, CONCAT('many ', seq), seq / 7 FROM seq_{first}_to_{last}"
        return f"INSERT INTO orders (id, name, price) {rows}", []

    def definitions(self) -> Sequence[Definition]:
        """See Side."""
        extra = Column("INT", lambda chance: chance.randrange(9))
        return (
            Definition("orders", "ALTER TABLE orders ADD COLUMN extra INT NULL", {"extra": extra}),
            Definition("drafts", "TRUNCATE drafts"),
            Definition(
                "orders",
                "ALTER TABLE orders MODIFY COLUMN int_u BIGINT UNSIGNED",
                {"int_u": Column("", lambda _: 2**63, found=int)},
            ),
            Definition("orders", "ALTER TABLE orders MODIFY COLUMN name VARCHAR(500)"),
            Definition("later", self.tables.later.definition),
            Definition("orders", "ALTER TABLE orders DROP COLUMN extra", {"extra": None}),
            Definition("drafts", "TRUNCATE drafts"),
            Definition(
                "everything",
                "ALTER TABLE everything ADD COLUMN more VARCHAR(20) NULL AFTER tiny",
                {"more": Column("", lambda _: "more")},
            ),
        )


class MariadbSide(MysqlSide):
    """See Side."""

    name = "mariadb"
    scope = DATABASE

    def __init__(self) -> None:
        self._server = Mariadb()

    @property
    def port(self) -> int:
        """See MysqlSide."""
        return self._server.port

    def command(self) -> Sequence[str]:
        """See Side."""
        return self._server.command()

    def is_ready(self) -> bool:
        """See Side."""
        return self._server.is_ready()

    def make(self) -> None:
        """See Side."""
        with self._server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")

    def remove(self) -> None:
        """See Side."""
        self._server.remove()

    def connect(self) -> "pymysql.Connection":
        """See Side. What is wrong in a statement is only warned of."""
        return self._server.connect(database=DATABASE, init_command="SET sql_mode = ''")

    def as_source(self) -> Mapping[str, str]:
        """See Side."""
        return {
            "connector.class": "mysql_cdc_source",
            "hostname": "127.0.0.1",
            "port": str(self.port),
            "username": USER["user"],
            "password": USER["password"],
            "database.include": DATABASE,
        }
