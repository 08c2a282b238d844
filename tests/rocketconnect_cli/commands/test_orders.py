"""Several connectors at once: which are listed, and which get an order."""

import json
import time
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from rocketconnect_cli.api import Api, ApiError, Exit
from rocketconnect_cli.commands.root import app
from tests.rocketconnect_cli.conftest import Rest, RestFactory

_KINDS = {"orders-in": "SOURCE", "orders-out": "SINK", "users": "DIRECT"}
_STATES = {"orders-in": "FAILED", "orders-out": "RUNNING", "users": "FAILED"}
_ANSWER: dict[str, Any] = {
    "connectors": [{"name": name, "type": f"CONNECTOR_TYPE_{kind}"} for name, kind in _KINDS.items()],
    "states": [{"connector": name, "state": f"STATE_{state}"} for name, state in _STATES.items()],
    "nextPageToken": "",
    "connector": {"name": "one of them", "uid": "u", "wantedState": "WANTED_STATE_PAUSED"},
    "state": {"connector": "users", "state": "STATE_RUNNING", "tasks": []},
}


def run(rest: Rest, *words: str) -> Result:
    return CliRunner().invoke(app, ["connector", *words, "--url", rest.url])


def ordered(rest: Rest) -> list[str]:
    """Who got which order."""
    return [asked.removeprefix("POST /v1/connectors/") for asked in rest.asked if asked.startswith("POST")]


@pytest.fixture
def rest(rest_factory: RestFactory) -> Rest:
    return rest_factory(200, _ANSWER)


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ([], ["orders-in", "orders-out", "users"]),
        (["--state", "failed"], ["orders-in", "users"]),
        (["--match", "orders-*"], ["orders-in", "orders-out"]),
        (["--match", "orders-*", "--state", "FAILED"], ["orders-in"]),
        (["--match", "users", "--match", "*-out"], ["orders-out", "users"]),
        (["--type", "sink", "--type", "direct"], ["orders-out", "users"]),
        (["--state", "paused"], []),
    ],
)
def test_a_list_holds_what_all_its_options_choose(rest: Rest, choice: list[str], names: list[str]) -> None:
    found = json.loads(run(rest, "list", *choice, "-o", "json").stdout)["connectors"]
    assert [row["name"] for row in found] == names
    assert [row["state"] for row in found] == [_STATES[name] for name in names]


@pytest.mark.parametrize("verb", ["pause", "resume", "restart", "stop"])
def test_an_order_goes_to_all_that_are_chosen(rest: Rest, verb: str) -> None:
    assert run(rest, verb, "--all", "-m", "night").exit_code == 0
    assert ordered(rest) == [f"{name}:{verb}" for name in _KINDS]
    assert json.loads(rest.sent[-1])["reason"] == "night"
    rest.asked.clear()
    assert run(rest, verb, "--match", "orders-*", "--state", "failed").exit_code == 0
    assert ordered(rest) == [f"orders-in:{verb}"]
    result = run(rest, verb, "--state", "paused")
    assert (result.exit_code, result.stdout) == (0, "no connector is as you choose; nothing was changed\n")


@pytest.mark.parametrize("words", [(), ("users", "--all"), ("--all", "--state", "failed"), ("--all", "--etag", "1")])
def test_who_is_meant_is_said_in_one_way(rest: Rest, words: tuple[str, ...]) -> None:
    result = run(rest, "restart", *words)
    assert result.exit_code == 2
    assert ordered(rest) == []


def test_a_pattern_that_fits_no_name_is_an_error(rest: Rest) -> None:
    result = run(rest, "pause", "--match", "order-*")
    assert result.exit_code == 3
    assert "order-*" in result.stderr
    assert ordered(rest) == []


def test_a_refusal_stops_no_other_order_and_is_told_at_the_end(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Api.request

    def refuse(self: Api, method: str, path: str, **more: Any) -> dict[str, Any]:
        if path.endswith("orders-in:pause"):
            raise ApiError(Exit.CONFLICT, {"detail": "not now"})
        return asked(self, method, path, **more)

    monkeypatch.setattr(Api, "request", refuse)
    result = run(rest, "pause", "--all", "-o", "json")
    assert result.exit_code == 4
    assert ordered(rest) == ["orders-out:pause", "users:pause"]
    assert [each["name"] for each in json.loads(result.stdout)["refused"]] == ["orders-in"]
    assert "1 of 3 orders were refused: orders-in: not now" in result.stderr


def test_a_status_is_shown_again_until_it_is_interrupted(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", sleep)
    result = run(rest, "status", "users", "--watch", "--every", "500ms", "-o", "json")
    assert result.exit_code == 0
    assert waited == [0.5, 0.5]
    assert [json.loads(line)["state"] for line in result.stdout.splitlines()] == ["STATE_RUNNING"] * 2
