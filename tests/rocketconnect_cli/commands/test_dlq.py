"""Dead letters of packed rows on the command line: rows for people, and what they write back."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from rocketconnect_cli.commands.dead_letters import discard
from rocketconnect_cli.commands.root import app
from tests.rocketconnect_cli.conftest import Rest, RestFactory

LETTER = {"id": "b:0:7", "storeTime": "", "task": 0, "stage": "", "error": "", "message": "", "replays": 0, "edition": "b:0:8"}
COLUMNS = [{"name": "id", "type": "int64"}, {"name": "name", "type": "string"}]
BODY = b"\xff\xff\xff\xff packed"


def letter(*values: dict[str, Any], count: int | None = None, problem: str = "") -> dict[str, Any]:
    rows = [{"value": json.dumps(value), "problem": "", "key": f"k{number}"} for number, value in enumerate(values)]
    packed = {"columns": COLUMNS, "rows": rows, "count": len(rows) if count is None else count, "problem": problem}
    return {"deadLetter": LETTER, "body": base64.b64encode(BODY).decode(), "trace": "", "packed": packed}


def run(rest: Rest, *words: str, given: str | bytes = "") -> Result:
    return CliRunner().invoke(app, ["dlq", *words, "--url", rest.url], input=given)


def sent(rest: Rest) -> dict[str, Any]:
    assert rest.asked[-1].startswith("POST")
    return dict(json.loads(rest.sent[-1]))


def test_a_row_is_shown_as_a_table_of_its_columns(rest_factory: RestFactory) -> None:
    shown = run(rest_factory(200, letter({"id": 1, "name": "null"})), "show", "c", "b:0:7").stdout
    assert "key of the row: k0" in shown
    assert [line.split() for line in shown.splitlines()[-3:]] == [
        ["COLUMN", "TYPE", "VALUE"],
        ["id", "int64", "1"],
        ["name", "string", '"null"'],
    ]
    assert "packed" not in shown


def test_several_rows_are_shown_line_by_line_with_how_many_more_there_are(rest_factory: RestFactory) -> None:
    lines = run(rest_factory(200, letter({"id": 1}, {"id": 2}, count=1_300)), "show", "c", "b:0:7").stdout.splitlines()
    assert lines[-5:] == [
        'row 1 of 1,300: {"id": 1}',
        "  key of the row: k0",
        'row 2 of 1,300: {"id": 2}',
        "  key of the row: k1",
        "... and 1,298 more",
    ]


def test_rows_that_nobody_can_read_are_shown_with_the_reason(rest_factory: RestFactory) -> None:
    assert (
        "its rows can't be read: it is cut"
        in run(rest_factory(200, letter(count=0, problem="it is cut")), "show", "c", "b:0:7").stdout
    )


def test_what_rows_shows_is_what_edit_takes(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, letter({"id": 1, "name": "a\u202eb \x9b :smile:"}))
    written = run(rest, "show", "c", "b:0:7", "--rows").stdout
    assert json.loads(written) == {"id": 1, "name": "a\u202eb \x9b :smile:"}
    assert written.isascii()
    result = run(rest, "edit", "c", "b:0:7", "-f", "-", given=written)
    assert (result.exit_code, "the rows are as before: nothing is stored" in result.stderr) == (2, True)
    assert run(rest, "edit", "c", "b:0:7", "-f", "-", given=written.replace("1", "2")).exit_code == 0
    assert json.loads(sent(rest)["rows"])["id"] == 2
    assert "body" not in sent(rest)


def test_several_rows_are_edited_as_an_array(rest_factory: RestFactory) -> None:
    assert json.loads(run(rest_factory(200, letter({"id": 1}, {"id": 2})), "show", "c", "b:0:7", "--rows").stdout) == [
        {"id": 1},
        {"id": 2},
    ]


def test_an_editor_gets_the_rows_as_json(rest_factory: RestFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\ncase "$1" in *.json) sed -i "s/1/5/" "$1";; esac\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    rest = rest_factory(200, letter({"id": 1, "name": None}))
    assert run(rest, "edit", "c", "b:0:7").exit_code == 0
    assert json.loads(sent(rest)["rows"]) == {"id": 5, "name": None}


def test_with_body_the_bytes_are_edited(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, letter({"id": 1}))
    assert run(rest, "edit", "c", "b:0:7", "--body", "-f", "-", given=b"\xff other").exit_code == 0
    assert base64.b64decode(sent(rest)["body"]) == b"\xff other"
    assert run(rest, "show", "c", "b:0:7", "--body").stdout_bytes == BODY


def unread(**more: str) -> dict[str, Any]:
    """A line that a source could not read."""
    found = {**LETTER, "stage": "STAGE_POLL", "edition": "", **more}
    body = base64.b64encode(b"1,a,b").decode()
    return {"deadLetter": found, "body": body, "trace": "", "notes": {"source.partition": "p"}}


def test_what_a_source_could_not_read_is_shown_and_edited_as_its_text(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, unread())
    assert run(rest, "show", "c", "b:0:7").stdout.splitlines()[-2:] == ["What the source could not read:", "1,a,b"]
    assert run(rest, "edit", "c", "b:0:7", "-f", "-", given="1,a").exit_code == 0
    assert {name: base64.b64decode(text) for name, text in sent(rest).items() if name in ("body", "record")} == {"record": b"1,a"}


@pytest.mark.parametrize(
    ("found", "options"),
    [
        (unread(), ["--body"]),
        (unread(edition="b:0:8"), []),
        (unread(stage="STAGE_CONVERT"), []),
        ({**unread(), "notes": {}}, []),
    ],
)
def test_a_message_of_the_topic_is_given_as_a_body(rest_factory: RestFactory, found: dict[str, Any], options: list[str]) -> None:
    rest = rest_factory(200, found)
    assert run(rest, "edit", "c", "b:0:7", "-f", "-", *options, given="{}").exit_code == 0
    assert "record" not in sent(rest)
    assert base64.b64decode(sent(rest)["body"]) == b"{}"


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (letter({"id": 1}, count=5_000), "it has 5,000 rows, of which 1 are shown"),
        (letter(count=0, problem="it is cut"), "it is cut"),
        ({**letter(), "packed": None}, "its body is no packed message"),
    ],
)
def test_rows_that_are_not_all_there_can_not_be_written_as_json(
    rest_factory: RestFactory, found: dict[str, Any], told: str
) -> None:
    result = run(rest_factory(200, found), "show", "c", "b:0:7", "--rows")
    assert result.exit_code == 2
    assert f"its rows can't be written as JSON: {told}. --body takes its bytes." in result.stderr


def test_rows_that_are_no_text_are_refused_before_anything_is_sent(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, letter({"id": 1}))
    result = run(rest, "edit", "c", "b:0:7", "-f", "-", given=b"\xff\xff\xff\xff packed")
    assert (result.exit_code, "JSON in UTF-8" in result.stderr, len(rest.asked)) == (2, True, 1)


def test_letters_are_given_up_when_somebody_says_so(rest_factory: RestFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    rest = rest_factory(200, {"count": "2", "topic": "dead"})
    nobody = run(rest, "discard", "c", "b:0:7-8")
    assert nobody.exit_code == 2
    assert "2 dead letters of c would be given up, and nobody can be asked here: say --yes" in nobody.stderr
    assert [json.loads(each).get("dryRun") for each in rest.sent] == [True]
    monkeypatch.setattr(discard, "is_asked", lambda: True)
    assert (run(rest, "discard", "c", "b:0:7-8", given="n\n").exit_code, len(rest.sent)) == (2, 2)
    done = run(rest, "discard", "c", "b:0:7-8", given="y\n")
    assert "2 dead letters discarded; they stay in dead until RocketMQ removes them\n" in done.stdout
    assert rest.asked[-1] == "POST /v1/connectors/c/deadLetters:discard"
    assert {**sent(rest), "author": ""} == {"ids": ["b:0:7-8"], "all": False, "author": ""}


def test_all_letters_that_the_filters_choose_are_given_up_and_nothing_is_asked_with_yes(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, {"count": "0", "topic": "dead"})
    done = run(rest, "discard", "c", "--all", "--stage", "convert", "--yes")
    assert done.stdout.startswith("there is nothing to discard")
    assert len(rest.sent) == 1
    assert {**sent(rest), "author": ""} == {"ids": [], "all": True, "stage": "STAGE_CONVERT", "author": ""}
    assert run(rest, "discard", "c").exit_code == run(rest, "discard", "c", "b:0:1", "--all").exit_code == 2


def test_a_letter_that_was_given_up_is_listed_as_that(rest_factory: RestFactory) -> None:
    row = {**LETTER, "discardedTime": "2026-01-01T10:00:00Z"}
    rest = rest_factory(200, {"deadLetters": [row], "nextPageToken": ""})
    assert re.search(r" discarded \d+d ", run(rest, "list", "c").stdout)


def test_an_empty_list_says_which_topic_was_looked_into(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, {"deadLetters": [], "nextPageToken": ""})
    shown = " ".join(run(rest, "list", "c").stdout.split())
    assert shown.startswith("There are none in the topic that errors.deadletterqueue.topic.name of c names now. Those in a topic")
    assert "There are none that these filters choose in the topic" in " ".join(run(rest, "list", "c", "--task", "1").stdout.split())
    assert json.loads(run(rest, "list", "c", "-o", "json").stdout) == {"deadLetters": [], "more": False}
