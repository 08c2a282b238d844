"""What the executor can be told, and what it says to what it can't be told."""

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from services.executor import settings
from services.executor.settings import ExecutorSettings, parse_labels

ADDRESSES = ("cluster_address", "position_address", "state_address", "config_address")
NEEDED: dict[str, Any] = {**dict.fromkeys(ADDRESSES, "127.0.0.1:1"), "name_server": "ns:9876"}


def test_a_worker_is_named_after_its_machine_and_port_unless_it_is_given_a_name() -> None:
    assert ExecutorSettings(**NEEDED).worker_at("127.0.0.1:7000") == f"{socket.gethostname()}-7000"
    assert ExecutorSettings(**NEEDED, worker_id="w").worker_at("127.0.0.1:7000") == "w"


def test_a_worker_that_listens_everywhere_is_reached_by_the_name_of_its_machine() -> None:
    assert ExecutorSettings(**NEEDED).reached_at("127.0.0.1:7000") == "127.0.0.1:7000"
    assert ExecutorSettings(**NEEDED).reached_at("0.0.0.0:7000") == f"{socket.gethostname()}:7000"
    assert ExecutorSettings(**NEEDED, advertise_address="outside:1").reached_at("0.0.0.0:7000") == "outside:1"


def test_what_belongs_together_for_rocketmq_is_given_together() -> None:
    with pytest.raises(ValueError, match="--rocketmq-secret-key go together"):
        ExecutorSettings(**NEEDED, rocketmq_access_key="user")
    with pytest.raises(ValueError, match="--rocketmq-tls-key go together"):
        ExecutorSettings(**NEEDED, rocketmq_tls=True, rocketmq_tls_cert=Path(__file__))
    with pytest.raises(ValueError, match="--rocketmq-tls true"):
        ExecutorSettings(**NEEDED, rocketmq_tls_ca=Path(__file__))
    with pytest.raises(ValueError, match="no readable file"):
        ExecutorSettings(**NEEDED, rocketmq_tls=True, rocketmq_tls_ca=Path("/nowhere/ca.pem"))


def test_records_are_traced_only_where_something_says_where_traces_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_TRACES_EXPORTER", raising=False)
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    with pytest.raises(ValueError, match="set OTEL_EXPORTER_OTLP_ENDPOINT"):
        ExecutorSettings(**NEEDED, trace_records=1.0)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317")
    assert ExecutorSettings(**NEEDED, trace_records=1.0).trace_records == 1.0


def test_lineage_needs_an_address_and_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"is no http://HOST:PORT"):
        ExecutorSettings(**NEEDED, lineage_url="marquez:5000")
    assert ExecutorSettings(**NEEDED, lineage_url="http://marquez:5000").lineage_namespace == "rocketconnect"
    monkeypatch.setattr(settings, "find_spec", lambda _: None)
    with pytest.raises(ValueError, match=r"pip install 'rocketconnect\[openlineage\]'"):
        ExecutorSettings(**NEEDED, lineage_url="http://marquez:5000")


def test_labels_are_read() -> None:
    assert parse_labels(" spark=3.5, zone = a,") == {"spark": "3.5", "zone": "a"}
    with pytest.raises(ValueError, match="write name=value"):
        parse_labels("spark")


def test_all_wrong_settings_are_told_at_once_without_a_traceback() -> None:
    flags = [
        "--worker-id",
        "a b",
        "--labels",
        "spark",
        "--tasks-per-host",
        "0",
        *(f"--{name.replace('_', '-')}={value}" for name, value in NEEDED.items()),
    ]
    done = subprocess.run([sys.executable, "-m", "services.executor", *flags], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert all(flag in done.stderr for flag in ("--worker-id", "--labels", "--tasks-per-host"))
    assert "Traceback" not in done.stderr


def test_missing_addresses_are_named() -> None:
    done = subprocess.run([sys.executable, "-m", "services.executor"], capture_output=True, text=True, check=False, env={})
    assert done.returncode == 2
    assert all(flag in done.stderr for flag in ("--cluster-address", "--name-server"))
