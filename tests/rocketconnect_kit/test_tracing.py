"""Traces, as a collector gets them."""

import json
import os
import subprocess
import sys

import pytest

from rocketconnect_kit import tracing
from rocketconnect_kit.errors import FailedPrecondition
from tests.rocketconnect_kit.collector import collecting, said_of

SENDS = """
import json, os, sys
from rocketconnect_kit import logs, tracing
logs.configure("executor", "INFO", "json")
end = tracing.start("executor")
with tracing.span("a call", {"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01"}, kind="x"):
    logs.get_logger("a").info("within")
logs.get_logger("a").info("without")
tracing.pass_on(tracing.Recorded("1" * 32, "2" * 16, "3" * 16, "send t", "PRODUCER", 5, 9, {"n": 1, "s": "x"}, "no"))
tracing.pass_on(tracing.Recorded("1" * 32, "3" * 16, "", "read c", "INTERNAL", 4, 9))
end()
"""
_OFF = """
import sys
from rocketconnect_kit import tracing
assert tracing.start("executor") is None
with tracing.span("a call", {}):
    pass
tracing.pass_on(tracing.Recorded("1" * 32, "2" * 16, "", "send t", "PRODUCER", 5, 9))
assert tracing.ids() == {} and tracing.outgoing_metadata() == ()
sys.exit(any(name.startswith("opentelemetry") for name in sys.modules))
"""


def run(program: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True, timeout=60, check=False)


def test_calls_and_what_other_processes_told_reach_a_collector_and_logs_name_the_call() -> None:
    with collecting() as collector:
        told = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{collector.address}", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=s3cr3t"}
        ended = run(SENDS, **told)
        assert ended.returncode == 0, ended.stderr
        spans = collector.wait_for("a call", "send t", "read c")
        assert collector.services == {"rocketconnect-executor"}
        assert collector.headers[0]["authorization"] == "s3cr3t"
    call, send, read = spans["a call"], spans["send t"], spans["read c"]
    assert (call.trace_id.hex(), call.parent_span_id.hex()) == ("a" * 32, "b" * 16)
    assert (send.trace_id, send.parent_span_id) == (read.trace_id, read.span_id)
    assert (send.start_time_unix_nano, send.end_time_unix_nano, send.status.message) == (5, 9, "no")
    assert (send.kind, said_of(send), read.parent_span_id) == (4, {"n": 1, "s": "x"}, b"")
    within, without = [json.loads(line) for line in ended.stderr.splitlines() if "with" in line]
    assert (within["trace_id"], within["span_id"]) == (call.trace_id.hex(), call.span_id.hex())
    assert "trace_id" not in without
    assert "s3cr3t" not in ended.stderr


@pytest.mark.parametrize(
    "environment", [{}, {"OTEL_TRACES_EXPORTER": "none"}, {"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"}]
)
def test_without_a_wish_for_traces_nothing_of_opentelemetry_is_loaded(environment: dict[str, str]) -> None:
    ended = run(_OFF, **environment)
    assert ended.returncode == 0, ended.stderr


def test_a_way_to_a_collector_that_there_is_not_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
    with pytest.raises(FailedPrecondition, match="give one of grpc, http/protobuf"):
        tracing.start("config")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    with pytest.raises(FailedPrecondition, match="pip install opentelemetry-exporter-zipkin"):
        tracing.start("config")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_asked: [])
    with pytest.raises(FailedPrecondition, match=r"pip install 'rocketconnect\[otel\]'"):
        tracing.start("config")
