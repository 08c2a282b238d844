"""`rocketconnect up`: what it chooses before it starts anything."""

import importlib
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rocketconnect_cli.commands import app
from rocketconnect_cli.embedded import ports

# The command of that name hides the module in the package.
up = importlib.import_module("rocketconnect_cli.up")

_RUN = "from rocketconnect_cli.main import main; main()"


class Chosen(Exception):
    """Stands where the services would be started."""


@pytest.fixture
def metrics_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run it with these options up to the moment at which it has its ports; the one of the metrics."""

    def stop(chosen: Any, **_: object) -> None:
        raise Chosen(chosen.metrics)

    monkeypatch.setattr(up.topology, "services", stop)

    def run(*options: str) -> int:
        words = ("up", "--data", str(tmp_path), "--namesrv", "127.0.0.1:1", "--rest-port", "0", *options)
        chosen = CliRunner().invoke(app, words).exception
        assert isinstance(chosen, Chosen)
        return int(chosen.args[0])

    return run


def test_metrics_stay_at_their_port_from_one_start_to_the_next(metrics_of: Any) -> None:
    first = metrics_of()
    assert [metrics_of(), metrics_of()] == [first, first]
    given = ports.choose()
    assert [metrics_of("--metrics-port", str(given)), metrics_of()] == [given, given]


def test_metrics_get_another_port_when_theirs_is_taken(metrics_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_GRACE_SECONDS", 0.0)
    first = metrics_of()
    with socket.socket() as other:
        other.bind(("", first))
        other.listen(1)
        second = metrics_of()
    assert second != first
    assert metrics_of("--rest-port", str(second)) != second


def test_a_service_that_does_not_stay_up_is_given_up_with_the_end_of_its_log(tmp_path: Path) -> None:
    words = ("up", "--data", str(tmp_path), "--namesrv", "127.0.0.1:1", "--rest-port", "0")
    environment = {**os.environ, "ROCKETCONNECT_COMPAT_STATUS": "perhaps"}
    command = [sys.executable, "-c", _RUN, *words]
    ended = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=180)
    assert ended.returncode == 1
    assert "gateway does not stay up. Its log" in ended.stderr
    assert "compat-status" in ended.stderr.partition("ends:")[2]
    assert "Traceback" not in ended.stderr
