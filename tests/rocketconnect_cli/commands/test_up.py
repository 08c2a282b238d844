"""`rocketconnect up`: what it chooses before it starts anything."""

import importlib
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rocketconnect_cli.commands.root import app
from rocketconnect_cli.embedded import ports
from tests import free_ports

# The command of that name hides the module in the package.
up = importlib.import_module("rocketconnect_cli.commands.up")

_RUN = "from rocketconnect_cli.main import main; main()"


class Chosen(Exception):
    """Stands where the services would be started."""


@pytest.fixture
def metrics_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run it with these options up to the moment at which it has its ports; the one of the metrics."""
    return _until_chosen(monkeypatch, tmp_path, "metrics")


@pytest.fixture
def rest_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The same; the one of REST."""
    return _until_chosen(monkeypatch, tmp_path, "rest")


def _until_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, which: str) -> Any:
    def stop(chosen: Any, **_: object) -> None:
        raise Chosen(getattr(chosen, which))

    monkeypatch.setattr(up.topology, "services", stop)

    def run(*options: str) -> int:
        words = ("up", "--data", str(tmp_path), "--namesrv", "127.0.0.1:1", "--rest-port", "0", *options)
        chosen = CliRunner().invoke(app, words).exception
        assert isinstance(chosen, Chosen)
        return int(chosen.args[0])

    return run


@pytest.fixture
def kept_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The same; all ports that it says in the directory."""
    run = _until_chosen(monkeypatch, tmp_path, "rest")

    def kept(*options: str) -> dict[str, int]:
        run(*options)
        return dict(json.loads((tmp_path / "ports.json").read_text()))

    return kept


def test_services_and_executors_have_their_ports_in_a_file_and_stay_there(kept_of: Any) -> None:
    first = kept_of("--executors", "2")
    assert first.keys() >= {*up.topology.STORES, "executor-1", "executor-2"}
    assert len(set(first.values())) == len(first)
    assert kept_of("--executors", "2") == first
    given = free_ports.choose()
    assert kept_of("--executors", "2", "--port", f"state={given}") == {**first, "state": given}
    # The port of another one is given away: that one gets a new one.
    changed = kept_of("--executors", "2", "--port", f"config={first['position']}")
    assert changed["config"] == first["position"] != changed["position"]
    with socket.create_server(("127.0.0.1", first["cluster"])):
        assert kept_of("--executors", "2")["cluster"] != first["cluster"]


def test_metrics_stay_at_their_port_from_one_start_to_the_next(metrics_of: Any) -> None:
    first = metrics_of()
    assert [metrics_of(), metrics_of()] == [first, first]
    given = free_ports.choose()
    assert [metrics_of("--metrics-port", str(given)), metrics_of()] == [given, given]


def test_rest_stays_at_its_port_from_one_start_to_the_next(rest_of: Any) -> None:
    first = rest_of()
    assert [rest_of(), rest_of()] == [first, first]
    given = free_ports.choose()
    assert [rest_of("--rest-port", str(given)), rest_of()] == [given, given]


def test_metrics_get_another_port_when_theirs_is_taken(metrics_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_GRACE_SECONDS", 0.0)
    first = metrics_of()
    with socket.socket() as other:
        other.bind(("", first))
        other.listen(1)
        second = metrics_of()
    assert second != first
    assert metrics_of("--rest-port", str(second)) != second


@pytest.mark.slow
def test_a_service_that_does_not_stay_up_is_given_up_with_the_end_of_its_log(tmp_path: Path) -> None:
    words = ("up", "--data", str(tmp_path), "--namesrv", "127.0.0.1:1", "--rest-port", "0")
    environment = {**os.environ, "ROCKETCONNECT_COMPAT_STATUS": "perhaps"}
    command = [sys.executable, "-c", _RUN, *words]
    ended = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=180)
    assert ended.returncode == 1
    assert "gateway does not stay up. Its log" in ended.stderr
    assert "compat-status" in ended.stderr.partition("ends:")[2]
    assert "Traceback" not in ended.stderr


def test_a_rocketmq_that_does_not_answer_is_told_when_the_rest_is_ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Supervisor:
        processes = ()

        def __init__(self, *_: object) -> None:
            """Starts nothing."""

        def __getattr__(self, _name: str) -> Any:
            return lambda: None

    monkeypatch.setattr(up, "Supervisor", Supervisor)
    monkeypatch.setattr(up._Instance, "_await_ready", lambda *_: True)
    with socket.create_server(("127.0.0.1", 0)) as name_server:
        there = f"127.0.0.1:{name_server.getsockname()[1]}"
        for addresses, told in (("127.0.0.1:1", True), ("nowhere", True), (f"127.0.0.1:1;{there}", False)):
            result = CliRunner().invoke(app, ["up", "--data", str(tmp_path), "--namesrv", addresses, "--rest-port", "0"])
            assert "RocketConnect is ready." in result.stdout
            rest = re.search(r"  REST         (.*)", result.stdout)
            assert rest is not None
            assert f"  Commands     export ROCKETCONNECT_URL={rest[1]}\n" in result.stdout
            ports_told = re.search(r"Services     ports of 127.0.0.1: (.*)", result.stdout)
            assert ports_told is not None
            assert [re.sub(r" \d+$", "", each) for each in ports_told[1].split(", ")] == [
                "config",
                "position",
                "state",
                "cluster",
                "executor-1",
            ]
            assert (f"No RocketMQ answers at {addresses} yet; connectors say WAITING until one does." in result.stderr) is told


def test_the_file_of_a_worker_says_what_options_do_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rest, other = free_ports.choose(), free_ports.choose()
    conf = tmp_path / "connect-standalone.conf"
    conf.write_text(f"namesrvAddr=127.0.0.1:1\nhttpPort={rest}\naclEnable=true\naccessKey=a\nsecretKey=hush\nworkerId=w\n")
    started: dict[str, Any] = {}

    def stop(chosen: Any, **more: Any) -> None:
        started.update(more, rest=chosen.rest)
        raise Chosen

    monkeypatch.setattr(up.topology, "services", stop)

    def run(*options: str) -> str:
        words = ("up", "--data", str(tmp_path / "data"), "--conf", str(conf), *options)
        answer = CliRunner().invoke(app, words)
        assert isinstance(answer.exception, Chosen), answer.output
        return " ".join(answer.output.split())

    output = run()
    assert (started["rest"], started["name_server"]) == (rest, "127.0.0.1:1")
    assert started["extra"]["ROCKETCONNECT_ROCKETMQ_SECRET_KEY"] == "hush"
    assert ("workerId is left out: workers are called worker-1" in output, "hush" in output) == (True, False)
    run("--rest-port", str(other), "--namesrv", "127.0.0.1:2")
    assert (started["rest"], started["name_server"]) == (other, "127.0.0.1:2")


@pytest.mark.parametrize(("text", "said"), [("httpPort=x\naclEnable=1\n", "httpPort is 'x'"), (None, "can't be read")])
def test_a_file_of_a_worker_that_is_wrong_starts_nothing(tmp_path: Path, text: str | None, said: str) -> None:
    conf = tmp_path / "worker.conf"
    if text is not None:
        conf.write_text(text)
    answer = CliRunner().invoke(app, ["up", "--data", str(tmp_path / "data"), "--conf", str(conf)])
    assert (answer.exit_code, said in answer.output, (tmp_path / "data").exists()) == (2, True, False), answer.output
