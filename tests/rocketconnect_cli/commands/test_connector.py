"""The commands `rocketconnect connector ...`: what they ask for, and what they make of an answer."""

import json
import socket
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from rich.console import Console
from rocketconnect.connector.v1 import connector_pb2
from typer.testing import CliRunner, Result

from rocketconnect_cli import output
from rocketconnect_cli.api import Api, ApiError, Exit
from rocketconnect_cli.commands.dead_letters import unreplayed
from rocketconnect_cli.commands.root import app
from rocketconnect_cli.names import completion
from rocketconnect_cli.shown import age as age_of
from rocketconnect_cli.shown import local_time
from rocketconnect_cli.signed import signed
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
    "signal": ("snapshot", "tables=a,b"),
    "delete": (),
    "rollback": ("1",),
    "revisions": (),
    "history": (),
    "diff": (),
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
    words = f"Error: there is no connector {name!r}; `rocketconnect connector list` shows those there are\n"
    assert (result.exit_code, result.stderr) == (3, words)
    paths = [asked.partition("/v1/connectors/")[2].partition("?")[0] for asked in rest.asked if "/v1/connectors/" in asked]
    assert {unquote(path.partition("/")[0].partition(":")[0]) for path in paths} == {name}


def test_a_connector_that_is_not_there_is_answered_with_the_nearest_names(
    rest_factory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A second is not long for a machine that does other things.
    monkeypatch.setattr(completion, "_SECONDS", 60.0)
    rest = rest_factory(404, NOT_FOUND)
    there = {"connectors": [{"name": name} for name in ("books-in", "books-out", "films")], "nextPageToken": ""}
    rest.bodies["/v1/connectors"], rest.statuses["/v1/connectors"] = json.dumps(there).encode(), 200
    for verb, more in VERBS.items():
        result = run(rest.url, "connector", verb, "boks-in", *more)
        words = "Error: there is no connector 'boks-in'; did you mean books-in?\n"
        assert (result.exit_code, result.stderr) == (3, words), verb


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
        ("worker", "list"),
        ("worker", "drain", "a"),
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


def test_a_wait_says_what_is_waited_for_and_what_the_sink_holds(rest_factory: Any) -> None:
    rest = rest_factory(200, {"state": {"state": "STATE_STARTING", "trace": "task 0: starting Spark: its first jobs", "tasks": []}})
    result = run(rest.url, "connector", "wait", "a", "--timeout", "1")
    assert result.exit_code == 6
    assert result.stderr.count("a is STARTING: task 0: starting Spark: its first jobs\n") == 1
    task = {"metrics": {"openBatch": {"records": "7", "since": ago(seconds=3), "due": ago(seconds=-60)}}}
    rest = rest_factory(200, {"state": {"state": "STATE_RUNNING", "tasks": [task]}})
    result = run(rest.url, "connector", "wait", "a")
    assert result.stderr == ""
    first, second = result.stdout.splitlines()
    assert first == "a is RUNNING"
    assert second.startswith("task 0: 7 records wait in an open batch for 3s; it is written in ")


def test_what_is_to_be_expected_of_a_connector_is_told_beside_it(rest_factory: Any) -> None:
    rest = rest_factory(200, {"connector": STORED, "problems": [], "notes": ["it writes 60 s after the first record"]})
    for words in (("create", "a"), ("validate",)):
        result = run(rest.url, "connector", *words, *CONFIG)
        assert (result.exit_code, result.stderr) == (0, "Note: it writes 60 s after the first record\n")


STORED = {
    "name": "a",
    "uid": "u",
    "revision": "1",
    "wantedState": "WANTED_STATE_RUNNING",
    "etag": "5",
    "config": {"connector.class": "file_sink", "topics": "t"},
}
SIGNED = {"author": "alice", "reason": "why"}


@pytest.fixture(autouse=True)
def author(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETCONNECT_AUTHOR", "alice")


@pytest.mark.parametrize("verb", ["pause", "resume", "restart", "stop", "rollback", "delete"])
def test_every_change_says_who_and_why_and_carries_the_etag(rest_factory: Any, verb: str) -> None:
    rest = rest_factory(200, {"connector": STORED})
    assert run(rest.url, "connector", verb, "a", *VERBS[verb], "-m", "why", "--etag", "5").exit_code == 0
    said = {**SIGNED, "etag": "5"}
    if verb == "delete":
        assert dict(httpx.URL(rest.asked[-1].split()[1]).params) == said
    else:
        assert said.items() <= json.loads(rest.sent[0]).items()


def test_without_a_name_in_the_environment_it_is_user_at_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROCKETCONNECT_AUTHOR")
    monkeypatch.setenv("LOGNAME", "zoë")
    assert signed("why") == {"author": f"zoë@{socket.gethostname()}", "reason": "why"}


@pytest.mark.parametrize(("more", "etag"), [((), "5"), (("--etag", "4"), "4")])
def test_an_update_of_keys_keeps_the_others_and_is_refused_when_they_changed_meanwhile(
    rest_factory: Any, more: tuple[str, ...], etag: str
) -> None:
    rest = rest_factory(200, {"connector": STORED})
    assert run(rest.url, "connector", "update", "a", "-s", "max.tasks=2", "--unset", "topics", "-m", "why", *more).exit_code == 0
    assert rest.asked == ["GET /v1/connectors/a", "PUT /v1/connectors/a"]
    assert json.loads(rest.sent[1]) == {"config": {"connector.class": "file_sink", "max.tasks": "2"}, "etag": etag, **SIGNED}


def test_an_update_with_a_file_replaces_the_whole_configuration(rest_factory: Any, tmp_path: Any) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({**STORED, "config": {"connector.class": "file_sink"}}))
    rest = rest_factory(200, {"connector": STORED})
    assert run(rest.url, "connector", "update", "a", "-f", str(file), "-s", "max.tasks=2", "-m", "why").exit_code == 0
    assert rest.asked == ["PUT /v1/connectors/a"]
    assert json.loads(rest.sent[0]) == {"config": {"connector.class": "file_sink", "max.tasks": "2"}, **SIGNED}


SAME = {"detail": "connector 'a' has this configuration already; nothing was written", "reason": "SAME_CONFIG", "problems": []}


@pytest.mark.parametrize("words", [("update", "a", "-s", "topics=t"), ("rollback", "a", "1")])
def test_the_configuration_that_is_there_already_is_unchanged_and_no_failure(
    rest_factory: Any, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    rest = rest_factory(200, {"connector": STORED})
    asks = Api.request

    def refused(self: Api, method: str, path: str, **more: Any) -> dict[str, Any]:
        if method == "GET":
            return asks(self, method, path, **more)
        raise ApiError(Exit.CONFLICT, SAME)

    monkeypatch.setattr(Api, "request", refused)
    result = run(rest.url, "connector", *words, "-o", "json")
    assert (result.exit_code, json.loads(result.stdout)) == (0, STORED)
    assert result.stderr == "a is unchanged: it has this configuration already\n"


REVISIONS = [
    {"revision": "3", "connectorUid": "u2", "config": {"connector.class": "new"}},
    {"revision": "2", "connectorUid": "u", "config": STORED["config"]},
    {"revision": "1", "connectorUid": "u", "config": {"connector.class": "old"}},
]


def test_a_deleted_connector_is_brought_back_with_its_last_configuration(rest_factory: Any) -> None:
    rest = rest_factory(200, {"connector": STORED, "revisions": REVISIONS, "nextPageToken": ""})
    assert run(rest.url, "connector", "create", "a", "--adopt-uid", "u").exit_code == 0
    sent = json.loads(rest.sent[-1])
    assert (sent["adoptUid"], sent["config"]) == ("u", STORED["config"])


def test_a_deleted_connector_is_brought_back_with_another_configuration(rest_factory: Any) -> None:
    rest = rest_factory(200, {"connector": STORED})
    assert run(rest.url, "connector", "create", "a", "--adopt-uid", "u", *CONFIG).exit_code == 0
    sent = json.loads(rest.sent[-1])
    assert (len(rest.sent), sent["adoptUid"], sent["config"]) == (1, "u", {"connector.class": "file_sink"})


def test_the_last_connector_of_a_name_is_brought_back_without_its_uid(rest_factory: Any) -> None:
    rest = rest_factory(200, {"connector": STORED, "revisions": REVISIONS, "nextPageToken": ""})
    assert run(rest.url, "connector", "create", "a", "--adopt").exit_code == 0
    sent = json.loads(rest.sent[-1])
    assert (sent["adoptUid"], sent["config"]) == ("u2", {"connector.class": "new"})


def test_a_name_that_nobody_had_brings_nothing_back(rest_factory: Any) -> None:
    rest = rest_factory(200, {"revisions": [], "nextPageToken": ""})
    result = run(rest.url, "connector", "create", "a", "--adopt", *CONFIG)
    assert (result.exit_code, len(rest.asked)) == (3, 1)
    assert "there never was a connector 'a'" in result.stderr


def test_a_configuration_is_checked_as_that_of_a_name(rest_factory: Any) -> None:
    rest = rest_factory(200, {"problems": []})
    assert run(rest.url, "connector", "validate", "--name", "a", *CONFIG).exit_code == 0
    assert json.loads(rest.sent[-1])["name"] == "a"


def test_a_uid_that_the_name_never_had_is_not_adopted(rest_factory: Any) -> None:
    rest = rest_factory(200, {"revisions": REVISIONS, "nextPageToken": ""})
    result = run(rest.url, "connector", "create", "a", "--adopt-uid", "x")
    assert (result.exit_code, len(rest.asked)) == (3, 1)
    assert (
        "no connector 'a' had the uid 'x', and the configuration of a deleted one comes back only under the name" in result.stderr
    )


def test_the_uid_of_another_name_is_told_to_be_that_and_not_that_there_is_no_such_connector(rest_factory: Any) -> None:
    rest = rest_factory(404, NOT_FOUND)
    result = run(rest.url, "connector", "create", "new", "--adopt-uid", "u")
    assert result.exit_code == 3
    assert "comes back only under the name that it had: use that name" in result.stderr
    assert "or give a configuration for this one with -f or -s" in result.stderr
    assert "there never was a connector 'new'" in run(rest.url, "connector", "create", "new", "--adopt").stderr
    assert not any(asked.startswith("POST") for asked in rest.asked)


def test_a_reason_that_was_told_while_it_was_waited_for_is_not_told_again_at_the_end(rest_factory: Any) -> None:
    waiting = {"state": "STATE_WAITING", "trace": "task 0: the broker is away", "tasks": []}
    rest = rest_factory(200, {"state": waiting})
    result = run(rest.url, "connector", "wait", "a", "--timeout", "0")
    assert result.stderr.splitlines() == [
        "a is WAITING: task 0: the broker is away",
        "Error: a is WAITING after 0 s, not IDLE or RUNNING",
    ]
    scripts = run(rest.url, "connector", "wait", "a", "--timeout", "0", "-o", "json")
    assert json.loads(scripts.stdout)["error"]["detail"].endswith("not IDLE or RUNNING: task 0: the broker is away")
    rest = rest_factory(200, {"state": {**waiting, "state": "STATE_FAILED"}})
    assert run(rest.url, "connector", "wait", "a").stderr == "Error: a is FAILED: task 0: the broker is away\n"


def test_a_connector_that_rests_with_a_reason_is_told_with_it(rest_factory: Any) -> None:
    held = "task 0: the last line of /a has no newline"
    rest = rest_factory(200, {"state": {"state": "STATE_IDLE", "trace": held, "tasks": []}})
    assert run(rest.url, "connector", "wait", "a").stdout == f"a is IDLE: {held}\n"


BACK = "`rocketconnect connector create a --adopt-uid u` brings it back, with its positions and revisions"


COUNT = "/v1/connectors/a/deadLetters:count"


def with_letters(rest: Any, count: int, *, complete: bool = True) -> Any:
    rest.bodies[COUNT] = json.dumps({"unreplayed": str(count), "topic": "dead", "complete": complete}).encode()
    return rest


def test_a_connector_with_dead_letters_that_nobody_has_replayed_is_deleted_by_nobody_who_did_not_say_so(rest_factory: Any) -> None:
    rest = with_letters(rest_factory(200, {"connector": STORED}), 2)
    result = run(rest.url, "connector", "delete", "a")
    assert (result.exit_code, rest.asked) == (2, [f"GET {COUNT}"])
    has = "a has 2 dead letters that nobody has replayed: without it they stay in dead until RocketMQ removes them"
    assert has in result.stderr
    assert (
        "`rocketconnect dlq list a` shows them, and `dlq discard a --all` gives them up. Nothing was deleted: say" in result.stderr
    )
    assert run(rest.url, "connector", "delete", "a", "--yes").stdout == f"a deleted; {BACK}\n"
    assert rest.asked[1].startswith("DELETE ")


@pytest.mark.parametrize(("answer", "code"), [("n", 2), ("y", 0)])
def test_people_are_asked_before_a_connector_with_letters_is_deleted(
    rest_factory: Any, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    monkeypatch.setattr(unreplayed, "is_asked", lambda: True)
    rest = with_letters(rest_factory(200, {"connector": STORED}), 2, complete=False)
    result = CliRunner().invoke(app, ["connector", "delete", "a", "--url", rest.url], input=f"{answer}\n")
    assert (result.exit_code, len(rest.asked)) == (code, 2 if code == 0 else 1)
    assert "a has at least 2 dead letters that nobody has replayed" in result.stderr


@pytest.mark.parametrize(
    ("status", "reason", "said"), [(400, "NO_DEAD_LETTER_TOPIC", ""), (503, "ROCKETMQ_AWAY", "is not known: no broker")]
)
def test_a_connector_without_letters_or_of_which_nobody_knows_is_deleted(
    rest_factory: Any, status: int, reason: str, said: str
) -> None:
    rest = rest_factory(200, {"connector": STORED})
    rest.statuses[COUNT] = status
    rest.bodies[COUNT] = json.dumps({"detail": "no broker", "reason": reason, "problems": []}).encode()
    result = run(rest.url, "connector", "delete", "a")
    assert result.exit_code == 0
    assert said in result.stderr
    assert bool(result.stderr) is bool(said)


def test_a_delete_says_how_to_bring_the_connector_back(rest_factory: Any) -> None:
    rest = rest_factory(200, {"connector": STORED})
    assert run(rest.url, "connector", "delete", "a").stdout == f"a deleted; {BACK}\n"


@pytest.mark.parametrize("more", [(), ("--with-positions",)])
def test_a_rollback_of_a_deleted_connector_says_how_to_bring_it_back(
    rest_factory: Any, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    rest = rest_factory(404, NOT_FOUND)
    monkeypatch.setattr(Api, "pages", lambda *_, **__: iter(REVISIONS[1:]))
    result = run(rest.url, "connector", "rollback", "a", "1", *more)
    assert (result.exit_code, result.stderr) == (3, f"Error: a was deleted; {BACK}, then roll it back\n")


def test_a_revision_that_is_not_there_comes_with_the_command_that_lists_them(rest_factory: Any) -> None:
    rest = rest_factory(404, {"detail": "list its revisions", "reason": "REVISION_NOT_FOUND", "problems": []})
    result = run(rest.url, "connector", "rollback", "a", "99")
    words = "Error: a has no revision 99; `rocketconnect connector revisions a` shows those there are\n"
    assert (result.exit_code, result.stderr) == (3, words)


@pytest.mark.parametrize(("words", "named"), [(("x",), "OLD"), (("1", "x"), "NEW")])
def test_a_word_that_is_no_revision_is_told_by_what_it_stands_for(words: tuple[str, ...], named: str) -> None:
    assert f"Invalid value for '{named}'" in run("http://127.0.0.1:1", "connector", "diff", "a", *words).stderr


LINES = [
    {"time": "2026-01-01T10:00:02Z", "level": "INFO", "task": 0, "workerId": "w2", "message": "starts"},
    {"time": "2026-01-01T10:00:01.5Z", "level": "INFO", "task": 0, "workerId": "w1", "message": "stopped"},
    {"time": "2026-01-01T10:00:03Z", "level": "INFO", "task": -1, "workerId": "w1", "message": "planned"},
    {"time": "2026-01-01T10:00:04Z", "level": "INFO", "task": -1, "workerId": "position", "message": "positions moved"},
    {"time": "2026-01-01T10:00:05Z", "level": "WARNING", "task": 1, "message": "w1 was lost"},
]


def test_log_lines_stand_in_the_order_of_time_and_say_who_speaks(rest_factory: Any) -> None:
    rest = rest_factory(200, {"logs": LINES, "nextPageToken": ""})
    assert [line.split(None, 1)[1] for line in run(rest.url, "connector", "logs", "a").stdout.splitlines()] == [
        "INFO    task 0 w1: stopped",
        "INFO    task 0 w2: starts",
        "INFO    plan w1: planned",
        "INFO    position service: positions moved",
        "WARNING task 1: w1 was lost",
    ]


@pytest.mark.parametrize(("zone", "shown"), [("UTC", "2026-01-01 10:00:00Z"), ("Europe/Berlin", "2026-01-01 11:00:00+01:00")])
def test_a_time_in_a_table_names_its_zone(monkeypatch: pytest.MonkeyPatch, zone: str, shown: str) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert local_time("2026-01-01T10:00:00.123456Z") == shown
    finally:
        monkeypatch.undo()
        time.tzset()


class Interrupted(httpx.BaseTransport):
    """Takes some requests, then Ctrl-C comes while the next is under way."""

    def __init__(self, taken: int) -> None:
        self.left = taken

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        return httpx.Response(
            200, json={"worker": {"workerId": "w", "drained": True, "tasks": 3}, "connector": STORED, "problems": []}
        )


UNKNOWN = "an order had gone out, and whether it was taken is not known: look before you give it again"


@pytest.mark.parametrize(
    ("taken", "words", "told"),
    [
        (0, ("connector", "get", "a"), "nothing was changed"),
        (0, ("connector", "validate", *CONFIG), "nothing was changed"),
        (0, ("connector", "update", "a", *CONFIG), "nothing was changed"),
        (0, ("connector", "create", "a", *CONFIG), UNKNOWN),
        (1, ("connector", "update", "a", "-s", "x=y"), UNKNOWN),
        (1, ("worker", "drain", "w"), "1 order was taken and will be carried out"),
    ],
)
def test_a_command_that_is_interrupted_says_in_one_line_whether_an_order_had_gone_out(
    monkeypatch: pytest.MonkeyPatch, taken: int, words: tuple[str, ...], told: str
) -> None:
    client = httpx.Client(base_url="http://rest", transport=Interrupted(taken))
    monkeypatch.setattr(httpx, "Client", lambda **_: client)
    result = run("http://rest", *words)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (130, f"Error: interrupted: {told}")


def test_an_update_of_nothing_is_refused_before_anything_is_asked(rest_factory: Any) -> None:
    rest = rest_factory(200, {"connector": STORED})
    assert run(rest.url, "connector", "update", "a").exit_code == 2
    assert rest.asked == []


PROBLEMS = [
    {"key": "flush.interval", "value": "x", "reason": "is not a duration", "fix": "Give a duration."},
    {"key": "max.tasks", "value": "", "reason": "is empty", "fix": ""},
]


@pytest.mark.parametrize(
    ("detail", "heading"),
    [
        ("2 problems: flush.interval: is not a duration; Give a duration. max.tasks: is empty", "2 problems"),
        ("the request says: nothing", "the request says: nothing"),
    ],
)
def test_each_problem_is_told_once(rest_factory: Any, detail: str, heading: str) -> None:
    rest = rest_factory(400, {"detail": detail, "reason": "CONFIG_INVALID", "problems": PROBLEMS})
    result = run(rest.url, "connector", "create", "a", *CONFIG)
    assert result.stderr == (
        f"Error: {heading}\n  flush.interval: is not a duration (given: 'x')\n    -> Give a duration.\n  max.tasks: is empty\n"
    )


def ago(**time: int) -> str:
    return (datetime.now(UTC) - timedelta(**time)).isoformat().replace("+00:00", "Z")


TRACE = "/a/long/path/" + "x" * 300 + " [bold]can't be read\nTraceback"
STATE = {
    "connector": "a",
    "name": "a",
    "state": "STATE_FAILED",
    "trace": TRACE,
    "tasks": [
        {"task": 0, "state": "STATE_FAILED", "workerId": "worker-number-one", "since": ago(days=3, hours=12), "trace": TRACE},
        {"task": 1, "state": "STATE_RUNNING", "workerId": "worker-number-one", "since": ago(days=9, hours=12), "trace": ""}
        | {"metrics": {"countedSince": ago(hours=12)}},
    ],
}


def test_why_is_told_in_full_below_the_table_and_since_is_an_age(rest_factory: Any) -> None:
    rest = rest_factory(200, {"state": STATE})
    result = run(rest.url, "connector", "status", "a")
    assert result.exit_code == 1
    header, *rows, why = result.stdout.partition("\nTraceback")[0].splitlines()
    told = ["TASK", "STATE", "WORKER", "SINCE", "IN", "OUT", "PER", "SECOND", "LAG", "ERRORS", "RESTARTS", "COUNTED"]
    assert header.split() == told
    # Since the task was started, or not known.
    assert [row.split()[-1] for row in rows[1:]] == ["-", "12h"]
    assert [row.split()[:4] for row in rows[1:]] == [
        ["0", "FAILED", "worker-number-one", "3d"],
        ["1", "RUNNING", "worker-number-one", "9d"],
    ]
    assert f"{why}\nTraceback\n" == f"task 0: {TRACE}\n"


@pytest.mark.parametrize(
    ("state", "lags", "shown"),
    [
        ("RUNNING", [{"queue": "t/b/0", "messages": "7"}, {"queue": "t/b/1"}], ["12", "7"]),
        ("IDLE", [{"queue": "t/b/0"}], ["12", "0"]),
        ("RUNNING", [], ["12", "-"]),
        ("STARTING", [{"queue": "t/b/0"}], ["-", "-"]),
        ("UNASSIGNED", [{"queue": "t/b/0"}], ["-", "-"]),
        ("FAILED", [{"queue": "t/b/0"}], ["-", "-"]),
    ],
)
def test_lag_and_rate_are_shown_when_the_task_has_said_them_and_never_as_0_before(
    rest_factory: Any, state: str, lags: list[object], shown: list[str]
) -> None:
    task = {"task": 0, "state": f"STATE_{state}", "workerId": "w", "metrics": {"rateOut": 12, "lags": lags}}
    rest = rest_factory(200, {"state": {"state": "STATE_RUNNING", "tasks": [task]}})
    row = run(rest.url, "connector", "status", "a").stdout.splitlines()[2].split()
    assert row[6:8] == shown


@pytest.mark.parametrize(
    ("state", "metrics", "shown"),
    [
        (
            "RUNNING",
            {"sourceRemaining": "1234567", "sourceRemainingKnown": True, "sourceRemainingUnit": "bytes"},
            "1.2 MB",
        ),
        ("RUNNING", {"sourceRemaining": "1", "sourceRemainingKnown": True, "sourceRemainingUnit": "rows"}, "1 row"),
        ("IDLE", {"sourceRemainingKnown": True, "sourceRemainingUnit": "rows"}, "0 rows"),
        ("IDLE", {"sourceRemaining": "3", "sourceRemainingKnown": True}, "3"),
        ("IDLE", {"sourceRemaining": "0", "sourceRemainingKnown": False}, "-"),
        ("FAILED", {"sourceRemainingKnown": True}, "-"),
    ],
)
def test_what_a_source_has_not_read_is_its_lag_and_never_0_when_that_is_not_known(
    rest_factory: Any, state: str, metrics: dict[str, object], shown: str
) -> None:
    task = {"task": 0, "state": f"STATE_{state}", "workerId": "w", "metrics": {"rateOut": 12, **metrics}}
    whole = {"connector": "a", "name": "a", "type": "CONNECTOR_TYPE_SOURCE", "state": "STATE_RUNNING", "tasks": [task]}
    rest = rest_factory(200, {"state": whole, "states": [whole], "connectors": [whole], "nextPageToken": ""})
    lines = run(rest.url, "connector", "status", "a").stdout.splitlines()
    assert lines[2][lines[0].index("LAG") :].startswith(f"{shown} ")
    lines = run(rest.url, "connector", "list").stdout.splitlines()
    assert lines[1][lines[0].index("LAG") :].startswith(shown)


def test_the_time_that_a_source_will_take_is_told_where_it_is_known(rest_factory: Any) -> None:
    left = {
        "sourceRemaining": "1200000000",
        "sourceRemainingKnown": True,
        "sourceRemainingUnit": "bytes",
        "sourceTimeLeft": "179.6s",
    }
    task = {"task": 0, "state": "STATE_RUNNING", "workerId": "w", "metrics": left}
    rest = rest_factory(200, {"state": {"state": "STATE_RUNNING", "tasks": [task]}})
    assert " 1.2 GB left, about 3 min " in run(rest.url, "connector", "status", "a").stdout
    left["sourceRemaining"] = "0"
    rest = rest_factory(200, {"state": {"state": "STATE_RUNNING", "tasks": [task]}})
    assert " 0 bytes  " in run(rest.url, "connector", "status", "a").stdout


def test_the_lag_of_a_connector_is_that_of_all_its_tasks_or_not_known(rest_factory: Any) -> None:
    known = {"state": "STATE_RUNNING", "metrics": {"lags": [{"messages": "7"}]}}
    for tasks, shown in (([known, known], "14"), ([known, {"state": "STATE_RUNNING"}], "-"), ([], "-")):
        whole = {"connector": "a", "name": "a", "state": "STATE_RUNNING", "tasks": tasks}
        rest = rest_factory(200, {"states": [whole], "connectors": [whole], "nextPageToken": ""})
        assert run(rest.url, "connector", "list").stdout.splitlines()[1].split()[-2:] == [shown, "0"]


def test_a_list_shows_the_errors_of_each_connector_and_where_its_dead_letters_are(rest_factory: Any) -> None:
    task = {"state": "STATE_RUNNING", "metrics": {"errors": "3", "deadLetters": "1"}}
    bad = {"connector": "a", "name": "a", "state": "STATE_RUNNING", "tasks": [task, task]}
    one = {**bad, "connector": "c", "name": "c", "tasks": [task]}
    good = {**bad, "connector": "b", "name": "b", "tasks": [{"state": "STATE_RUNNING"}]}
    found = [bad, good, one]
    rest = rest_factory(200, {"states": found, "connectors": found, "nextPageToken": ""})
    header, *rows = run(rest.url, "connector", "list").stdout.splitlines()
    assert header.split() == ["NAME", "TYPE", "STATE", "WANTED", "TASKS", "LAG", "ERRORS", "REVISION"]
    assert [row[header.index("ERRORS") :].strip() for row in rows[:3]] == ["6", "0", "3"]
    assert rows[3:] == [
        "a: 2 records have become dead letters since its tasks were started; `rocketconnect dlq list a` shows what is there",
        "c: 1 record has become a dead letter since its tasks were started; `rocketconnect dlq list c` shows what is there",
    ]
    listed = json.loads(run(rest.url, "connector", "list", "-o", "json").stdout)["connectors"]
    assert [(row["errors"], row["deadLetters"], row["dropped"]) for row in listed] == [(6, 2, 0), (0, 0, 0), (3, 1, 0)]


def test_a_list_says_how_many_records_were_dropped(rest_factory: Any) -> None:
    task = {"state": "STATE_RUNNING", "metrics": {"recordsSkipped": "7"}}
    found = {"connector": "a b", "name": "a b", "state": "STATE_RUNNING", "tasks": [task, task]}
    rest = rest_factory(200, {"states": [found], "connectors": [found], "nextPageToken": ""})
    assert run(rest.url, "connector", "list").stdout.splitlines()[2] == (
        "a b: 14 bad records were dropped since its tasks were started, and kept nowhere; "
        "`rocketconnect connector status 'a b'` shows the last one"
    )


def failed(number: int, trace: str = TRACE) -> dict[str, object]:
    return {"task": number, "state": "STATE_FAILED", "workerId": "w", "trace": trace}


@pytest.mark.parametrize(
    ("whole", "tasks", "told"),
    [
        (f"task 0: {TRACE}", [failed(0)], f"task 0: {TRACE}\n"),
        (f"task 0: {TRACE} (and 1 more)", [failed(0), failed(1)], f"tasks 0, 1: {TRACE}\n"),
        (f"task 0: {TRACE} (and 4 more)", [failed(number) for number in range(5)], f"tasks 0, 1, 2 and 2 more: {TRACE}\n"),
        ("task 0: one (and 1 more)", [failed(0, "one"), failed(1, "two")], "task 0: one\ntask 1: two\n"),
        ("is being stopped: 1 left; task 0: one", [failed(0, "one")], "connector: is being stopped: 1 left\ntask 0: one\n"),
        ("planning: no file", [], "connector: planning: no file\n"),
        ("planning: no file", [failed(0, "one")], "connector: planning: no file\ntask 0: one\n"),
    ],
)
def test_each_reason_is_told_once(rest_factory: Any, whole: str, tasks: list[object], told: str) -> None:
    rest = rest_factory(200, {"state": {"state": "STATE_FAILED", "trace": whole, "tasks": tasks}})
    lines = run(rest.url, "connector", "status", "a").stdout.splitlines(keepends=True)
    assert "".join(lines[2 + len(tasks) :]) == told


def test_what_waits_in_open_batches_is_told_with_when_it_is_written(rest_factory: Any) -> None:
    def holding(number: int, records: int, since: int, due: int) -> dict[str, object]:
        batch = {"records": str(records), "since": ago(seconds=since), "due": ago(seconds=-due)}
        return {"task": number, "state": "STATE_RUNNING", "metrics": {"openBatch": batch}}

    def told(*tasks: dict[str, object]) -> str:
        rest = rest_factory(200, {"state": {"state": "STATE_RUNNING", "tasks": tasks}})
        return str(run(rest.url, "connector", "status", "a").stdout.splitlines()[-1])

    one, other = holding(0, 1_200, 150, 3_600 + 50), holding(2, 34, 100, 3_600 * 3)
    assert told(one) == "task 0: 1,200 records wait in an open batch for 2m; it is written in 1h, or when it is full"
    assert told(other, {"task": 1, "state": "STATE_RUNNING"}, one) == (
        "tasks 2, 0: 1,234 records wait in open batches for 2m; the next is written in 1h, or when it is full"
    )


def test_what_a_sink_was_given_and_has_not_made_durable_is_told(rest_factory: Any) -> None:
    task = {"task": 0, "state": "STATE_RUNNING", "metrics": {"openBatch": {"records": "1200", "since": ago(seconds=150)}}}
    rest = rest_factory(200, {"state": {"state": "STATE_RUNNING", "tasks": [task]}})
    told = run(rest.url, "connector", "status", "a").stdout.splitlines()[-1]
    assert told == "task 0: 1,200 records wait for 2m until the sink has made them durable"


def test_the_spark_ui_of_each_driver_is_told_once(rest_factory: Any) -> None:
    pages = ("http://10.0.0.7:4040", "http://10.0.0.7:4040", "http://10.0.0.8:4040", "")
    tasks = [{"task": task, "state": "STATE_RUNNING", "metrics": {"sparkUi": page}} for task, page in enumerate(pages)]
    rest = rest_factory(200, {"state": {"state": "STATE_RUNNING", "tasks": tasks}})
    assert run(rest.url, "connector", "status", "a").stdout.splitlines()[-2:] == [
        "tasks 0, 1: the Spark UI is at http://10.0.0.7:4040",
        "task 2: the Spark UI is at http://10.0.0.8:4040",
    ]


def test_what_was_left_out_is_told_with_the_last_one_and_where_it_is_kept(rest_factory: Any) -> None:
    def told(**metrics: str) -> list[str]:
        task = {"task": 0, "state": "STATE_RUNNING", "metrics": metrics}
        rest = rest_factory(200, {"state": {"connector": "in", "state": "STATE_RUNNING", "tasks": [task]}})
        return run(rest.url, "connector", "status", "in").stdout.splitlines()[3:]

    last = "source partition p, record before offset 7: poll: Bad: it is bad; it goes to the topic in-dlq"
    (kept,) = told(deadLetters="1200", lastLeftOut=last)
    assert kept.startswith("task 0: 1,200 bad records were left out since it was started, and kept: ")
    assert kept.endswith(f"`rocketconnect dlq list in` shows them. The last: {last}")
    (dropped,) = told(recordsSkipped="1", lastLeftOut="p: bad; it is dropped")
    assert "1 bad record was left out" in dropped
    assert "kept nowhere: errors.deadletterqueue.topic.name names a topic that keeps them. The last: p: bad" in dropped
    assert told() == told(lastLeftOut=last) == []


def test_an_executor_that_is_only_just_starting_is_waited_for_and_that_is_told(
    rest_factory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    starting = {"detail": "no executor answers now; try again in a moment", "reason": "STARTING", "problems": []}
    rest = rest_factory(503, starting)

    def comes_back(_seconds: float) -> None:
        rest.status, rest.body = 200, json.dumps({"connector": {"name": "a", "uid": "1", "wantedState": ""}}).encode()

    # That of the command alone: other threads sleep, too.
    monkeypatch.setattr("rocketconnect_cli.api.time", SimpleNamespace(sleep=comes_back, monotonic=time.monotonic))
    made = run(rest.url, "connector", "create", "a", *CONFIG)
    assert (made.exit_code, made.stderr) == (0, "no executor answers yet; waiting for one that is starting ...\n")
    assert rest.asked == ["POST /v1/connectors"] * 2

    monkeypatch.setattr("rocketconnect_cli.api.time", SimpleNamespace(sleep=lambda _seconds: None, monotonic=time.monotonic))
    monkeypatch.setattr("rocketconnect_cli.api.STARTING_SECONDS", 0.05)
    rest.status, rest.body = 503, json.dumps(starting).encode()
    given_up = run(rest.url, "connector", "create", "a", *CONFIG)
    assert given_up.exit_code == 5
    assert given_up.stderr.endswith("Error: no executor answers now; try again in a moment\n")


def test_what_a_task_has_warned_of_is_told_with_how_long_ago(rest_factory: Any) -> None:
    replaced = "/in.csv is another file than the one of which 16 bytes were read"
    task = {"task": 1, "state": "STATE_RUNNING", "metrics": {"warnings": [{"time": ago(seconds=200), "message": replaced}]}}
    rest = rest_factory(200, {"state": {"state": "STATE_RUNNING", "tasks": [task]}})
    assert run(rest.url, "connector", "status", "in").stdout.splitlines()[3:] == [f"task 1 warned 3m ago: {replaced}"]


def test_the_row_of_the_connector_names_no_worker_for_who_planned_it_does_not_run_it(rest_factory: Any) -> None:
    rest = rest_factory(200, {"state": {"state": "STATE_RUNNING", "workerId": "worker-9", "tasks": []}})
    assert "worker-9" not in run(rest.url, "connector", "status", "a").stdout


def test_a_list_tells_the_whole_first_line_of_why(rest_factory: Any) -> None:
    rest = rest_factory(200, {"connectors": [STATE], "states": [STATE], "nextPageToken": ""})
    result = run(rest.url, "connector", "list")
    assert result.stdout.splitlines()[2:] == ["a: " + TRACE.partition("\n")[0]]


@pytest.mark.parametrize(
    ("seconds", "age"), [(-5, "0s"), (0, "0s"), (12, "12s"), (59, "59s"), (60, "1m"), (7200, "2h"), (90_000, "1d")]
)
def test_an_age_is_told_in_its_largest_unit(seconds: int, age: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert age_of((now - timedelta(seconds=seconds)).isoformat(), now) == age


def test_a_terminal_folds_the_last_column_alone(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # Whatever runs the tests may itself be no terminal, or a dumb one.
    terminal = Console(force_terminal=True, width=40, soft_wrap=True, no_color=True, _environ={"TERM": "xterm"})
    monkeypatch.setattr(output, "out", terminal)
    output.emit(output.Output.TABLE, {}, lambda: output.table_of(("NAME", "WHAT"), [("n" * 30, "word " * 10)]))
    lines = capsys.readouterr().out.splitlines()[1:]
    assert "n" * 30 in lines[0]
    assert len(lines) == 10


def test_a_signal_goes_out_with_its_arguments_and_what_each_task_says_is_shown(rest_factory: Any) -> None:
    rest = rest_factory(200, {"answers": [{"text": "reads t"}, {"task": 1, "text": "has no t"}]})
    result = run(rest.url, "connector", "signal", "orders", "snapshot", "tables=t", "note=a=b")
    assert (result.exit_code, result.stdout.splitlines()) == (0, ["task 0: reads t", "task 1: has no t"])
    assert rest.asked == ["POST /v1/connectors/orders:signal"]
    assert json.loads(rest.sent[0]) == {"signal": "snapshot", "arguments": {"tables": "t", "note": "a=b"}}


def test_an_argument_of_a_signal_that_is_none_is_told_before_anything_is_asked(rest_factory: Any) -> None:
    rest = rest_factory(200, {})
    result = run(rest.url, "connector", "signal", "orders", "snapshot", "tables")
    assert (result.exit_code, rest.asked) == (2, [])
    assert "is not of the form KEY=VALUE" in result.stderr


WARNING = {"key": "table.include", "value": "shop.log", "reason": "has no key", "fix": "Give it one."}


def test_validate_shows_warnings_and_has_nothing_against_the_configuration(rest_factory: Any) -> None:
    rest = rest_factory(200, {"problems": [], "warnings": [WARNING]})
    result = run(rest.url, "connector", "validate", *CONFIG)
    assert result.exit_code == 0
    assert "Warning: table.include: has no key (given: 'shop.log')" in result.stderr
    assert "-> Give it one." in result.stderr
    assert result.output.splitlines()[0] == "nothing is wrong with it"


def test_validate_says_each_problem_with_its_fix_whole_however_long_the_value_is(rest_factory: Any) -> None:
    query = f"SELECT {', '.join(f'field{number}' for number in range(60))} FROM records GROUP BY 1"
    problems = [{"key": "query", "value": query, "reason": "has GROUP BY", "fix": "Add query.window."}, {"reason": "is empty"}]
    result = run(rest_factory(200, {"problems": problems}).url, "connector", "validate", *CONFIG)
    assert result.exit_code == 2
    assert result.stdout.splitlines() == [
        "What is wrong with it:",
        f"  query: has GROUP BY (given: {query!r})",
        "    -> Add query.window.",
        "  configuration: is empty",
    ]


@pytest.mark.parametrize(
    "words",
    [("create", "a", *CONFIG), ("update", "a", "-s", "a=b"), ("update", "a", *CONFIG), ("rollback", "a", "1")],
    ids=" ".join,
)
def test_what_is_stored_with_warnings_says_so_behind_its_table(rest_factory: Any, words: tuple[str, ...]) -> None:
    stored = {"name": "a", "uid": "u", "wantedState": "WANTED_STATE_RUNNING", "config": {}, "etag": "e", "revision": "1"}
    rest = rest_factory(200, {"connector": stored, "warnings": [WARNING]})
    result = run(rest.url, "connector", *words)
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: table.include: has no key")
    assert result.output.splitlines()[-2:] == ["Warning: table.include: has no key (given: 'shop.log')", "    -> Give it one."]


@pytest.mark.parametrize(("given", "name"), [((), {}), (("--name", "orders"), {"name": "orders"})])
def test_a_configuration_is_validated_for_the_connector_that_is_named(rest_factory: Any, given: tuple[str, ...], name: Any) -> None:
    rest = rest_factory(200, {"problems": []})
    assert run(rest.url, "connector", "validate", *CONFIG, *given).exit_code == 0
    assert json.loads(rest.sent[0]) == {"config": {"connector.class": "file_sink"}, **name}
