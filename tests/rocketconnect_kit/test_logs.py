import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rocketconnect_kit import logs


@pytest.fixture(autouse=True)
def _restore_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    captured = capsys.readouterr()
    assert captured.out == ""
    return [json.loads(line) for line in captured.err.splitlines()]


def test_json_logs_carry_service_level_and_fields(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("config", "INFO", "json")
    logs.get_logger("a.b").info("stored", connector="c", revision=3)
    logs.get_logger("a.b").debug("not shown")
    (line,) = lines(capsys)
    assert (line["event"], line["service"], line["level"], line["connector"], line["revision"]) == (
        "stored",
        "config",
        "info",
        "c",
        3,
    )


def test_logs_for_people_are_one_line_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("config", "INFO", "text")
    logs.get_logger("a.b").warning("100% of %s", cause="no way", empty="", revision=3)
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"\S+Z \[warning  \] 100% of %s +\[a\.b\] cause='no way' empty='' revision=3 service=config",
        line,
    )


def test_what_json_does_not_know_is_logged_as_it_shows_itself(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("config", "INFO", "json")
    logs.get_logger("a.b").error("lost", path=Path("/x"), names={1: ("a", "b")})
    (line,) = lines(capsys)
    assert (line["path"], line["names"]) == (repr(Path("/x")), {"1": ["a", "b"]})


def test_logs_of_libraries_come_out_in_the_same_form(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("config", "INFO", "json")
    logging.getLogger("some.library").warning("careful with %s", "this")
    assert lines(capsys)[0]["event"] == "careful with this"


def test_secret_sounding_keys_and_passwords_in_urls_are_hidden_at_any_depth(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("config", "INFO", "json")
    logs.get_logger("x").info(
        "connecting to jdbc://u:hunter2@h/d", db_password="hunter2", config={"api-key": "hunter2", "url": "a://u:hunter2@h"}
    )
    text = json.dumps(lines(capsys))
    assert "hunter2" not in text
    assert "jdbc://u:***@h/d" in text


def test_tracebacks_are_logged_without_local_variables_and_url_passwords(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("config", "INFO", "text")
    local_secret = "swordfish" * 2
    try:
        msg = "no route to db://u:hunter2@h"
        raise OSError(msg)
    except OSError:
        logs.get_logger("x").exception("failed")
    text = capsys.readouterr().err
    assert "OSError" in text
    assert "hunter2" not in text
    assert local_secret not in text
