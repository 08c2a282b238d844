"""A real collector of OpenTelemetry takes what is sent (`otelcol`, which Debian does not have: https://opentelemetry.io)."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from rocketconnect_kit.tethered import tethered
from tests import free_ports
from tests.processes import wait_until
from tests.rocketconnect_kit.test_tracing import SENDS, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("otelcol") is None, reason="no collector of OpenTelemetry (otelcol) is on the PATH"),
]


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
def test_a_real_collector_takes_calls_and_what_other_processes_told(tmp_path: Path, protocol: str) -> None:
    port, log = free_ports.choose(), tmp_path / "log"
    protocols = {protocol.partition("/")[0]: {"endpoint": f"127.0.0.1:{port}"}}
    config = {
        "receivers": {"otlp": {"protocols": protocols}},
        "exporters": {"debug": {"verbosity": "detailed"}},
        "service": {
            "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["debug"]}},
            "telemetry": {"metrics": {"level": "none"}},
        },
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    with log.open("wb") as out:
        collector = subprocess.Popen(tethered(["otelcol", "--config", str(tmp_path / "config.yaml")]), stdout=out, stderr=out)
    try:
        wait_until(lambda: "Everything is ready" in log.read_text() or collector.poll() is not None, 180)
        assert collector.poll() is None, log.read_text()
        told = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
        ended = run(SENDS, **told)
        assert ended.returncode == 0, ended.stderr
        wait_until(lambda: all(f": {name}\n" in log.read_text() for name in ("a call", "send t", "read c")), 180)
        text = log.read_text()
    finally:
        collector.kill()
        collector.wait()
    assert "service.name: Str(rocketconnect-executor)" in text
    assert "Status code    : Error" in text
    assert "Parent ID      : bbbbbbbbbbbbbbbb" in text
