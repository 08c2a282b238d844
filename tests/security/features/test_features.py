"""What executors have a part in, between services that all ask who calls; the other features: tests/e2e, guarded."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.api import Api, ApiError
from rocketconnect_cli.states import wait_for
from rocketconnect_kit.sealing import new_key
from tests.processes import wait_until
from tests.security.guarded import Guarded, guarding
from tests.services.executor.conftest import PLUGINS
from tests.spoken import rc

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
WORKERS = {"worker-1", "worker-2"}


@pytest.fixture
def guarded(tmp_path: Path, rocketmq: Any) -> Iterator[Guarded]:
    """With two executors that offer the plugin of tests, and a keystore."""
    keys = tmp_path / "keys"
    keys.write_text(f"{new_key()}\n")
    keys.chmod(0o600)
    paths = os.pathsep.join([str(PLUGINS), os.environ.get("PYTHONPATH", "")])
    extra = {"PYTHONPATH": paths, "ROCKETCONNECT_KEYSTORE_KEYS": str(keys), "ROCKETCONNECT_REBALANCE_DELAY_SECONDS": "0"}
    folder = tmp_path / "guarded"
    folder.mkdir()
    with guarding(folder, rocketmq.name_server, 2, extra) as made:
        yield made


def test_plans_signals_secrets_drains_and_cleanups_work_as_nobody_was_asked(guarded: Guarded, tmp_path: Path) -> None:
    shares, cleaned, out = tmp_path / "shares", tmp_path / "cleaned", tmp_path / "out.txt"
    shares.write_text("2")
    topic = f"features-{time.time_ns()}"

    def told(*words: str, given: str = "") -> Any:
        env = {"ROCKETCONNECT_TOKEN": guarded.token("alice")}
        code, printed, err = rc(guarded.fleet.rest, *words, "-o", "json", env=env, given=given)
        assert code == 0, err
        return json.loads(printed) if printed else None

    def lines() -> int:
        return len(out.read_text().splitlines()) if out.exists() else 0

    with guarded.api("alice") as api:
        wait_until(lambda: offers(api), 180)
        told("secret", "set", "db", given="s3cr3t-value\n")
        options = {
            "connector.class": "monitorable_source",
            "topic": topic,
            "records": "10",
            "max.tasks": "4",
            "shares": str(shares),
            "on.deleted": str(cleaned),
            "password": "${keystore:db}",
        }
        sink = {"connector.class": "file_lines", "engine": "native", "topics": topic, "filename": str(out)}
        for name, config in (("lines", sink), ("numbers", options)):
            api.request("POST", "/v1/connectors", body={"name": name, "config": config})
        wait_until(lambda: lines() == 20, 180)
        wait_until(lambda: holders(api) == WORKERS, 180)

        # Whichever executor runs a task.
        answers = told("connector", "signal", "numbers", "more", "records=5")["answers"]
        assert [each["text"] for each in answers] == ["more: 15 records"] * 2
        wait_until(lambda: lines() == 30, 180)

        # A task asks for another plan.
        shares.write_text("3")
        wait_until(lambda: lines() == 40, 180)

        told("worker", "drain", "worker-2")
        assert holders(api) == {"worker-1"}
        told("worker", "undrain", "worker-2")
        wait_until(lambda: holders(api) == WORKERS, 180)
        assert set(told("plugins", "reload")["workers"]) == WORKERS

        told("connector", "stop", "numbers")
        wait_for(api, "numbers", ("STOPPED",), 180)
        told("position", "reset", "numbers")
        told("connector", "delete", "numbers", "--yes")
        wait_until(cleaned.exists, 180)
        told("connector", "delete", "lines", "--yes")
    logs = "".join(path.read_text(errors="replace") for path in guarded.folder.glob("*.log"))
    assert "NOT_ALLOWED" not in logs
    assert "which may not call" not in logs


def offers(api: Api) -> bool:
    """Whether both executors can be asked, and offer the plugin."""
    try:
        plugins = {each["name"] for each in api.pages("/v1/plugins", "plugins")}
        return "monitorable_source" in plugins and len(list(api.pages("/v1/workers", "workers"))) == len(WORKERS)
    except ApiError:
        return False


def holders(api: Api) -> set[str]:
    """Who holds tasks of the source."""
    assigned = api.pages("/v1/assignments", "assignments", {})
    return {each["workerId"] for each in assigned if each["connector"] == "numbers" and each["unit"] == "UNIT_TASK"}
