"""The wheel, as the images build it."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.deploy.dockerfile import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def packages(commands: Path) -> set[str]:
    answer = subprocess.run([str(commands / "pip"), "list", "--format", "json"], check=True, capture_output=True, timeout=600)
    return {package["name"].lower() for package in json.loads(answer.stdout)}


@pytest.mark.slow
def test_the_wheel_has_what_a_prometheus_of_up_is_given(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        inside = {name.removeprefix("rocketconnect_cli/instance/prometheus/"): packed.read(name) for name in packed.namelist()}
    given = ROOT / "deploy/prometheus"
    for path in (given / "prometheus.yml", *(given / "rules").iterdir()):
        assert inside[str(path.relative_to(given))] == path.read_bytes()


@pytest.mark.slow
def test_the_wheel_has_the_console_as_it_is_built_here(wheel: Path) -> None:
    built = ROOT / "services/gateway/console/built"
    with zipfile.ZipFile(wheel) as packed:
        inside = {name: packed.read(name) for name in packed.namelist() if name.startswith("services/gateway/console/built/")}
    assert inside == {str(path.relative_to(ROOT)): path.read_bytes() for path in built.rglob("*") if path.is_file()}
    assert "services/gateway/console/built/index.html" in inside


@pytest.mark.slow
def test_the_bare_wheel_is_the_client_and_says_what_up_needs(wheel: Path, tmp_path: Path) -> None:
    commands = tmp_path / "venv/bin"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=600)
    subprocess.run([str(commands / "pip"), "install", "-q", str(wheel)], check=True, timeout=600)
    assert not packages(commands) & {"grpcio", "pyspark", "sqlalchemy"}
    command = [str(commands / "rocketconnect"), "up", "--data", str(tmp_path / "data")]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert answer.returncode == 1
    assert "pip install '.[up]'" in answer.stderr
    listing = [str(commands / "rocketconnect"), "connector", "list", "--url", "http://127.0.0.1:1"]
    answer = subprocess.run(listing, capture_output=True, text=True, timeout=600, check=False)
    assert answer.returncode == 5
    assert "rocketconnect up" in answer.stderr
