"""The commands `rocketconnect secret`: what they send, and what they never show."""

import json
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from rocketconnect_cli.commands.root import app
from rocketconnect_kit.sealing import Keys
from tests.rocketconnect_cli.conftest import RestFactory

STORED = {"secret": {"name": "db.password", "updateTime": "2026-01-02T03:04:05Z"}}
CANARY = "hunter2-canary"


def run(*words: str, stdin: bytes = b"") -> Result:
    result = CliRunner().invoke(app, ["secret", *words], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_secret_is_read_from_standard_input_and_not_shown(rest_factory: RestFactory, end: bytes) -> None:
    rest = rest_factory(200, STORED)
    result = run("set", "db.password", "--url", rest.url, stdin=f" {CANARY}\nline 2 ".encode() + end)
    assert (result.exit_code, rest.asked) == (0, ["PUT /v1/secrets/db.password"])
    assert json.loads(rest.sent[0]) == {"value": f" {CANARY}\nline 2 "}
    assert "${keystore:db.password}" in result.stdout
    assert CANARY not in result.output


def test_a_secret_can_not_be_given_on_the_command_line(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, STORED)
    assert run("set", "db.password", CANARY, "--url", rest.url).exit_code == 2
    assert rest.asked == []


def test_what_is_no_text_is_refused(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, STORED)
    result = run("set", "a", "--url", rest.url, stdin=CANARY.encode() + b"\xff")
    assert (result.exit_code, rest.asked) == (2, [])
    assert "not UTF-8" in result.output
    assert CANARY not in result.output


def test_secrets_are_listed_by_name(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, {"secrets": [STORED["secret"]], "nextPageToken": ""})
    result = run("list", "--url", rest.url)
    assert [line.split() for line in result.stdout.splitlines()] == [["NAME", "STORED"], ["db.password", "2026-01-02T03:04:05Z"]]
    assert json.loads(run("list", "-o", "json", "--url", rest.url).stdout) == {"secrets": [STORED["secret"]]}


def test_a_secret_is_deleted(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, {})
    assert run("delete", "a b", "--url", rest.url).exit_code == 0
    assert rest.asked == ["DELETE /v1/secrets/a%20b"]


def test_a_new_key_comes_before_the_others_which_still_open(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    assert run("new-key", str(file)).exit_code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    sealed = Keys.read(file).seal("a", "value")
    result = run("new-key", str(file))
    assert result.exit_code == 0
    assert not [key for key in file.read_text().split() if key in result.output]
    keys = Keys.read(file)
    assert keys.open("a", sealed) == "value"
    assert not keys.is_of_first(sealed)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_where_no_key_can_be_written_it_says_so_and_keeps_what_is_there(tmp_path: Path) -> None:
    result = run("new-key", str(tmp_path / "none" / "keys"))
    assert result.exit_code == 1
    assert "No such file" in result.output
