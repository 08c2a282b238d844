import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pyarrow as pa
import pytest

from connectors.jdbc_sink import JdbcSink
from connectors.jdbc_sink.task import JdbcTask
from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import Schema
from rocketconnect_sdk.sink import QueuePosition, SinkCommit
from rocketconnect_sdk.spark.types import to_spark
from rocketconnect_sdk.targets.batch import HEADER, UNCHANGED
from tests.servers.mariadb import Mariadb
from tests.servers.oceanbase.seekdb import Seekdb

QUEUE = "orders/broker-a/0"


@dataclass(slots=True)
class Target:
    """A database, and a sink that writes to it."""

    kind: str
    options: dict[str, str]
    connect: Callable[[], Any]
    offset: int = 0
    tasks: list[JdbcTask] = field(default_factory=list)

    @property
    def is_mysql(self) -> bool:
        """Whether it has the dialect of MySQL, on the whole."""
        return self.kind in ("mariadb", "oceanbase")

    def run(self, *statements: str) -> list[Any]:
        with closing(self.connect()) as database:
            cursor = database.cursor()
            for statement in statements:
                cursor.execute(statement.replace('"', "`") if self.is_mysql else statement)
            rows = list(cursor.fetchall()) if cursor.description else []
            database.commit()
            return rows

    def start(self, **options: str) -> JdbcTask:
        given = {name.replace("_", "."): value for name, value in options.items()}
        config = parse(JdbcSink().options, {"table.name.format": "rows", **self.options, **given})
        task = JdbcSink().open(config, {}, TaskContext(epoch=len(self.tasks) + 1))
        task.start()
        self.tasks.append(task)
        return task

    def write(
        self,
        task: JdbcTask,
        values: Sequence[object],
        schema: Schema | None,
        topic: str = "orders",
        keys: Sequence[object] = (),
        headers: Sequence[dict[str, str]] = (),
    ) -> None:
        array = to_spark(to_array(values, schema))
        commit = SinkCommit(
            "test",
            0,
            1,
            {QUEUE: QueuePosition(self.offset)},
            {QUEUE: QueuePosition(self.offset + 1)},
            len(values),
            str(self.offset),
        )
        if schema is not None:
            task.columns_for(schema)
        columns = {
            "value": array,
            "topic": [topic] * len(array),
            "key": to_array(keys or [None] * len(array), None),
            **{
                name: pa.array([each.get(name.removeprefix(HEADER)) for each in headers or [{}] * len(array)], pa.string())
                for name in {UNCHANGED, *(name for name in task.columns if name.startswith(HEADER))}
            },
        }
        task.write(pa.table({name: columns[name] for name in task.columns}), commit)
        self.offset += 1


_NUMBERS = count()


OCEANBASE = pytest.param("oceanbase", marks=pytest.mark.slow)
EACH = pytest.mark.parametrize("target", ["postgres", "mariadb", "sqlite", OCEANBASE], indirect=True)
"""For tests of what each kind has in a way of its own."""


@pytest.fixture(params=["postgres", pytest.param("mariadb", marks=pytest.mark.slow), "sqlite", OCEANBASE])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    name = f"sink{next(_NUMBERS)}"
    if request.param == "postgres":
        server = urlsplit(request.getfixturevalue("postgres"))
        place = {"host": server.hostname, "port": server.port, "user": "postgres"}
        with psycopg.connect(**place, dbname="test", autocommit=True) as database:
            database.execute(f"CREATE DATABASE {name}".encode())
        url = f"postgresql://{server.hostname}:{server.port}/{name}"
        made = Target("postgres", {"connection.url": url, "user": "postgres"}, lambda: psycopg.connect(**place, dbname=name))
    elif request.param == "mariadb":
        running: Mariadb = request.getfixturevalue("mariadb")
        with running.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
            cursor.execute("CREATE OR REPLACE USER plain@'%'")
            cursor.execute(f"GRANT ALL ON {name}.* TO plain@'%'")
        url = f"mysql://127.0.0.1:{running.port}/{name}"
        made = Target("mariadb", {"connection.url": url, "user": "plain"}, lambda: running.connect(database=name, autocommit=False))
    elif request.param == "oceanbase":
        ocean: Seekdb = request.getfixturevalue("oceanbase")
        ocean.make(name, "plain")
        url = f"oceanbase://127.0.0.1:{ocean.port}/{name}"
        made = Target("oceanbase", {"connection.url": url, "user": "plain"}, lambda: ocean.connect(database=name, autocommit=False))
    else:
        made = Target("sqlite", {"connection.url": f"sqlite:///{tmp_path}/db"}, lambda: sqlite3.connect(tmp_path / "db"))
    yield made
    for task in made.tasks:
        task.close()
