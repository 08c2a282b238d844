import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.servers.mariadb import Mariadb
from tests.servers.oceanbase.seekdb import Seekdb


@dataclass(slots=True)
class Database:
    """A database with nothing in it."""

    kind: str
    options: dict[str, str]
    connect: Callable[[], Any]

    @property
    def is_mysql(self) -> bool:
        """Whether it has the dialect of MySQL, on the whole."""
        return self.kind in ("mariadb", "oceanbase")

    def run(self, *statements: str) -> None:
        """Names are quoted as SQL has it; {time} stands for a time without a zone."""
        time = {"postgres": "timestamp", "sqlite": "datetime"}.get(self.kind, "datetime(6)")
        with closing(self.connect()) as database:
            cursor = database.cursor()
            for statement in statements:
                cursor.execute(statement.replace("{time}", time))
            database.commit()


_NUMBERS = count()


OCEANBASE = pytest.param("oceanbase", marks=pytest.mark.slow)
EACH = pytest.mark.parametrize("database", ["postgres", "mariadb", "sqlite", OCEANBASE], indirect=True)
"""For tests of what each kind has in a way of its own."""


@pytest.fixture(params=[*(pytest.param(kind, marks=pytest.mark.slow) for kind in ("postgres", "mariadb", "oceanbase")), "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """Of the cheapest kind; of each kind in `make test-all`."""
    name = f"source{next(_NUMBERS)}"
    if request.param == "postgres":
        server = urlsplit(request.getfixturevalue("postgres"))
        place = {"host": server.hostname, "port": server.port, "user": "postgres"}
        with psycopg.connect(**place, dbname="test", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        url = f"postgresql://{server.hostname}:{server.port}/{name}"
        yield Database("postgres", {"connection.url": url, "user": "postgres"}, lambda: psycopg.connect(**place, dbname=name))
    elif request.param == "mariadb":
        running: Mariadb = request.getfixturevalue("mariadb")
        with running.connect() as root, root.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
            cursor.execute("CREATE USER IF NOT EXISTS jdbc_reader@'%'")
            cursor.execute(f"GRANT ALL ON {name}.* TO jdbc_reader@'%'")
        url = f"mysql://127.0.0.1:{running.port}/{name}"
        yield Database(
            "mariadb", {"connection.url": url, "user": "jdbc_reader"}, lambda: running.connect(database=name, autocommit=False)
        )
    elif request.param == "oceanbase":
        ocean: Seekdb = request.getfixturevalue("oceanbase")
        ocean.make(name, "jdbc_reader")
        url = f"oceanbase://127.0.0.1:{ocean.port}/{name}"
        yield Database(
            "oceanbase", {"connection.url": url, "user": "jdbc_reader"}, lambda: ocean.connect(database=name, autocommit=False)
        )
    else:
        yield Database("sqlite", {"connection.url": f"sqlite:///{tmp_path}/db"}, lambda: sqlite3.connect(tmp_path / "db"))
