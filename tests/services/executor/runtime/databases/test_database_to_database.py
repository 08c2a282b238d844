"""A table of a real MariaDB becomes one of another database, over a real RocketMQ and Spark, while what takes part is killed."""

import json
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from services.executor.contract.task import Kind
from tests.connectors.mysql_cdc_source.binlog.reading import Database
from tests.connectors.mysql_cdc_source.capturing import options
from tests.servers.mariadb import PASSWORD, Mariadb
from tests.servers.oceanbase.seekdb import Seekdb
from tests.servers.postgres import Postgres, PostgresFailed
from tests.services.executor.runtime.conftest import Tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.rocketmq,
    pytest.mark.mariadb,
    pytest.mark.postgres,
    pytest.mark.slow,
]

ROWS, CHANGES, KILLS = 3_000, 900, 3
SECONDS = 400.0
_NUMBERS = count()
COLUMNS = {
    "id": "BIGINT PRIMARY KEY",
    "name": "VARCHAR(200) CHARACTER SET utf8mb4",
    "price": "DECIMAL(12, 3)",
    "made": "DATETIME(6)",
    "day": "DATE",
    "data": "VARBINARY(50)",
    "weight": "DOUBLE",
    "facts": "JSON",
    "many": "INT UNSIGNED",
}


class Copy(ABC):
    """The database that is written to.

    Attributes:
        options: Of the sink.
    """

    options: Mapping[str, str]

    @abstractmethod
    def rows(self) -> Sequence[tuple[Any, ...]]:
        """Of the table `copy`, as far as it is there."""

    def kill(self) -> None:  # noqa: B027 - one of them alone is
        """Kills its server, and starts it again."""


class PostgresCopy(Copy):
    def __init__(self, connection: "psycopg.Connection[Any]", port: int) -> None:
        self.options = {"connection.url": f"postgresql://127.0.0.1:{port}/shop", "user": "postgres"}
        self._connection = connection

    def rows(self) -> Sequence[tuple[Any, ...]]:
        """See Copy."""
        if self._connection.execute("SELECT to_regclass('copy')").fetchone() == (None,):
            return []
        return self._connection.execute(f"SELECT {', '.join(COLUMNS)} FROM copy".encode()).fetchall()


class OceanbaseCopy(Copy):
    def __init__(self, server: Seekdb, database: str) -> None:
        self.options = {"connection.url": f"oceanbase://127.0.0.1:{server.port}/{database}", "user": "writer"}
        self._server = server
        self._database = database

    def rows(self) -> Sequence[tuple[Any, ...]]:
        """See Copy."""
        with self._server.connect(database=self._database) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW TABLES LIKE 'copy'")
            if not cursor.fetchall():
                return []
            cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM copy")
            return cursor.fetchall()

    def kill(self) -> None:
        """See Copy."""
        self._server.kill()
        self._server.start()


@pytest.fixture(params=["postgres", "oceanbase"])
def target(request: pytest.FixtureRequest) -> "Iterator[Copy]":
    if request.param == "oceanbase":
        ocean: Seekdb = request.getfixturevalue("oceanbase")
        database = f"shop{next(_NUMBERS)}"
        ocean.make(database, "writer")
        yield OceanbaseCopy(ocean, database)
        return
    try:
        server = Postgres(fsync="off")
    except PostgresFailed as error:
        pytest.fail(str(error), pytrace=False)
    with server.running("shop"):
        url = f"postgresql://postgres@127.0.0.1:{server.port}/shop"
        with psycopg.connect(url, autocommit=True) as connection:
            yield PostgresCopy(connection, server.port)


def row(chance: random.Random, number: int) -> tuple[Any, ...]:
    nothing = chance.random() < 0.1
    return (
        number,
        None if nothing else "é\"'\\\n" * chance.randrange(9),
        chance.randrange(-(10**9), 10**9) / 1000,
        f"20{chance.randrange(10, 99)}-02-28 23:59:59.{chance.randrange(10**6):06}",
        None if nothing else f"19{chance.randrange(10, 99)}-12-31",
        chance.randbytes(chance.randrange(50)),
        None if nothing else chance.random() * 10 ** chance.randrange(-200, 200),
        json.dumps({"a": [chance.random(), None, "ü"]}),
        chance.randrange(1 << 32),
    )


