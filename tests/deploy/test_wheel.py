"""The wheel, installed as a container installs it: a service alone, with nothing but its own extra."""

import json
import os
import select
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.deploy.dockerfile import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def packages(commands: Path) -> set[str]:
    answer = subprocess.run([str(commands / "pip"), "list", "--format", "json"], check=True, capture_output=True, timeout=60)
    return {package["name"].lower() for package in json.loads(answer.stdout)}


@pytest.mark.slow
def test_a_service_starts_with_only_its_own_extra(install: Callable[..., str], tmp_path: Path) -> None:
    install("config", tmp_path / "venv")
    commands = tmp_path / "venv/bin"
    assert not packages(commands) & {"pyspark", "pyarrow", "starlette", "uvicorn"}
    read, write = os.pipe()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ROCKETCONNECT_")}
    environment |= {"ROCKETCONNECT_DATA_DIR": str(tmp_path), "ROCKETCONNECT_CLUSTER_ADDRESS": "127.0.0.1:1"}
    command = [str(commands / "rocketconnect"), "serve", "config", "--announce-fd", str(write)]
    with subprocess.Popen(command, pass_fds=[write], env=environment) as process:
        os.close(write)
        assert select.select([read], [], [], 60)[0], "it did not say that it is ready"
        with os.fdopen(read) as announced:
            address = json.loads(announced.readline())["address"]
        with grpc.insecure_channel(address) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=60)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        process.terminate()
        assert process.wait(60) == 0


@pytest.mark.slow
def test_the_wheel_has_what_a_prometheus_of_up_is_given(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        inside = {name.removeprefix("rocketconnect_cli/instance/prometheus/"): packed.read(name) for name in packed.namelist()}
    given = ROOT / "deploy/prometheus"
    for path in (given / "prometheus.yml", *(given / "rules").iterdir()):
        assert inside[str(path.relative_to(given))] == path.read_bytes()


@pytest.mark.slow
def test_the_bare_wheel_is_the_client_and_says_what_up_needs(wheel: Path, constraints: Path, tmp_path: Path) -> None:
    commands = tmp_path / "venv/bin"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=120)
    subprocess.run([str(commands / "pip"), "install", "-q", "-c", str(constraints), str(wheel)], check=True, timeout=600)
    assert not packages(commands) & {"grpcio", "pyspark", "sqlalchemy"}
    command = [str(commands / "rocketconnect"), "up", "--data", str(tmp_path / "data")]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 1
    assert "pip install '.[up]'" in answer.stderr
    listing = [str(commands / "rocketconnect"), "connector", "list", "--url", "http://127.0.0.1:1"]
    answer = subprocess.run(listing, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 5
    assert "rocketconnect up" in answer.stderr
