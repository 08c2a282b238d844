"""What Prometheus is given: rules that it takes, alerts that fire when they should and stay quiet else, each with what to do."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.asked import PROMETHEUS, names_in, queries, rules, there

ROOT = Path(__file__).parents[2]


def cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((PROMETHEUS / "tests/alerts.yaml").read_text())["tests"]
    return found


def promtool(*words: str) -> str:
    program = shutil.which("promtool")
    assert program is not None, "promtool is missing (Debian: apt-get install prometheus)"
    ended = subprocess.run([program, *words], cwd=PROMETHEUS / "tests", capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_prometheus_takes_the_rules_and_the_configuration() -> None:
    files = [f"../rules/{path.name}" for path in sorted((PROMETHEUS / "rules").glob("*.yaml"))]
    assert "SUCCESS" in promtool("check", "rules", *files)
    assert "SUCCESS" in promtool("check", "config", "../prometheus.yml")


def test_each_alert_fires_when_it_should_and_only_then() -> None:
    assert "SUCCESS" in promtool("test", "rules", "alerts.yaml")


def test_of_each_alert_it_is_shown_that_it_fires_and_that_it_does_not() -> None:
    asked = [each for case in cases() for each in case["promql_expr_test"]]
    shown = {(re.findall(r'alertname="(\w+)"', each["expr"])[0], "exp_samples" in each) for each in asked}
    assert shown == {(rule["alert"], fires) for rule in rules("alert") for fires in (True, False)}


def test_each_alert_says_how_grave_it_is_and_where_stands_what_to_do() -> None:
    headings = re.findall(r"^### (RocketConnect\w+)$", (ROOT / "docs/alerts.md").read_text(), re.MULTILINE)
    assert headings == [rule["alert"] for rule in rules("alert")]
    for rule in rules("alert"):
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"]["runbook"] == f"docs/alerts.md#{rule['alert'].lower()}"
        assert rule["annotations"].keys() == {"summary", "description", "runbook"}


def test_rules_and_panels_ask_for_metrics_that_there_are() -> None:
    asked = {name for kind in ("alert", "record") for rule in rules(kind) for name in names_in(rule["expr"])}
    asked |= {name for each in queries() for name in names_in(each.expr)}
    assert asked - there() == set()


def test_each_query_of_a_panel_is_one(tmp_path: Path) -> None:
    exprs = [each.expr.replace("$connector", "c").replace("$worker", "w") for each in queries()]
    path = tmp_path / "panels.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": [{"record": "x", "expr": expr} for expr in exprs]}]}))
    # The same name for all of them is what it warns of.
    assert f"{len(exprs)} rules found" in promtool("check", "rules", "--lint=none", str(path))


@pytest.mark.parametrize("name", ["prometheus.yml", "kubernetes.yml", "replicas.yml"])
def test_each_configuration_scrapes_the_exporter_and_names_the_service_of_all_others(name: str) -> None:
    jobs = {job["job_name"]: job for job in yaml.safe_load((PROMETHEUS / name).read_text())["scrape_configs"]}
    assert list(jobs) == ["rocketconnect", "rocketconnect-services"]
    others = jobs["rocketconnect-services"]
    if name == "prometheus.yml":
        named = [each["labels"]["service"] for each in others["static_configs"]]
        assert named == ["config", "position", "state", "cluster", "executor", "gateway"]
    else:
        assert "service" in [each.get("target_label") for each in others["relabel_configs"]]
