"""The commands `rocketconnect connector ...`: what they ask for, and what they say of what they did."""

import json
import socket
import time
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from rocketconnect.connector.v1 import connector_pb2
from typer.testing import CliRunner

from rocketconnect_cli.api import Api, ApiError, Exit
from rocketconnect_cli.commands.dead_letters import unreplayed
from rocketconnect_cli.commands.root import app
from rocketconnect_cli.names import completion
from rocketconnect_cli.signed import signed
from rocketconnect_cli.states import State
from tests.rocketconnect_cli.conftest import ago, run

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
    assert rest.asked == ["GET /v1/connectors/a", "PUT /v1/connectors/a"]
    assert json.loads(rest.sent[1]) == {"config": {"connector.class": "file_sink", "max.tasks": "2"}, **SIGNED}


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
    assert "`rocketconnect dlq list a` shows them, and `dlq discard a --all` gives them up. a was not deleted: say" in result.stderr
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
