"""Stores of all services with something in each table that matters, made once and copied."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from typer.testing import Result

from rocketconnect_cli.backups import schema
from rocketconnect_cli.backups.endpoints import ORDER
from rocketconnect_kit.store import database
from tests.spoken import answered

SEALED = "v1:sealed-canary"
WORKER = {
    "file_source": {"guarantee": "EXACTLY_ONCE"},
    "table": {"guarantee": "EXACTLY_ONCE"},
    "stdout": {"guarantee": "AT_LEAST_ONCE"},
}
CONNECTORS = (
    ("in", "SOURCE", {"connector.class": "file_source"}, {"a.txt": "[500]"}),
    ("out", "SINK", {"connector.class": "table"}, {"t/b/0": "[90]", "~queues": "[1]"}),
    ("print", "SINK", {"connector.class": "stdout"}, {"t/b/0": "[90]", "t/b/1": "[70]"}),
)


def run(*words: str | Path) -> Result:
    """What a command answers; it asks nobody."""
    return answered(*map(str, words), env={"ROCKETCONNECT_DATA_DIR": "", "ROCKETCONNECT_STORE_URL": ""})


def fill(engine: sa.Engine, services: tuple[str, ...]) -> None:
    """Make the tables of services, with rows of all types."""
    with database.writing(engine) as connection:
        for service in services:
            schema.make(connection, service, schema.revisions(service)[-1])
    metadata = sa.MetaData()
    metadata.reflect(engine)
    with database.writing(engine) as connection:

        def add(name: str, /, **row: Any) -> None:
            connection.execute(metadata.tables[name].insert().values(**row))

        if "config" in services:
            for name, kind, config, _ in CONNECTORS:
                connector(connection, metadata, name, kind, config)
            add("config_secrets", name="db.password", sealed=SEALED, update_time=1)
            plugins = {name: json.dumps(plugin) for name, plugin in WORKER.items()}
            add("config_workers", worker_id="w", address="a", plugins=json.dumps(plugins), aliases="{}", update_time=1)
        if "position" in services:
            for name, _, _, positions in CONNECTORS:
                for partition, offset in positions.items():
                    position(connection, metadata, name, partition, offset)
            add("position_tasks", connector_uid="uid-in", task=0, generation=1, epoch=1 << 40, clean=True, open=False)
        if "state" in services:
            add("state_tasks", connector_uid="uid-in", task=0, metrics=b"\x00\xff")
            row = {"time": 1.1, "level": "INFO", "message": 'ä\u2028"', "task": -1, "worker": "w"}
            add("state_logs", connector_uid="uid-in", sequence=1, **row)
            connection.execute(sa.text("UPDATE state_leader SET holder = 'a', term = 7, until = 99"))


def connector(connection: sa.Connection, metadata: sa.MetaData, name: str, kind: str, config: dict[str, str]) -> None:
    """A connector in the store of the config service."""
    row = {"uid": f"uid-{name}", "name": name, "revision": 1, "changed": 1, "config": json.dumps(config), "type": kind}
    more = {"wanted_state": "RUNNING", "create_time": 1, "update_time": 1, "restarts": 0}
    connection.execute(metadata.tables["config_connectors"].insert().values(**row, **more))


def position(connection: sa.Connection, metadata: sa.MetaData, name: str, partition: str, offset: str) -> None:
    """A position of a connector."""
    row = {"connector_uid": f"uid-{name}", "partition": partition, "offset": offset, "incarnation": 1, "resume": "{}"}
    connection.execute(metadata.tables["position_positions"].insert().values(**row, update_time=1))


def rows(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of a place, by table."""
    engine = database.engine(url)
    with database.reading(engine) as connection:
        metadata = sa.MetaData()
        metadata.reflect(connection)
        found = {
            table.name: sorted((tuple(row) for row in connection.execute(sa.select(table))), key=repr)
            for table in metadata.sorted_tables
        }
    engine.dispose()
    return found


def stored(folder: Path) -> dict[str, Any]:
    """All rows of the files of a folder."""
    return {service: rows(f"sqlite:///{folder / service}.db") for service in ORDER}


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the stores of all services, to be copied."""
    folder = tmp_path_factory.mktemp("filled")
    for service in ORDER:
        engine = database.engine(f"sqlite:///{folder / service}.db")
        fill(engine, (service,))
        engine.dispose()
    return folder


@pytest.fixture
def data(filled: Path, tmp_path: Path) -> Path:
    """Stores of its own for a test."""
    return Path(shutil.copytree(filled, tmp_path / "data"))


Change = Callable[[str, str], None]


@pytest.fixture
def change(data: Path) -> Change:
    """Change a store of the folder `data` by SQL."""

    def changing(service: str, statement: str) -> None:
        engine = database.engine(f"sqlite:///{data / service}.db")
        with database.writing(engine) as connection:
            connection.execute(sa.text(statement))
        engine.dispose()

    return changing
