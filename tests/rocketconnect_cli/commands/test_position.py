"""What `position ... --restart` says when it breaks off in the middle."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from rocketconnect_cli.api import Api, ApiError, Exit
from rocketconnect_cli.commands import position
from rocketconnect_cli.commands.root import app
from tests.rocketconnect_cli.conftest import RestFactory

AWAY = ApiError(Exit.UNAVAILABLE, {"detail": "nobody answers"})
REFUSED = ApiError(Exit.WRONG, {"detail": "beyond the end"})


class Scripted:
    """Answers as REST would, and fails at one request."""

    def __init__(self, fails_at: str = "", wanted: str = "RUNNING", held: int = 0) -> None:
        self.fails_at, self.wanted, self.held = fails_at, wanted, held
        self.asked: list[str] = []
        self.bodies: dict[str, Any] = {}

    def request(self, method: str, path: str, *, body: object = None, **_: Any) -> dict[str, Any]:
        verb = path.partition(":")[2] or method
        self.asked.append(verb)
        self.bodies[verb] = body
        if verb == self.fails_at:
            raise AWAY
        return {"connector": {"name": "c", "uid": "u", "wantedState": f"WANTED_STATE_{self.wanted}"}}

    def pages(self, *_: Any, **__: Any) -> Iterator[dict[str, Any]]:
        if self.held:
            self.held -= 1
            yield {"connector": "c", "unit": "UNIT_TASK", "workerId": "w", "task": 0}
        yield {"connector": "other", "unit": "UNIT_TASK", "workerId": "w", "task": 0}
        yield {"connector": "c", "unit": "UNIT_PLANNING", "workerId": "w"}


def broken(api: Scripted, error: BaseException | None = None) -> ApiError:
    with pytest.raises(ApiError) as raised, position._stopped(cast("Api", api), "c", "why"):
        if error is not None:
            raise error
    return raised.value


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position, "POLL_SECONDS", 0.0)


@pytest.mark.parametrize(("wanted", "asked"), [("RUNNING", ["GET", "stop", "resume"]), ("PAUSED", ["GET", "stop", "pause"])])
def test_a_connector_is_stopped_until_its_tasks_have_ended_and_wanted_as_before_afterwards(wanted: str, asked: list[str]) -> None:
    api = Scripted(wanted=wanted, held=3)
    with position._stopped(cast("Api", api), "c", "why"):
        assert (api.asked, api.held) == (["GET", "stop"], 0)
    assert api.asked == asked


def test_the_stop_and_the_resume_say_who_and_what_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETCONNECT_AUTHOR", "alice")
    api = Scripted()
    with position._stopped(cast("Api", api), "c", position._why("reset", {})):
        pass
    said = {"author": "alice", "reason": "position reset --restart"}
    assert api.bodies == {"GET": None, "stop": said, "resume": said}


@pytest.mark.parametrize(
    ("verb", "body", "why"),
    [
        ("alter", {"positions": [{"partition": "t/b/0", "offset": "[1]"}]}, "position set --restart: t/b/0=[1]"),
        ("alter", {"toTime": "2026-01-31T10:00:00Z"}, "position set --restart: to 2026-01-31T10:00:00Z"),
        ("alter", {"to": "EDGE_LATEST", "partitions": []}, "position set --restart: to EDGE_LATEST"),
        ("alter", {"by": 100}, "position set --restart: by 100"),
        ("import", {"positions": [{"partition": "t/b/0", "offset": "[1]"}]}, "position import --restart"),
    ],
)
def test_the_history_tells_what_a_connector_was_stopped_for(verb: str, body: Any, why: str) -> None:
    assert position._why(verb, body) == why


def test_one_that_is_stopped_stays_stopped() -> None:
    api = Scripted(wanted="STOPPED")
    with position._stopped(cast("Api", api), "c", "why"):
        pass
    assert api.asked == ["GET"]


def test_a_stop_that_failed_says_that_it_is_not_known_and_that_nothing_was_changed() -> None:
    error = broken(Scripted("stop"))
    assert error.exit_code is Exit.UNAVAILABLE
    assert str(error).startswith("nobody answers - whether c is wanted STOPPED now is not known, and nothing was changed")
    assert str(error).endswith("`rocketconnect connector resume c` makes it RUNNING again.")


def test_a_refusal_says_that_it_is_stopped_and_that_the_positions_were_not_changed() -> None:
    error = broken(Scripted(), REFUSED)
    assert error.exit_code is Exit.WRONG
    assert "beyond the end - c is wanted STOPPED now, and its positions were not changed" in str(error)
    assert "`rocketconnect connector resume c`" in str(error)


@pytest.mark.parametrize(("error", "cause"), [(AWAY, "nobody answers"), (KeyboardInterrupt(), "interrupted")])
def test_an_answer_that_did_not_come_says_that_the_positions_are_not_known(error: BaseException, cause: str) -> None:
    text = str(broken(Scripted(), error))
    assert f"{cause} - c is wanted STOPPED now, and whether its positions were changed is not known" in text
    assert "`rocketconnect position get c` shows them" in text


def test_a_resume_that_failed_says_that_the_positions_were_changed() -> None:
    text = str(broken(Scripted("resume")))
    assert (
        "c is wanted STOPPED now, and its positions were changed; `rocketconnect connector resume c` makes it RUNNING again" in text
    )


def test_tasks_that_do_not_end_are_named() -> None:
    now = iter([0.0, position.ENDING_SECONDS + 1])
    with pytest.raises(ApiError) as raised:
        position._wait_until_ended(cast("Api", Scripted(held=9)), "c", lambda: next(now))
    assert raised.value.exit_code is Exit.TIMEOUT
    assert "task 0 on w" in str(raised.value)


@pytest.mark.parametrize("offset", ["abc", "", "1.5", "[a]", "[1"])
def test_an_offset_that_is_none_is_told_with_its_partition_before_anything_is_asked(rest_factory: Any, offset: str) -> None:
    rest = rest_factory(200, {"changes": []})
    result = CliRunner().invoke(app, ["position", "set", "c", f"t/b/0={offset}", "t/b/1=x", "--url", rest.url])
    assert (result.exit_code, rest.asked) == (2, [])
    assert "  t/b/0: the offset is not a number" in result.stderr
    assert "  t/b/1: the offset is not a number (given: 'x')" in result.stderr


@pytest.mark.parametrize("offset", ["17", "[17]", "-1", "[1, 2]"])
def test_an_offset_is_a_number_or_as_it_is_shown(rest_factory: Any, offset: str) -> None:
    rest = rest_factory(200, {"changes": []})
    assert CliRunner().invoke(app, ["position", "set", "c", f"t/b/0={offset}", "--url", rest.url]).exit_code == 0
    assert len(rest.asked) == 1


@pytest.mark.parametrize(("time", "told"), [("2999-01-01T00:00:00Z", True), ("2020-01-01T00:00:00+01:00", False)])
def test_a_time_in_the_future_is_told(rest_factory: Any, time: str, told: bool) -> None:
    rest = rest_factory(200, {"changes": []})
    result = CliRunner().invoke(app, ["position", "set", "c", "--to-time", time, "--url", rest.url])
    assert (result.exit_code, len(rest.asked)) == (0, 1)
    assert (f"{time} is in the future: that is behind the last record there is now" in result.stderr) is told


def test_what_a_source_needs_beside_an_offset_goes_with_it_from_the_line_or_from_a_file(rest_factory: Any, tmp_path: Path) -> None:
    rest = rest_factory(200, {"changes": [], "offsetAlone": ["a=b"]})
    (tmp_path / "map").write_text('{"cursor": "y"}\n')
    words = ["a=1", "a=b=2", "c=3", "--resume", 'a=b={"cursor": "x=1"}', "--resume", f"c=@{tmp_path}/map"]
    result = CliRunner().invoke(app, ["position", "set", "c", *words, "--url", rest.url])
    assert result.exit_code == 0
    assert json.loads(rest.sent[0])["positions"] == [
        {"partition": "a", "offset": "[1]"},
        {"partition": "a=b", "offset": "[2]", "resume": '{"cursor": "x=1"}'},
        {"partition": "c", "offset": "[3]", "resume": '{"cursor": "y"}'},
    ]
    assert "a=b: what the source kept beside the old offset does not go with the new one" in " ".join(result.stdout.split())


def test_a_map_of_no_partition_that_is_moved_is_told_and_not_shown(rest_factory: Any, tmp_path: Path) -> None:
    rest = rest_factory(200, {"changes": []})
    words = ["a=1", "--resume", 'b={"cursor": "secret"}', "--resume", f"a=@{tmp_path}/none"]
    result = CliRunner().invoke(app, ["position", "set", "c", *words, "--url", rest.url])
    assert (result.exit_code, rest.asked) == (2, [])
    assert "names no partition that is moved to an offset" in result.stderr
    assert "No such file" in result.stderr
    assert "secret" not in result.stderr


@pytest.mark.parametrize(
    ("by", "end", "moved"),
    [(100, "[250]", "[110]"), (100, "[60]", "[60]"), (-5, "[0]", "[5]"), (-50, "[3]", "[3]"), (3, "[4]", ""), (-3, "[12]", "")],
)
def test_so_many_messages_are_passed_and_no_more_than_there_are(by: int, end: str, moved: str) -> None:
    changes = [{"partition": "t/b/0", "fromOffset": "[10]", "toOffset": end}, {"partition": "t/b/1", "toOffset": "[9]"}]
    assert position._moved_by(by, changes) == ([{"partition": "t/b/0", "offset": moved}] if moved else [])


def test_messages_are_counted_from_where_a_sink_is(rest_factory: RestFactory) -> None:
    connector = {"name": "c", "uid": "u", "wantedState": "WANTED_STATE_STOPPED", "type": "CONNECTOR_TYPE_SINK"}
    changes = [{"partition": "t/b/0", "fromOffset": "[10]", "toOffset": "[250]"}]
    rest = rest_factory(200, {"connector": connector, "changes": changes})
    result = CliRunner().invoke(app, ["position", "set", "c", "--by", "100", "-p", "t/b/0", "--url", rest.url])
    assert result.exit_code == 0, result.stderr
    looked, moved = (json.loads(body) for body in rest.sent[1:])
    assert (looked["to"], looked["partitions"], looked["dryRun"]) == ("EDGE_LATEST", ["t/b/0"], True)
    assert (moved["positions"], moved["dryRun"]) == ([{"partition": "t/b/0", "offset": "[110]"}], False)


def test_offsets_that_count_no_messages_are_not_moved_by_some(rest_factory: RestFactory) -> None:
    connector = {"name": "c", "uid": "u", "wantedState": "WANTED_STATE_STOPPED", "type": "CONNECTOR_TYPE_SOURCE"}
    rest = rest_factory(200, {"connector": connector})
    result = CliRunner().invoke(app, ["position", "set", "c", "--by", "100", "--url", rest.url])
    assert (result.exit_code, "c is no sink: its offsets count no messages" in result.stderr) == (2, True)
    assert len(rest.asked) == 1
    result = CliRunner().invoke(app, ["position", "set", "c", "--by", "100", "--to-latest", "--url", rest.url])
    assert "is said in more than one way" in result.stderr
