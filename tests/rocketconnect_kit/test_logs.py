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
    assert (line["message"], line["service"], line["level"], line["connector"], line["revision"]) == (
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
    assert lines(capsys)[0]["message"] == "careful with this"


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


NASTY = [
    '"',
    "\\",
    "a\nb",
    "\r\n",
    "\x00\x1b[31m\x85",
    "\u2028\u2029",
    "\ud800",
    "你好 مرحبا",
    '"}\n{"level":"forged"}',
    float("nan"),
    1e999,
]


@pytest.mark.parametrize("value", NASTY)
def test_no_value_breaks_a_line_of_json_or_stands_where_another_belongs(
    capsys: pytest.CaptureFixture[str], value: str | float
) -> None:
    logs.configure("config", "INFO", "json")
    logs.get_logger("a").info(str(value), **{"field": value, str(value): [{("a", value): value}]})
    text = capsys.readouterr().err
    assert text.isascii()
    assert text.count("\n") == 1
    line = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert (line["level"], line["logger"], line["service"]) == ("info", "a", "config")
    if isinstance(value, str) and value != "\ud800":
        assert (line["message"], line["field"]) == (value, value)


@pytest.mark.parametrize("value", [each for each in NASTY if isinstance(each, str) and each != "\ud800"])
def test_no_value_begins_a_line_of_text_or_tells_a_terminal_anything(capsys: pytest.CaptureFixture[str], value: str) -> None:
    logs.configure("config", "INFO", "text")
    logs.get_logger("a").info(value, field=value)
    first, *further = capsys.readouterr().err.removesuffix("\n").split("\n")
    assert re.match(r"\S+Z \[info", first)
    assert all(line.startswith("    ") for line in further)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", "".join((first, *further)))


class _Unshown:
    def __repr__(self) -> str:
        msg = "not now"
        raise RuntimeError(msg)


def test_what_cannot_be_shown_or_refers_to_itself_is_logged_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    endless: list[object] = []
    endless.append({"password": "hunter2", "in": endless})
    for form in ("json", "text"):
        logs.configure("config", "INFO", form)
        logs.get_logger("a").info("said", broken=_Unshown(), endless=endless)
        text = capsys.readouterr().err
        assert "<_Unshown: RuntimeError>" in text
        assert "hunter2" not in text


def test_fields_do_not_take_the_names_that_every_line_has(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("config", "INFO", "json")
    logs.pass_on("a", logging.WARNING, "said", created=1.5, exception="at\n  db://u:hunter2@h", time=3, level="x", message="y")
    (line,) = lines(capsys)
    assert (line["time"], line["level"], line["message"]) == ("1970-01-01T00:00:01.500000Z", "warning", "said")
    assert (line["time_"], line["level_"], line["message_"]) == (3, "x", "y")
    assert line["exception"] == "at\n  db://u:***@h"


def test_what_is_to_be_said_always_is_in_each_line_of_the_process(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_always", {})
    logs.configure("executor", "INFO", "json")
    logs.say_always(worker="w1")
    logging.getLogger("some.library").warning("careful")
    logs.get_logger("a").info("registered", worker="w2")
    assert [line["worker"] for line in lines(capsys)] == ["w1", "w2"]
