"""Real services and an executor tell a collector, and Jaeger, of calls and of the way of a record."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.processes import wait_until
from tests.rocketconnect_kit.collector import Collector, collecting
from tests.services.executor.system import System, lines

pytestmark = [pytest.mark.rocketmq, pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """What is started from now on tells it."""
    with collecting() as made:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{made.address}")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
        yield made


@pytest.fixture
def jaeger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx.Client]:
    """Its HTTP API; what is started from now on tells it."""
    program = shutil.which("jaeger")
    if program is None:
        pytest.skip("no Jaeger (jaeger) is on the PATH: docs/traces.md says how to build it")
    otlp, asked, other = (f"127.0.0.1:{free_ports.choose()}" for _ in range(3))
    config = {
        "service": {
            "extensions": ["jaeger_storage", "jaeger_query"],
            "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["jaeger_storage_exporter"]}},
            "telemetry": {"metrics": {"level": "none"}},
        },
        "extensions": {
            "jaeger_query": {"storage": {"traces": "memory"}, "http": {"endpoint": asked}, "grpc": {"endpoint": other}},
            "jaeger_storage": {"backends": {"memory": {"memory": {"max_traces": 10_000}}}},
        },
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": otlp}}}},
        "exporters": {"jaeger_storage_exporter": {"trace_storage": "memory"}},
    }
    file, log = tmp_path / "jaeger.yaml", tmp_path / "jaeger.log"
    file.write_text(yaml.safe_dump(config))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{otlp}")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
    with (
        log.open("wb") as out,
        subprocess.Popen(tethered([program, "--config", str(file)]), stdout=out, stderr=out) as process,
        httpx.Client(base_url=f"http://{asked}", timeout=30) as client,
    ):
        try:
            wait_until(lambda: "Everything is ready" in log.read_text() or process.poll() is not None, 180)
            assert process.poll() is None, log.read_text()
            yield client
        finally:
            process.kill()


def test_a_record_is_seen_from_its_source_to_its_sink_beside_calls_of_services(
    collector: Collector, system: System, tmp_path: Path
) -> None:
    system.start("worker-1", trace_records="1")
    topic, out = f"traced-{tmp_path.name}", tmp_path / "out.txt"
    system.create("numbers", connector_class="monitorable_source", topic=topic, records="500", max_tasks="1")
    system.create("lines", connector_class="file_lines", topics=topic, filename=str(out), engine="native")
    system.until(lambda: len(lines(out)) == 500)
    found = collector.wait_for(
        "read numbers", f"send {topic}", "deliver lines", "rocketconnect.config.v1.ConfigService/CreateConnector"
    )
    assert found["deliver lines"].trace_id == found["read numbers"].trace_id
    assert found["deliver lines"].parent_span_id == found[f"send {topic}"].span_id
    assert {f"rocketconnect-{name}" for name in ("config", "position", "state", "cluster", "executor")} <= collector.services


def test_jaeger_shows_the_way_of_a_record_as_one_trace_and_calls_below_who_called(
    jaeger: httpx.Client, system: System, tmp_path: Path
) -> None:
    system.start("worker-1", trace_records="1")
    topic, out = f"traced-{tmp_path.name}", tmp_path / "out.txt"
    system.create("numbers", connector_class="monitorable_source", topic=topic, records="500", max_tasks="1")
    system.create("lines", connector_class="file_lines", topics=topic, filename=str(out), engine="native")
    system.until(lambda: len(lines(out)) == 500)
    wanted = {"read numbers", "poll", f"send {topic}", "deliver lines", "write"}
    asked = {"service": "rocketconnect-executor", "operation": "deliver lines"}

    def whole() -> list[dict[str, Any]]:
        return [trace for trace in _traces(jaeger, asked) if wanted <= {span["operationName"] for span in trace["spans"]}]

    wait_until(lambda: bool(whole()), 180)
    trace = whole()[0]
    spans = {span["operationName"]: span for span in trace["spans"]}
    assert _above(spans["read numbers"]) == ""
    assert _above(spans[f"send {topic}"]) == _above(spans["poll"]) == spans["read numbers"]["spanID"]
    assert _above(spans["deliver lines"]) == spans[f"send {topic}"]["spanID"]
    assert _above(spans["write"]) == spans["deliver lines"]["spanID"]
    tags = {tag["key"]: tag["value"] for tag in spans["deliver lines"]["tags"]}
    assert (tags["rocketconnect.connector"], tags["messaging.destination.name"]) == ("lines", topic)
    services = jaeger.get("/api/services").json()["data"]
    assert {f"rocketconnect-{name}" for name in ("config", "position", "state", "cluster", "executor")} <= set(services)
    # A call and what was called for it are one trace of two services.
    called = _traces(
        jaeger, {"service": "rocketconnect-config", "operation": "rocketconnect.config.v1.ConfigService/CreateConnector"}
    )
    assert any(len({process["serviceName"] for process in trace["processes"].values()}) > 1 for trace in called)


def _traces(jaeger: httpx.Client, asked: dict[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = jaeger.get("/api/traces", params={**asked, "limit": "100"}).raise_for_status().json()["data"]
    return found


def _above(span: dict[str, Any]) -> str:
    return next((str(each["spanID"]) for each in span["references"] if each["refType"] == "CHILD_OF"), "")
