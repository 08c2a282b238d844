"""What an Alertmanager is given: whom it tells of what, and what it keeps to itself, tried with a real one and a receiver."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.alertmanager import CONFIGURATION, SECRETS, alertmanager
from tests.deploy.asked import rules
from tests.deploy.prometheus import prometheus
from tests.processes import wait_until
from tests.servers.handled import handled

TOLD: dict[str, Any] = yaml.safe_load(CONFIGURATION.read_text())


def amtool(*words: str) -> str:
    program = shutil.which("amtool")
    assert program is not None, "amtool is missing (Debian: apt-get install prometheus-alertmanager)"
    ended = subprocess.run([program, *words], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def values(of: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The name and the value of everything in it that has no parts."""
    if isinstance(of, dict):
        for key, value in of.items():
            yield from values(value, key)
    elif isinstance(of, list):
        for value in of:
            yield from values(value, name)
    else:
        yield name, of


def test_alertmanager_takes_the_configuration() -> None:
    assert "SUCCESS" in amtool("check-config", str(CONFIGURATION))


@pytest.mark.parametrize(("severity", "told"), [("critical", "on-call,team"), ("warning", "team")])
def test_who_is_on_call_is_told_of_what_is_critical_and_the_team_of_all(severity: str, told: str) -> None:
    said = amtool("config", "routes", "test", f"--config.file={CONFIGURATION}", f"severity={severity}", "connector=orders")
    assert said.strip() == told


def test_what_is_inhibited_and_by_what_are_alerts_that_there_are() -> None:
    alerts = {rule["alert"] for rule in rules("alert")}
    matchers = [each for rule in TOLD["inhibit_rules"] for side in ("source", "target") for each in rule[f"{side}_matchers"]]
    for matcher in matchers:
        said = re.fullmatch(r'alertname=(~?)"([^"]+)"', matcher)
        assert said
        named = [re.escape(said[2])]
        if said[1] and "(" in said[2]:
            head, words, end = re.split(r"[()]", said[2])
            named = [f"{head}{word}{end}" for word in words.split("|")]
        for name in named:
            assert any(re.fullmatch(name, alert) for alert in alerts), name


def test_secrets_are_in_files() -> None:
    secret = {name: value for name, value in values(TOLD) if re.search("password|credentials|secret|token", name)}
    assert secret
    assert all(name.endswith("_file") and value.startswith(f"{SECRETS}/") for name, value in secret.items())


@pytest.mark.slow
def test_an_alert_arrives_with_its_runbook_and_when_it_is_over_and_what_follows_from_another_does_not(tmp_path: Path) -> None:
    shown = {'rocketconnect_up{service="position"}': 0}
    arrived: list[tuple[str, str, dict[str, Any]]] = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        if request.path == "/metrics":
            body = "".join(f"{series} {value}\n" for series, value in shown.items()).encode()
        else:
            posted = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
            by = request.headers.get("Authorization", "")
            arrived.extend((request.path, by, each) for each in posted["alerts"])
            body = b""
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def told(path: str, alert: str, status: str = "firing") -> bool:
        return any((path, alert, status) == (to, each["labels"]["alertname"], each["status"]) for to, _, each in arrived)

    failed = 'rocketconnect_task_state{connector="orders",task="0",state="FAILED"}'
    (tmp_path / "webhook-token").write_text("a-token")
    with (
        handled(answer) as port,
        alertmanager(tmp_path, f"http://127.0.0.1:{port}") as alerting,
        prometheus(tmp_path / "prometheus", {"exporter": f"127.0.0.1:{port}"}, alerting.address),
    ):
        wait_until(lambda: told("/on-call", "RocketConnectPositionAway"), 180)
        shown['rocketconnect_task_state{connector="customers",task="0",state="WAITING"}'] = 1
        wait_until(lambda: alerting.inhibited() == {"RocketConnectTaskWaiting"}, 180)
        shown[failed] = 1
        wait_until(lambda: told("/on-call", "RocketConnectTaskFailed") and told("/team", "RocketConnectTaskFailed"), 180)
        shown[failed] = 0
        wait_until(lambda: told("/on-call", "RocketConnectTaskFailed", "resolved"), 180)
    assert {each["labels"]["alertname"] for _, _, each in arrived} == {"RocketConnectPositionAway", "RocketConnectTaskFailed"}
    _, by, first = next(each for each in arrived if each[2]["labels"].get("connector") == "orders" and each[0] == "/on-call")
    assert first["annotations"]["runbook"] == "docs/alerts.md#rocketconnecttaskfailed"
    assert first["annotations"]["summary"] == "orders, task 0, has failed"
    assert by == "Bearer a-token"
