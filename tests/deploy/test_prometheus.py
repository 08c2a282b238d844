"""What Prometheus is given: rules that it takes, alerts that fire when they should and stay quiet else, each with what to do."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import REGISTRY
from rocketconnect.connector.v1 import connector_pb2 as connectors
from rocketconnect.state.v1 import state_service_pb2 as states

import rocketconnect_kit.metrics  # noqa: F401 - it names what services count
from services.exporter import families

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy/prometheus"
_OWN = re.compile(r"\brocketconnect_[a-z0-9_]+")


def rules(kind: str) -> Iterator[dict[str, Any]]:
    """The rules of the kind `alert` or `record`."""
    for path in sorted((FOLDER / "rules").glob("*.yaml")):
        for group in yaml.safe_load(path.read_text())["groups"]:
            yield from (rule for rule in group["rules"] if kind in rule)


def cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((FOLDER / "tests/alerts.yaml").read_text())["tests"]
    return found


def promtool(*words: str) -> str:
    program = shutil.which("promtool")
    assert program is not None, "promtool is missing (Debian: apt-get install prometheus)"
    ended = subprocess.run([program, *words], cwd=FOLDER / "tests", capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def exported() -> set[str]:
    """The names of all samples that the exporter and the services have."""
    metrics_of_task = states.TaskMetrics(
        batches=1,
        batch_bounds=[1.0],
        batch_buckets=[1],
        lags=[states.QueueLag(queue="t/b/0", messages=1, position=1)],
        source_positions=[states.SourcePosition(partition="p", offset=1)],
        source_remaining=1,
        source_remaining_known=True,
    )
    task = states.TaskState(task=0, state=connectors.STATE_RUNNING, worker_id="w", metrics=metrics_of_task)
    task.last_progress.GetCurrentTime()
    said = states.ConnectorState(connector="c", state=connectors.STATE_RUNNING, type=connectors.CONNECTOR_TYPE_SINK, tasks=[task])
    of_services = [metric for metric in REGISTRY.collect() if metric.name.startswith("rocketconnect_")]
    all_of_them = [*families.of_states([said]), *families.of_cluster([], [], 0), *families.up({"config": True}, [])]
    names = {sample.name for metric in (*all_of_them, *of_services) for sample in metric.samples}
    # Those without a sample until something is known of them.
    return names | {metric.name for metric in (*all_of_them, *of_services)}


def test_prometheus_takes_the_rules_and_the_configuration() -> None:
    files = [f"../rules/{path.name}" for path in sorted((FOLDER / "rules").glob("*.yaml"))]
    assert "SUCCESS" in promtool("check", "rules", *files)
    assert "SUCCESS" in promtool("check", "config", "../prometheus.yml")


def test_each_alert_fires_when_it_should_and_only_then() -> None:
    assert "SUCCESS" in promtool("test", "rules", "alerts.yaml")


def test_of_each_alert_it_is_shown_that_it_fires_and_that_it_does_not() -> None:
    asked = [each for case in cases() for each in case["promql_expr_test"]]
    shown = {(re.findall(r'alertname="(\w+)"', each["expr"])[0], "exp_samples" in each) for each in asked}
    assert shown == {(rule["alert"], fires) for rule in rules("alert") for fires in (True, False)}


def test_each_alert_says_how_grave_it_is_and_where_stands_what_to_do() -> None:
    headings = re.findall(r"^### (RocketConnect\w+)$", (ROOT / "docs/operations.md").read_text(), re.MULTILINE)
    assert headings == [rule["alert"] for rule in rules("alert")]
    for rule in rules("alert"):
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"]["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"
        assert rule["annotations"].keys() == {"summary", "description", "runbook"}


def test_rules_ask_for_metrics_that_there_are() -> None:
    recorded = {rule["record"].partition(":")[0] for rule in rules("record")}
    asked = {name for kind in ("alert", "record") for rule in rules(kind) for name in _OWN.findall(rule["expr"])}
    assert asked - recorded - exported() == set()


@pytest.mark.parametrize("name", ["prometheus.yml", "kubernetes.yml"])
def test_each_configuration_scrapes_the_exporter_and_names_the_service_of_all_others(name: str) -> None:
    jobs = {job["job_name"]: job for job in yaml.safe_load((FOLDER / name).read_text())["scrape_configs"]}
    assert list(jobs) == ["rocketconnect", "rocketconnect-services"]
    others = jobs["rocketconnect-services"]
    if name == "prometheus.yml":
        assert [each["labels"]["service"] for each in others["static_configs"]] == [
            "config", "position", "state", "cluster", "executor", "gateway"
        ]  # fmt: skip
    else:
        assert "service" in [each.get("target_label") for each in others["relabel_configs"]]
