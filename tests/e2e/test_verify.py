"""`rocketconnect verify` against a running instance."""

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tests.e2e.test_command_line import rc

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
    code, out, err = rc(instance, "verify", "verified", "--wait", "0.5", "-o", "json")
    assert code == 0, (out, err)
    (table,) = json.loads(out)["tables"]
    assert (table["table"], table["sink"], table["target"], table["rows"]) == ("order", "verified-copy", "order", 500)
    with closing(sqlite3.connect(copy)) as database:
        database.execute('DELETE FROM "order" WHERE id = 7')
        database.execute("""UPDATE "order" SET name = 'x' WHERE id = 8""")
        database.commit()
    code, out, _ = rc(instance, "verify", "verified", "verified-copy", "-t", "order", "--wait", "0.5")
    assert code == 1
    assert "order [7] MISSING\norder [8] DIFFERENT: name\n" in out
    code, _, err = rc(instance, "verify", "verified-copy")
    assert (code, "is no source: its class is jdbc_sink" in err) == (2, True)
    for words in (("nothing",), ("verified", "nothing")):
        code, _, err = rc(instance, "verify", *words)
        assert (code, "'nothing'" in err) == (3, True)
    for name in ("verified", "verified-copy"):
        instance.api.request("DELETE", f"/v1/connectors/{name}")
