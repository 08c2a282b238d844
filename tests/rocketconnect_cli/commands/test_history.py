"""What was done to a connector, and what changed by it."""

import json
from typing import Any

from tests.rocketconnect_cli.conftest import run


def change(action: str, revision: int, time: str, uid: str = "u1") -> dict[str, Any]:
    return {"connectorUid": uid, "action": f"ACTION_{action}", "revision": str(revision), "author": "ann", "time": time}


def test_the_history_shows_the_keys_that_each_change_of_a_configuration_changed_and_nothing_at_what_changed_none(
    rest_factory: Any,
) -> None:
    rest = rest_factory(200, {})
    done = [
        change("PAUSE", 2, "2026-01-01T00:00:03Z"),
        change("UPDATE", 2, "2026-01-01T00:00:02Z"),
        change("CREATE", 1, "2026-01-01T00:00:01Z"),
    ]
    revisions = [
        {"revision": "2", "connectorUid": "u1", "config": {"topic": "t", "batch.records": "50"}},
        {"revision": "1", "connectorUid": "u1", "config": {"topic": "t", "batch.records": "10", "keys": "a"}},
    ]
    rest.bodies["/v1/connectors/c/changes"] = json.dumps({"changes": done, "nextPageToken": ""}).encode()
    rest.bodies["/v1/connectors/c/revisions"] = json.dumps({"revisions": revisions, "nextPageToken": ""}).encode()
    result = run(rest.url, "connector", "history", "c", "-o", "json")
    assert result.exit_code == 0
    assert [each["changed"] for each in json.loads(result.stdout)["changes"]] == ["", "batch.records, -keys", "-"]
    assert "CHANGED" in run(rest.url, "connector", "history", "c").stdout
