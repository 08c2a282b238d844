"""PostgreSQL, copied or the copy."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, timedelta
from decimal import Decimal
from random import Random
from signal import SIGINT
from typing import Any
from uuid import UUID

import psycopg

from tests.databases.side import DATABASE, Definition, Side, Statement
from tests.databases.tables import Column, Table, facts, moment, of_day, of_types, packed, parsed, single, text, whole
from tests.servers.postgres import Postgres


def _span(value: timedelta) -> dict[str, int]:
    return {"months": 0, "days": value.days, "microseconds": value.seconds * 1_000_000 + value.microseconds}


def _digits(chance: Random) -> str:
    """So long and so random that the database keeps it beside the row."""
    return chance.randbytes(chance.randrange(4_000, 9_000)).hex() if chance.random() < 0.3 else "short"


_COLUMNS: Mapping[str, Column] = {
    "small": Column("SMALLINT", whole(16)),
    "int_4": Column("INTEGER", whole(32)),
    "int_u": Column("BIGINT", whole(32, signed=False)),
    "big": Column("BIGINT", whole(64)),
    "price": Column("NUMERIC(30,10)", lambda chance: Decimal(chance.randint(-(10**29), 10**29)).scaleb(-10)),
    "free": Column("NUMERIC", lambda chance: Decimal(chance.randint(-(10**50), 10**50)).scaleb(-chance.randrange(30)), "{}::text"),
    "single": Column("REAL", single, told=packed, found=packed, found_select="{} + 0e0"),
    "real_8": Column("DOUBLE PRECISION", lambda chance: chance.random() * 10 ** chance.randrange(-300, 300)),
    "flag": Column("BOOLEAN", lambda chance: chance.random() < 0.5, found=bool),
    "day": Column("DATE", lambda chance: moment(chance, 1)[:10]),
    "clock": Column("TIME(6)", lambda chance: moment(chance, 6)[11:], found=of_day),
    "moment": Column("TIMESTAMP(6)", lambda chance: moment(chance, 6)),
    "point_in_time": Column(
        "TIMESTAMPTZ",
        lambda chance: f"{moment(chance, 6)}+05:30",
        told=lambda value: value.astimezone(UTC).replace(tzinfo=None),
    ),
    "span": Column(
        "INTERVAL",
        lambda chance: timedelta(chance.randrange(400), chance.randrange(86_400), chance.randrange(1_000_000)),
        told=_span,
        found=parsed,
    ),
    "code": Column("CHAR(10)", lambda chance: text(chance, 9)),
    "name": Column("VARCHAR(200)", lambda chance: text(chance, 60)),
    "long_text": Column("TEXT", lambda chance: text(chance, 300)),
    "large": Column("TEXT", _digits),
    "data": Column("BYTEA", lambda chance: chance.randbytes(chance.randrange(100)), told=bytes, found=bytes),
    "state": Column("order_state", lambda chance: chance.choice(("new", "paid", "gone, away")), "{}::text"),
    "facts": Column("JSONB", facts, told=parsed, found=parsed),
    "as_written": Column("JSON", facts, told=parsed, found=parsed),
    "uuid_16": Column("UUID", lambda chance: str(UUID(int=chance.getrandbits(128))), told=str),
    "address": Column("INET", lambda chance: f"2001:db8::{chance.randrange(1, 65_536):x}/64", "{}::text"),
    "bits": Column("BIT(8)", lambda chance: f"{chance.getrandbits(8):08b}"),
    "numbers": Column("INTEGER[]", lambda chance: [chance.choice((None, 1, -5)) for _ in range(3)], found=parsed),
    "names": Column("TEXT[]", lambda chance: [text(chance, 9) for _ in range(chance.randrange(3))], found=parsed),
    "numbers_of": Column("INT4RANGE", lambda chance: f"[{chance.randrange(9)},{chance.randrange(9, 99)})", "{}::text"),
}


class PostgresSide(Side):
    """See Side."""

    name = "postgres"
    scope = "public"
    tables = of_types(
        _COLUMNS, Column("BIGINT", whole(64)), Column("SMALLINT", whole(16)), Column("VARCHAR(40)", lambda chance: text(chance, 30))
    )
    # SIGTERM would wait until everyone has gone.
    stop = SIGINT

    def __init__(self) -> None:
        self._server = Postgres(wal_level="logical")

    def command(self) -> Sequence[str]:
        """See Side."""
        return self._server.command()

    def is_ready(self) -> bool:
        """See Side."""
        return self._server.is_ready()

    def make(self) -> None:
        """See Side."""
        with self._connect("postgres") as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}".encode())
        with self._connect() as connection:
            connection.execute("CREATE TYPE order_state AS ENUM ('new', 'paid', 'gone, away')")

    def remove(self) -> None:
        """See Side."""
        self._server.remove()

    def connect(self) -> "psycopg.Connection[Any]":
        """See Side."""
        return self._connect()

    def _connect(self, database: str = DATABASE) -> "psycopg.Connection[Any]":
        return psycopg.connect(
            host="127.0.0.1",
            port=self._server.port,
            user="postgres",
            dbname=database,
            autocommit=True,
            cursor_factory=psycopg.ClientCursor,
        )

    def is_lost(self, error: BaseException) -> bool:
        """See Side."""
        return isinstance(error, psycopg.OperationalError)

    def lacks_column(self, error: BaseException) -> bool:
        """See Side."""
        return isinstance(error, psycopg.errors.UndefinedColumn)

    def as_source(self) -> Mapping[str, str]:
        """See Side."""
        return {
            "connector.class": "postgres_cdc_source",
            "hostname": "127.0.0.1",
            "port": str(self._server.port),
            "username": "postgres",
            "database": DATABASE,
            "table.include": r"public\..*",
        }

    def as_sink(self) -> Mapping[str, str]:
        """See Side."""
        return {"connection.url": f"postgresql://127.0.0.1:{self._server.port}/{DATABASE}", "user": "postgres"}

    def has(self, connection: "psycopg.Connection[Any]", table: str) -> bool:
        """See Side."""
        return connection.execute("SELECT to_regclass(%s)", [table]).fetchone() != (None,)

    def rows(self, connection: "psycopg.Connection[Any]", query: str) -> Iterator[tuple[Any, ...]]:
        """See Side."""
        with connection.transaction(), connection.cursor("rows") as cursor:
            cursor.itersize = 10_000
            cursor.execute(query.encode())
            yield from cursor

    def ordered(self, name: str, column: Column) -> str:
        """See Side."""
        return f'{name} COLLATE "C"' if "CHAR" in column.kind else name

    def replaced(self, table: Table, names: Sequence[str]) -> tuple[str, str]:
        """See Side."""
        change = ", ".join(f"{name} = excluded.{name}" for name in names if name not in table.key)
        return f"INSERT INTO {table.name} ({', '.join(names)})", f"ON CONFLICT ({', '.join(table.key)}) DO UPDATE SET {change}"

    def renamed(self, old: str, new: str) -> Statement:
        """See Side."""
        free = "NOT EXISTS (SELECT 1 FROM words WHERE word = %s)"
        return f"UPDATE words SET word = %s WHERE word = %s AND {free}", [new, old, new]

    def odd(self, number: int, chance: Random) -> Statement:
        """See Side. No record can have the one, and no MariaDB the other."""
        if chance.random() < 0.5:
            return "INSERT INTO odd (id, day) VALUES (%s, 'infinity')", [number]
        return "INSERT INTO odd (id, real_8) VALUES (%s, 'NaN')", [number]

    def many(self, first: int, last: int) -> Statement:
        """See Side."""
        rows = f"SELECT seq, 'many ' || seq, seq / 7.0 FROM generate_series({first}, {last}) AS seq"
        return f"INSERT INTO orders (id, name, price) {rows}", []

    def definitions(self) -> Sequence[Definition]:
        """See Side."""
        extra = Column("INTEGER", lambda chance: chance.randrange(9))
        return (
            Definition("orders", "ALTER TABLE orders ADD COLUMN extra INTEGER", {"extra": extra}),
            Definition("drafts", "TRUNCATE drafts"),
            Definition("orders", "ALTER TABLE orders ALTER COLUMN small TYPE BIGINT", {"small": Column("", lambda _: 2**63 - 1)}),
            Definition("orders", "ALTER TABLE orders ALTER COLUMN name TYPE VARCHAR(500)"),
            Definition("later", self.tables.later.definition),
            Definition("orders", "ALTER TABLE orders DROP COLUMN extra", {"extra": None}),
            Definition("drafts", "TRUNCATE drafts"),
            Definition("everything", "ALTER TABLE everything ADD COLUMN more VARCHAR(20)", {"more": Column("", lambda _: "more")}),
        )
