"""The commands `rocketconnect connector ...`: how they show what connectors and their tasks do."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from rocketconnect_cli import output
from rocketconnect_cli.shown import age as age_of
from rocketconnect_cli.shown import local_time
from tests.rocketconnect_cli.conftest import ago, run

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
