"""The commands `rocketconnect worker ...`: what they ask for, and what they make of an answer."""

import json
from typing import Any

import pytest
from typer.testing import Result

from tests.spoken import answered

HELD = {
    "workerId": "w:1",
    "address": "h:1",
    "alive": True,
    "tasks": 3,
    "weight": 2,
    "pid": "77",
    "labels": {"zone": "a"},
    "drained": True,
}
EMPTY = {**HELD, "tasks": 0}
REFUSED = {
    "detail": "worker w:1 is not drained: it is the last executor that takes work",
    "reason": "NO_OTHER_WORKER",
    "problems": [],
}


def run(url: str, *words: str) -> Result:
    """What the command line does; a traceback of it ends the test."""
    return answered("worker", *words, "--url", url)


def answer(*workers: dict[str, Any]) -> dict[str, Any]:
    """Return what answers both the order and the list."""
    return {"worker": workers[0], "workers": list(workers), "nextPageToken": ""}


def test_the_list_says_who_takes_work_and_how_much(rest_factory: Any) -> None:
    gone = {"workerId": "x", "drained": True}
    rows = answer(HELD, EMPTY, gone, {"workerId": "y", "alive": True, "weight": 1}, {"workerId": "z"})
    lines = run(rest_factory(200, rows).url, "list").stdout.splitlines()
    assert lines[0].split() == ["WORKER", "ADDRESS", "PID", "STATE", "WEIGHT", "TASKS", "LABELS"]
    assert lines[1].split() == ["w:1", "h:1", "77", "draining", "2", "3", "zone=a"]
    assert lines[2].split()[3] == "drained"
    assert lines[3].split()[:3] == ["x", "-", "drained,"]
    assert "drained, gone" in lines[3]
    assert ("alive" in lines[4], "gone" in lines[5]) == (True, True)
    assert json.loads(run(rest_factory(200, rows).url, "list", "-o", "json").stdout)["workers"][0] == HELD


@pytest.mark.parametrize(("more", "sent"), [((), {"force": False}), (("--force",), {"force": True})])
def test_a_drain_of_a_worker_that_holds_nothing_is_done_at_once(rest_factory: Any, more: tuple[str, ...], sent: object) -> None:
    rest = rest_factory(200, answer(EMPTY))
    result = run(rest.url, "drain", "w:1", *more)
    assert (result.exit_code, result.stdout) == (0, "w:1 is drained\n")
    assert (rest.asked, json.loads(rest.sent[0])) == (["POST /v1/workers/w%3A1:drain"], sent)


def test_a_drain_tells_what_is_left_and_that_it_goes_on_after_the_timeout(rest_factory: Any) -> None:
    result = run(rest_factory(200, answer(HELD)).url, "drain", "w:1", "--timeout", "0.1")
    assert result.exit_code == 6
    assert "w:1 still holds 3 tasks\n" in result.stderr
    assert "w:1 still holds 3 tasks after 0.1 s. They go on moving" in result.stderr


def test_a_drain_does_not_wait_when_told_so(rest_factory: Any) -> None:
    rest = rest_factory(200, answer({**HELD, "plannings": 1}))
    result = run(rest.url, "drain", "w:1", "--no-wait")
    assert (result.exit_code, result.stdout) == (0, "w:1 is draining: it holds 3 tasks and 1 planning\n")
    assert len(rest.asked) == 1


def test_a_drain_that_somebody_takes_back_meanwhile_has_failed(rest_factory: Any) -> None:
    result = run(rest_factory(200, answer({**HELD, "drained": False})).url, "drain", "w:1")
    assert (result.exit_code, "somebody has undrained it" in result.stderr) == (1, True)


def test_a_drain_that_would_stop_something_is_refused_with_the_reason(rest_factory: Any) -> None:
    result = run(rest_factory(400, REFUSED).url, "drain", "w:1")
    assert (result.exit_code, result.stderr) == (2, f"Error: {REFUSED['detail']}\n")


def test_an_undrain_asks_for_it(rest_factory: Any) -> None:
    rest = rest_factory(200, answer({**EMPTY, "drained": False}))
    result = run(rest.url, "undrain", "w:1")
    assert (result.exit_code, result.stdout) == (0, "w:1 is alive\n")
    assert rest.asked == ["POST /v1/workers/w%3A1:undrain"]


@pytest.mark.parametrize("worker", ["", ".", "..", "\udcff"])
def test_what_no_path_can_hold_is_refused_before_anything_is_asked(rest_factory: Any, worker: str) -> None:
    rest = rest_factory(200, answer(EMPTY))
    result = run(rest.url, "drain", worker)
    assert (result.exit_code, rest.asked) == (2, [])