def change(database: Database, chance: random.Random, number: int) -> None:
    key = chance.randrange(1, ROWS + 300)
    with database.connection.cursor() as cursor:
        kind = chance.choice(("write", "update", "delete", "move", "many"))
        if kind == "write":
            marks = ", ".join(["%s"] * len(COLUMNS))
            cursor.execute(f"REPLACE INTO t VALUES ({marks})", row(chance, key))
        elif kind == "update":
            cursor.execute("UPDATE t SET price = price + 1, name = %s WHERE id = %s", [f"changed {number}", key])
        elif kind == "delete":
            cursor.execute("DELETE FROM t WHERE id = %s", [key])
        elif kind == "move":
            cursor.execute("UPDATE t SET id = %s WHERE id = %s", [100_000 + number, key])
        else:
            cursor.execute("UPDATE t SET weight = %s WHERE id BETWEEN %s AND %s", [float(number), key, key + 20])


def told(rows: Any) -> dict[int, tuple[Any, ...]]:
    """Values as both databases have them."""
    found: dict[int, tuple[Any, ...]] = {}
    for held in rows:
        values: list[Any] = [bytes(value) if isinstance(value, (bytes, memoryview)) else value for value in held]
        values[7] = values[7] if isinstance(values[7], (dict, type(None))) else json.loads(values[7])
        found[values[0]] = tuple(values)
    return found


@pytest.mark.parametrize("form", ["envelope", "row"])
def test_the_target_becomes_the_source_though_what_takes_part_is_killed(
    tasks: Tasks,
    mariadb: Mariadb,
    target: Copy,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    monkeypatch.setenv("MARIADB_PASSWORD", PASSWORD)
    chance = random.Random(3)
    topic = f"{tasks.topic}-t"
    tasks.client.create_topic(topic, queues=2)
    with Database(mariadb) as database:
        database.run(f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, kind in COLUMNS.items())})")
        with database.connection.cursor() as cursor:
            marks = ", ".join(["%s"] * len(COLUMNS))
            cursor.executemany(f"INSERT INTO t VALUES ({marks})", [row(chance, number) for number in range(1, ROWS + 1)])
        source = {
            "connector.class": "mysql_cdc_source",
            **options(database, table_topic="${topic}-${table}", change_form=form),
            "key.converter": "json",
            "value.converter": "json",
        }
        epochs = iter(range(1, 100))
        process = tasks.spawn(Kind.SOURCE, source, epoch=next(epochs))
        sink = {
            "connector.class": "jdbc_sink",
            "topics": topic,
            **target.options,
            "table.name.format": "copy",
            "insert.mode": "upsert",
            "pk.mode": "record_value" if form == "envelope" else "record_key",
            "pk.fields": "id",
            "delete.enabled": "true",
            "auto.create": "true",
            "key.converter": "json",
            "value.converter": "json",
        }
        running = tasks.start(Kind.SINK, sink)
        for kill in range(KILLS):
            for number in range(kill * CHANGES // KILLS, (kill + 1) * CHANGES // KILLS):
                change(database, chance, number)
            process.kill()
            process.wait()
            target.kill()
            process = tasks.spawn(Kind.SOURCE, source, epoch=next(epochs))
            time.sleep(chance.uniform(0.5, 2.0))
        database.run("INSERT INTO t (id, name) VALUES (999999, 'last')")
        wanted = told(database.select("SELECT * FROM t"))
        deadline = time.monotonic() + SECONDS
        found: dict[int, tuple[Any, ...]] = {}
        while found != wanted:
            different = {key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key)}
            state = (running.reporter.states[-1:], running.reporter.logs[-3:], (tasks.path / "SOURCE.log").read_text()[-500:])
            assert time.monotonic() < deadline, (state, [(found.get(key), wanted.get(key)) for key in sorted(different)[:2]])
            time.sleep(0.5)
            found = told(target.rows())
        assert running.stop().clean
