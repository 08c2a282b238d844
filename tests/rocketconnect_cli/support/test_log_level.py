"""`rocketconnect log-level` sets what processes log, and lists it."""

import json
from typing import Any

import pytest

from rocketconnect_cli.shown import local_time
from tests.rocketconnect_cli.conftest import RestFactory
from tests.spoken import rc

LEVELS = [
    {"logger": "root", "level": "LOG_LEVEL_INFO"},
    {"logger": "a.b", "level": "LOG_LEVEL_DEBUG", "connector": "c", "until": "2026-11-28T08:10:00.052590336Z"},
]
ANSWER = {"processes": [{"service": "executor", "workerId": "w", "levels": LEVELS}]}


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (("a.b", "debug"), {"level": "LOG_LEVEL_DEBUG"}),
        (("a.b", "RESET"), {}),
        (("a.b", "ERROR", "--connector", "c", "--for", "10m"), {"level": "LOG_LEVEL_ERROR", "connector": "c", "lasts": "600s"}),
        (
            ("a.b", "INFO", "--worker", "w", "--service", "executor"),
            {"level": "LOG_LEVEL_INFO", "workerId": "w", "service": "executor"},
        ),
    ],
)
def test_a_level_is_set_as_it_was_told(rest_factory: RestFactory, words: tuple[str, ...], sent: dict[str, Any]) -> None:
    rest = rest_factory(200, ANSWER)
    code, out, err = rc(rest.url, "log-level", *words)
    assert code == 0, err
    assert rest.asked == ["PUT /v1/loggers/a.b"]
    assert {key: value for key, value in json.loads(rest.sent[0]).items() if value} == sent
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["executor", "w", "root", "INFO", "-", "-"],
        ["executor", "w", "a.b", "DEBUG", "c", *local_time("2026-11-28T08:10:00Z").split()],
    ]


def test_without_a_logger_all_are_listed(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, ANSWER)
    assert rc(rest.url, "log-level", "--worker", "w")[0] == 0
    assert rest.asked == ["GET /v1/loggers?service=&workerId=w"]


@pytest.mark.parametrize("level", ["", "TRACE", "10"])
def test_what_is_no_level_is_refused_before_anybody_is_asked(rest_factory: RestFactory, level: str) -> None:
    rest = rest_factory(200, ANSWER)
    code, _, err = rc(rest.url, "log-level", "a.b", level)
    assert code == 2
    assert "give DEBUG, INFO, WARNING, ERROR, or RESET" in " ".join(err.split())
    assert rest.asked == []


def test_a_process_that_was_not_told_is_named_and_the_exit_code_is_1(rest_factory: RestFactory) -> None:
    processes = [*ANSWER["processes"], {"service": "state", "problem": "it is away"}]
    code, out, err = rc(rest_factory(200, {"processes": processes}).url, "log-level", "root", "DEBUG")
    assert code == 1
    assert "state: it is away" in err
    assert "a.b" in out
