"""The commands `rocketconnect connector ...` and `rocketconnect plugins`: what they ask for, and what they make of an answer."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from rocketconnect.connector.v1 import connector_pb2
from typer.testing import CliRunner, Result

from rocketconnect_cli.main import app
from rocketconnect_cli.states import State

NOT_FOUND = {"detail": "there is no such connector", "reason": "CONNECTOR_NOT_FOUND", "problems": []}
CONFIG = ("-s", "connector.class=file_sink")
VERBS = {
    "update": CONFIG,
    "get": (),
    "status": (),
    "pause": (),
    "resume": (),
    "restart": (),
    "stop": (),
    "delete": (),
    "rollback": ("1",),
    "revisions": (),
    "positions": (),
    "wait": ("--timeout", "0"),
    "logs": (),
}


def run(url: str, *words: str) -> Result:
    """What the command line does; a traceback of it ends the test."""
    result = CliRunner().invoke(app, [*words, "--url", url])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_every_command_that_takes_a_name_is_tried_here() -> None:
    listing = CliRunner().invoke(app, ["connector", "--help"], env={"COLUMNS": "200"}).output
    assert all(f" {verb} " in listing for verb in VERBS)
    commands = {command.callback.__name__ for command in app.registered_groups[0].typer_instance.registered_commands}  # type: ignore[union-attr]
    assert commands - set(VERBS) == {"create", "list_connectors", "validate"}


@pytest.mark.parametrize("name", ["unk/state", "unk#y", "unk?x=y", "../connectors", "unk:pause", "unk%2e", "ü ö", "a;b"])
@pytest.mark.parametrize("verb", VERBS)
def test_whatever_a_name_holds_it_is_one_segment_of_the_one_path_that_is_asked(rest_factory: Any, verb: str, name: str) -> None:
    rest = rest_factory(404, NOT_FOUND)
    result = run(rest.url, "connector", verb, name, *VERBS[verb])
    assert (result.exit_code, result.stderr) == (3, "Error: there is no such connector\n")
    (asked,) = rest.asked
    segment = asked.partition("/v1/connectors/")[2].partition("?")[0].partition("/")[0].partition(":")[0]
    assert unquote(segment) == name


@pytest.mark.parametrize("name", ["", ".", "..", "\udcff"])
@pytest.mark.parametrize(("verb", "more"), [*VERBS.items(), ("create", CONFIG)])
def test_a_name_that_no_path_can_hold_is_refused_before_anything_is_asked(
    rest_factory: Any, verb: str, more: tuple[str, ...], name: str
) -> None:
    rest = rest_factory(200, {})
    result = run(rest.url, "connector", verb, name, *more)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert rest.asked == []


ANSWERS: dict[str, tuple[int, object]] = {
    "a list": (200, [1, 2]),
    "a text": (200, "hello"),
    "nothing": (200, b""),
    "a page": (200, b"<html>It works!</html>"),
    "bytes": (200, b"\xff\xfe\x00"),
    "deep": (200, b"[" * 100_000),
    "an empty object": (200, {}),
    "other objects": (
        200,
        {"connector": [], "state": "up", "connectors": {}, "workers": [1], "plugins": 3, "problems": {}, "logs": None},
    ),
    "objects without fields": (
        200,
        {"connector": {}, "state": {}, "connectors": [{}], "workers": [{}], "plugins": [{}], "positions": [{}]},
    ),
    "a token of another kind": (
        200,
        {"logs": [], "connectors": [], "workers": [1], "plugins": [], "positions": [], "nextPageToken": 1},
    ),
    "a redirection": (302, b""),
    "an error without JSON": (500, b"Internal Server Error"),
    "an error with a list": (404, [{"error": "none"}]),
    "an error of another kind": (404, {"error_code": 404, "message": "HTTP 404 Not Found"}),
    "problems of another kind": (422, {**NOT_FOUND, "problems": [1]}),
}


@pytest.mark.parametrize(
    "words",
    [
        ("connector", "list"),
        ("connector", "get", "a"),
        ("connector", "wait", "a"),
        ("connector", "pause", "a"),
        ("connector", "logs", "a"),
        ("connector", "create", "a", *CONFIG),
        ("connector", "validate", *CONFIG),
        ("cluster",),
        ("plugins", "reload"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_another_server_at_the_address_is_told_in_one_sentence(
    rest_factory: Any, words: tuple[str, ...], answer: tuple[int, object]
) -> None:
    rest = rest_factory(*answer)
    result = run(rest.url, *words)
    assert result.exit_code == 5
    assert f"Error: {rest.url}/v1/" in result.stderr
    assert "does not answer as RocketConnect does" in result.stderr
    assert "--url" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("url", ["http://[::1", "nonsense", "localhost:8082", "http://a\nb", "http://\udcff"])
def test_what_is_no_url_is_told_in_one_sentence(url: str) -> None:
    result = run(url, "connector", "list")
    assert result.exit_code == 5
    assert "is not a URL to ask" in result.stderr
    assert "http://127.0.0.1:8082" in result.stderr


def test_an_unknown_state_is_refused_at_once_with_the_ones_there_are(rest_factory: Any) -> None:
    rest = rest_factory(404, NOT_FOUND)
    result = run(rest.url, "connector", "wait", "a", "--state", "bogus")
    assert result.exit_code == 2
    assert "bogus" in result.stderr
    assert all(state.lower() in result.stderr.lower() for state in State)
    assert rest.asked == []


def test_the_states_to_wait_for_are_those_of_the_api() -> None:
    assert {f"STATE_{state}" for state in State} == set(connector_pb2.State.keys()) - {"STATE_UNSPECIFIED"}


@pytest.mark.parametrize("state", ["IDLE", "idle"])
def test_a_state_is_waited_for_in_any_case_of_its_letters(rest_factory: Any, state: str) -> None:
    rest = rest_factory(200, {"state": {"state": "STATE_IDLE"}})
    result = run(rest.url, "connector", "wait", "a", "--state", state)
    assert (result.exit_code, result.stdout) == (0, "a is IDLE\n")


STORED = {"name": "a", "uid": "u", "wantedState": "", "etag": "5", "config": {"connector.class": "file_sink", "topics": "t"}}


@pytest.mark.parametrize(("more", "etag"), [((), "5"), (("--etag", "4"), "4")])
def test_an_update_of_keys_keeps_the_others_and_is_refused_when_they_changed_meanwhile(
    rest_factory: Any, more: tuple[str, ...], etag: str
) -> None:
    rest = rest_factory(200, {"connector": STORED})
    assert run(rest.url, "connector", "update", "a", "-s", "max.tasks=2", "--unset", "topics", *more).exit_code == 0
    assert rest.asked == ["GET /v1/connectors/a", "PUT /v1/connectors/a"]
    assert json.loads(rest.sent[1]) == {"config": {"connector.class": "file_sink", "max.tasks": "2"}, "etag": etag}


def test_an_update_with_a_file_replaces_the_whole_configuration(rest_factory: Any, tmp_path: Any) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({**STORED, "config": {"connector.class": "file_sink"}}))
    rest = rest_factory(200, {"connector": STORED})
    assert run(rest.url, "connector", "update", "a", "-f", str(file), "-s", "max.tasks=2").exit_code == 0
    assert rest.asked == ["PUT /v1/connectors/a"]
    assert json.loads(rest.sent[0]) == {"config": {"connector.class": "file_sink", "max.tasks": "2"}, "etag": ""}


def test_an_update_of_nothing_is_refused_before_anything_is_asked(rest_factory: Any) -> None:
    rest = rest_factory(200, {"connector": STORED})
    assert run(rest.url, "connector", "update", "a").exit_code == 2
    assert rest.asked == []


PLUGIN = {"name": "file_sink", "type": "PLUGIN_TYPE_SINK", "summary": "Lines into a file."}


@pytest.mark.parametrize("words", [("plugins",), ("plugins", "list")])
@pytest.mark.parametrize("more", [(), ("-o", "json")])
def test_plugins_without_a_command_lists_them(
    rest_factory: Callable[..., Any], words: tuple[str, ...], more: tuple[str, ...]
) -> None:
    rest = rest_factory(200, {"plugins": [PLUGIN], "nextPageToken": ""})
    result = run(rest.url, *words, *more)
    assert result.exit_code == 0
    if more:
        assert json.loads(result.stdout) == {"plugins": [PLUGIN]}
    else:
        assert "Lines into a file." in result.stdout


def test_the_help_of_plugins_shows_its_commands() -> None:
    result = CliRunner().invoke(app, ["plugins", "--help"])
    assert result.exit_code == 0
    assert "reload" in result.stdout
