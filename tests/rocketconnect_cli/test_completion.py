"""What shells complete, asked of the command as they ask it."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from rocketconnect_cli.api import TIMEOUT_SECONDS
from rocketconnect_cli.commands.root import app
from rocketconnect_cli.names import completion
from tests.rocketconnect_cli.conftest import RestFactory

_THERE = {
    "connectors": ["orders-in", "orders-out", "users"],
    "topics": ["lines"],
    "plugins": ["file_sink", "file_source", "direct"],
}
COMMAND = Path(sys.executable).with_name("rocketconnect")


def ask(**environment: str) -> str:
    answer = subprocess.run([COMMAND], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    return answer.stdout


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("rocketconnect top", ["topic"]),
        ("rocketconnect connector re", ["restart", "resume", "revisions"]),
        ("rocketconnect connector list --st", ["--state"]),
        ("rocketconnect topic peek orders -o j", ["json"]),
    ],
)
def test_bash_completes_commands_options_and_values(line: str, completed: list[str]) -> None:
    place = str(len(line.split()) - 1)
    said = ask(_ROCKETCONNECT_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=place)
    assert sorted(said.split()) == completed


def completed(line: str, url: str) -> list[str]:
    place = str(len(line.split(" ")) - 1)
    said = ask(_ROCKETCONNECT_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=place, ROCKETCONNECT_URL=url)
    return said.split()


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("rocketconnect connector status or", ["orders-in", "orders-out"]),
        ("rocketconnect connector pause orders-in or", ["orders-out"]),
        ("rocketconnect position get ", ["orders-in", "orders-out", "users"]),
        ("rocketconnect dlq list us", ["users"]),
        ("rocketconnect verify us", ["users"]),
        ("rocketconnect topic peek ", ["lines"]),
        ("rocketconnect plugins show file", ["file_sink", "file_source"]),
        ("rocketconnect connector create or", []),
        ("rocketconnect topic create li", []),
    ],
)
def test_names_are_completed_that_the_gateway_tells(rest_factory: RestFactory, line: str, names: list[str]) -> None:
    rest = rest_factory(404, {})
    rest.status = 200
    for kind, there in _THERE.items():
        rest.bodies[f"/v1/{kind}"] = json.dumps({kind: [{"name": name} for name in there]}).encode()
    assert completed(line, rest.url) == names


def test_nothing_is_said_where_nobody_answers_or_something_else(rest_factory: RestFactory) -> None:
    assert completed("rocketconnect connector status ", "http://127.0.0.1:1") == []
    assert completed("rocketconnect connector status ", rest_factory(200, b"<html>").url) == []


def test_who_answers_late_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        asked = connector_names(f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert asked == []


def connector_names(url: str) -> list[str]:
    """What is completed, in this process; it hangs for a minute where it waits for an answer."""
    context = typer.Context(typer.main.get_command(app))
    context.params["url"] = url
    began = time.monotonic()
    found = completion.connectors(context, "")
    assert time.monotonic() - began < TIMEOUT_SECONDS / 2
    return found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_that_asks_the_command(shell: str) -> None:
    script = ask(_ROCKETCONNECT_COMPLETE=f"source_{shell}")
    assert f"_ROCKETCONNECT_COMPLETE=complete_{shell}" in script
