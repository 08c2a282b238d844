"""A process that is killed while it gives files other tables: all of them have the old ones, or all the new ones."""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from rocketconnect_cli.backups import schema, sqlite
from rocketconnect_cli.backups.endpoints import ORDER
from rocketconnect_kit.store import database


def content(folder: Path) -> dict[str, list[str]]:
    """All statements that make the files of a folder."""
    found = {}
    for service in ORDER:
        with contextlib.closing(sqlite3.connect(folder / f"{service}.db")) as connection:
            found[service] = sorted(connection.iterdump())
    return found


@pytest.mark.parametrize("kills", [10, pytest.param(150, marks=pytest.mark.slow)])
def test_who_is_killed_leaves_all_old_or_all_new(filled: Path, data: Path, tmp_path: Path, kills: int) -> None:
    new = Path(shutil.copytree(filled, tmp_path / "new"))
    for service in ORDER:
        engine = database.engine(f"sqlite:///{new / service}.db")
        table = {"position": "tasks", "config": "secrets", "cluster": "counters", "state": "logs"}[service]
        with database.writing(engine) as connection:
            connection.exec_driver_sql(f"DELETE FROM {service}_{table}")
        engine.dispose()
    new_rows, old_rows = content(new), content(data)
    # That of the cluster has nothing that goes.
    assert [new_rows[service] != old_rows[service] for service in ORDER] == [True, True, False, True]
    changes = [[(data / f"{service}.db", folder / f"{service}.db") for service in ORDER] for folder in (new, filled)]
    gone = [schema.tables(service, schema.revisions(service)[-1]) for service in ORDER]
    chance, seconds = random.Random(7), 0.02
    killed = 0
    for number in range(kills):
        begin = time.monotonic()
        child = os.fork()
        if child == 0:
            sqlite.put(changes[number % 2], gone)
            os._exit(0)
        time.sleep(chance.uniform(0, 1.2 * seconds))
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            killed += 1
        else:
            seconds = time.monotonic() - begin
        assert content(data) in (old_rows, new_rows), number
    assert killed
