"""Where lines of Java go, without a Java."""

import logging
import os

import pytest

from connectors.java.log import JavaLog


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} {record.getMessage()}")


def log_of(name: str) -> tuple[logging.Logger, Kept]:
    log, kept = logging.getLogger(f"test.{name}"), Kept()
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.handlers = [kept]
    return log, kept


def test_lines_are_those_of_the_task_that_has_the_process_for_itself_and_of_no_task_where_there_are_several(
    capsys: pytest.CaptureFixture[str],
) -> None:
    java = JavaLog()
    (first, of_first), (second, of_second) = log_of("first"), log_of("second")
    java._say("INFO a.B - before any")
    java.follow(first)
    java._say("WARN a.B - of the first")
    java.follow(second)
    java._say("WARN a.B - of either")
    java.leave(first)
    java._say("ERROR a.B - of the second")
    java.leave(first)
    java.leave(second)
    java._say("INFO a.B - after all")
    assert of_first.lines == ["WARNING WARN a.B - of the first"]
    assert of_second.lines == ["ERROR ERROR a.B - of the second"]
    said = ["INFO a.B - before any", "WARN a.B - of either", "INFO a.B - after all"]
    assert capsys.readouterr().err.splitlines() == said


def test_an_exception_has_the_level_of_its_line_and_where_it_was_raised_is_for_developers() -> None:
    java = JavaLog()
    log, kept = log_of("alone")
    java.follow(log)
    for line in ("WARN a.B - it fails", "a.E: why", "\tat a.B.c(B.java:7)", "\t... 3 more", "", "DEBUG a.B - little"):
        java._say(line)
    assert kept.lines == [
        "WARNING WARN a.B - it fails",
        "WARNING a.E: why",
        "DEBUG \tat a.B.c(B.java:7)",
        "DEBUG \t... 3 more",
        "DEBUG DEBUG a.B - little",
    ]


def test_a_line_that_is_too_long_is_cut_between_characters_and_what_is_no_text_is_shown_as_bytes() -> None:
    java = JavaLog()
    log, kept = log_of("long")
    java.follow(log)
    reading, writing = os.pipe()
    for line in ("x" + "ü" * 12_000).encode(), b"\xff":
        os.write(writing, line + b"\n")
    os.close(writing)
    java._read(reading)
    assert kept.lines == ["INFO x" + "ü" * 9_999, "INFO " + "ü" * 2_001, "INFO \\xff"]
