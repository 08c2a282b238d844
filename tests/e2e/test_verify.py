"""`rocketconnect verify` against a running instance."""

import json
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.states import wait_for
from tests.e2e.console import COMMAND
from tests.spoken import rc

pytestmark = pytest.mark.e2e


@pytest.mark.slow
def test_tables_of_two_databases_are_compared_by_an_executor(instance: Any) -> None:
    shop, copy = instance.folder / "shop.db", instance.folder / "copy.db"
    for path in (shop, copy):
        with closing(sqlite3.connect(path)) as database:
            database.execute('CREATE TABLE "order" (id INTEGER PRIMARY KEY, name TEXT)')
            database.executemany('INSERT INTO "order" VALUES (?, ?)', [(number, f"n{number}") for number in range(500)])
            database.commit()
    source = {"connector.class": "jdbc_source", "connection.url": f"sqlite:///{shop}", "topic": "verified", "mode": "bulk"}
    sink = {
        "connector.class": "jdbc_sink",
        "connection.url": f"sqlite:///{copy}",
        "topics": "verified",
        "table.name.format": "order",
    }
    for name, config in (("verified", source), ("verified-copy", sink)):
        body = {"name": name, "config": config, "wantedState": "WANTED_STATE_PAUSED"}
        instance.api.request("POST", "/v1/connectors", body=body)
    code, out, err = rc(instance.url, "verify", "verified", "--wait", "0.5", "-o", "json")
    assert code == 0, (out, err)
    (table,) = json.loads(out)["tables"]
    assert (table["table"], table["sink"], table["target"], table["rows"]) == ("order", "verified-copy", "order", 500)
    with closing(sqlite3.connect(copy)) as database:
        database.execute('DELETE FROM "order" WHERE id = 7')
        database.execute("""UPDATE "order" SET name = 'x' WHERE id = 8""")
        database.commit()
    code, out, _ = rc(instance.url, "verify", "verified", "verified-copy", "-t", "order", "--wait", "0.5")
    assert code == 1
    assert "order [7] MISSING\norder [8] DIFFERENT: name\n" in out
    code, _, err = rc(instance.url, "verify", "verified-copy")
    assert (code, "is no source: its class is jdbc_sink" in err) == (2, True)
    for words in (("nothing",), ("verified", "nothing")):
        code, _, err = rc(instance.url, "verify", *words)
        assert (code, "'nothing'" in err) == (3, True)
    for name in ("verified", "verified-copy"):
        instance.api.request("DELETE", f"/v1/connectors/{name}")


@pytest.mark.slow
def test_rows_that_a_sink_has_not_come_to_are_waited_for_and_not_called_missing(instance: Any) -> None:
    shop, copy = instance.folder / "slow-shop.db", instance.folder / "slow-copy.db"
    with closing(sqlite3.connect(shop)) as database:
        database.execute("CREATE TABLE line (id INTEGER PRIMARY KEY, name TEXT)")
    _insert(shop, range(1, 11))
    source = {
        "connector.class": "jdbc_source",
        "connection.url": f"sqlite:///{shop}",
        "topic": "slow",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "poll.interval": "1s",
        "value.converter": "json",
        "value.converter.schemas.enable": "true",
    }
    sink = {
        "connector.class": "jdbc_sink",
        "connection.url": f"sqlite:///{copy}",
        "topics": "slow",
        "table.name.format": "line",
        "value.converter": "json",
        "value.converter.schemas.enable": "true",
        "auto.create": "true",
    }
    for name, config in (("slow", source), ("slow-copy", sink)):
        instance.api.request("POST", "/v1/connectors", body={"name": name, "config": config})
    deadline = time.monotonic() + 120
    while _rows(copy) < 10:
        assert time.monotonic() < deadline, instance.api.request("GET", "/v1/connectors/slow-copy/state")
        time.sleep(0.1)
    # With its positions, which it could not store while somebody else writes.
    wait_for(instance.api, "slow-copy", ("IDLE",), 180)
    words = [COMMAND, "verify", "slow", "--wait", "0.5", "--url", instance.url]
    with closing(sqlite3.connect(copy, timeout=60, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        _insert(shop, range(11, 31))
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as verifying:
            assert verifying.stderr is not None
            told = []
            for line in verifying.stderr:
                told.append(line)
                if "20 rows differ; 20 messages are not in the sink yet" in line and lock.in_transaction:
                    lock.execute("ROLLBACK")
            assert verifying.stdout is not None
            out = verifying.stdout.read()
    assert verifying.returncode == 0, (out, told)
    assert any("20 messages are not in the sink yet" in line for line in told), told
    assert _rows(copy) == 30
    for name in ("slow", "slow-copy"):
        instance.api.request("DELETE", f"/v1/connectors/{name}")


def _insert(path: Path, numbers: range) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executemany("INSERT INTO line VALUES (?, ?)", [(number, f"n{number}") for number in numbers])
        database.commit()


def _rows(path: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(*) FROM line").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
