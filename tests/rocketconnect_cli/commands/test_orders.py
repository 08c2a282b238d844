"""Several connectors at once: which are listed, and which get an order."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from rocketconnect_cli.api import Api, ApiError, Exit
from rocketconnect_cli.commands import connector
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


@pytest.mark.parametrize("verb", ["pause", "resume", "restart", "stop"])
def test_an_order_goes_to_each_of_several_names_once(rest: Rest, verb: str) -> None:
    result = run(rest, verb, "users", "orders-in", "users")
    assert (result.exit_code, ordered(rest)) == (0, [f"users:{verb}", f"orders-in:{verb}"])
    assert result.stdout.splitlines() == ["one of them is wanted PAUSED"] * 2


def test_several_connectors_are_deleted_by_their_names(rest: Rest) -> None:
    result = run(rest, "delete", "users", "orders-in", "-m", "gone")
    assert result.exit_code == 0
    asked = [line.partition("?")[0] for line in rest.asked]
    assert asked == [
        *("GET /v1/connectors/users/deadLetters:count", "DELETE /v1/connectors/users"),
        *("GET /v1/connectors/orders-in/deadLetters:count", "DELETE /v1/connectors/orders-in"),
    ]
    assert [line.partition(";")[0] for line in result.stdout.splitlines()] == ["users deleted", "orders-in deleted"]


def test_several_connectors_are_waited_for_by_their_names(rest: Rest) -> None:
    result = run(rest, "wait", "users", "orders-in")
    assert (result.exit_code, result.stdout) == (0, "users is RUNNING\norders-in is RUNNING\n")
    assert [state["state"] for state in json.loads(run(rest, "wait", "a", "b", "-o", "json").stdout)["states"]] == [
        "STATE_RUNNING"
    ] * 2


@pytest.mark.parametrize("verb", ["pause", "delete", "wait"])
def test_of_several_names_each_is_answered_on_a_line_of_its_own_whatever_becomes_of_the_others(
    rest: Rest, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    refusing(monkeypatch, "orders-in", ApiError(Exit.NOT_FOUND, {"detail": "unknown", "reason": "CONNECTOR_NOT_FOUND"}))
    result = run(rest, verb, "users", "orders-in", "orders-out")
    assert result.exit_code == 3
    assert len(result.stdout.splitlines()) == 2
    gone = "there is no connector 'orders-in'; `rocketconnect connector list` shows those there are"
    assert result.stderr.splitlines() == [gone, "Error: 1 of 3 failed: orders-in"]


@pytest.mark.parametrize(("verb", "option"), [("pause", "--etag"), ("delete", "--etag")])
def test_an_etag_is_that_of_one_connector(rest: Rest, verb: str, option: str) -> None:
    result = run(rest, verb, "users", "orders-in", option, "1")
    assert (result.exit_code, rest.asked) == (2, [])


def test_when_nobody_answers_the_others_are_not_asked_and_named(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, "orders-in", ApiError(Exit.UNAVAILABLE, {"detail": "away"}))
    result = run(rest, "pause", "users", "orders-in", "orders-out")
    assert (result.exit_code, ordered(rest)) == (5, ["users:pause"])
    assert result.stderr.splitlines()[-1] == "Error: 1 of 3 failed: orders-in; not asked: orders-out"


def test_who_is_waited_for_in_vain_keeps_nobody_else_waiting(rest: Rest) -> None:
    result = run(rest, "wait", "users", "orders-in", "--state", "paused", "--timeout", "300ms")
    assert result.exit_code == 6
    assert result.stderr.splitlines() == [
        "users is RUNNING",
        "users is RUNNING after 0.3 s, not PAUSED",
        "orders-in is RUNNING",
        "orders-in is RUNNING after 0.3 s, not PAUSED",
        "Error: 2 of 2 failed: users, orders-in",
    ]


def refusing(monkeypatch: pytest.MonkeyPatch, name: str, error: ApiError) -> None:
    """What is asked about this connector fails."""
    asked = Api.request

    def refuse(self: Api, method: str, path: str, **more: Any) -> dict[str, Any]:
        if f"/{name}" in path:
            raise error
        return asked(self, method, path, **more)

    monkeypatch.setattr(Api, "request", refuse)


def test_a_pattern_that_fits_no_name_is_an_error(rest: Rest) -> None:
    result = run(rest, "pause", "--match", "order-*")
    assert result.exit_code == 3
    assert "order-*" in result.stderr
    assert ordered(rest) == []


def test_a_refusal_stops_no_other_order_and_is_told_at_the_end(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, "orders-in", ApiError(Exit.CONFLICT, {"detail": "not now"}))
    result = run(rest, "pause", "--all", "-o", "json")
    assert result.exit_code == 4
    assert ordered(rest) == ["orders-out:pause", "users:pause"]
    assert [each["name"] for each in json.loads(result.stdout)["refused"]] == ["orders-in"]
    assert result.stderr.splitlines() == ["Error: 1 of 3 failed: orders-in"]
    assert run(rest, "pause", "--all").stderr.splitlines()[0] == "orders-in: not now"


def test_a_status_is_shown_again_until_it_is_interrupted(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            raise KeyboardInterrupt

    # Of this command alone: threads of other tests sleep, too.
    monkeypatch.setattr(connector, "time", SimpleNamespace(sleep=sleep))
    result = run(rest, "status", "users", "--watch", "--every", "500ms", "-o", "json")
    assert result.exit_code == 0
    assert waited == [0.5, 0.5]
    assert [json.loads(line)["state"] for line in result.stdout.splitlines()] == ["STATE_RUNNING"] * 2


def test_a_name_that_is_not_there_is_answered_with_those_that_are_like_it(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch, "orders-im", ApiError(Exit.NOT_FOUND, {"detail": "unknown", "reason": "CONNECTOR_NOT_FOUND"}))
    refusing(monkeypatch, "zzz", ApiError(Exit.NOT_FOUND, {"detail": "unknown", "reason": "CONNECTOR_NOT_FOUND"}))
    shown = "`rocketconnect connector list` shows those there are"
    result = run(rest, "status", "orders-im")
    assert (result.exit_code, "did you mean orders-in" in result.stderr) == (3, True)
    assert run(rest, "pause", "orders-im").stderr.startswith("Error: there is no connector 'orders-im'; did you mean orders-in")
    assert run(rest, "status", "zzz").stderr == f"Error: there is no connector 'zzz'; {shown}\n"
