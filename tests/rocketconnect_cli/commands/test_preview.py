"""`rocketconnect preview`: what it asks, and what people see."""

import json
from pathlib import Path

from typer.testing import CliRunner

from rocketconnect_cli.commands.root import app
from tests.rocketconnect_cli.conftest import RestFactory

_SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"field": "id", "type": "int64"},
            {"field": "price", "type": "bytes", "name": "io.x.logical.Decimal", "optional": True},
        ],
    }
)
_READ = {"name": "read", "plugin": "file_source", "record": {"value": "a,b", "hasValue": True, "topic": "t", "key": "k"}}
_CAST = {"name": "types", "plugin": "cast", "record": {"value": '{"id": 1, "price": 2.5}', "hasValue": True, "schema": _SCHEMA}}
_ANSWER = {
    "problems": [],
    "plugin": "file_source",
    "records": [
        {"position": "p: 1", "steps": [_READ, _CAST, {"name": "small", "plugin": "filter", "dropped": True}]},
        {"position": "p: 2", "steps": [_READ, {"name": "types", "plugin": "cast", "problem": "ValueError: 'x' is no number"}]},
        {"position": "p: 3", "steps": [{"name": "read", "plugin": "json", "record": {"topic": "t"}}]},
    ],
    "trouble": "the source is gone",
}


def run(*words: str) -> tuple[int, str, str]:
    answer = CliRunner().invoke(app, ["preview", *words])
    return answer.exit_code, answer.stdout, answer.stderr


def test_each_step_is_shown_with_what_was_before_it_and_what_is_behind_it(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, _ANSWER)
    code, out, _ = run("-s", "connector.class=file_source", "-n", "3", "--url", rest.url)
    assert code == 0
    assert rest.asked == ["POST /v1/connectors:preview"]
    assert json.loads(rest.sent[0]) == {"name": "", "config": {"connector.class": "file_source"}, "records": 3}
    lines = [line.strip() for line in out.splitlines()]
    text = " ".join(" ".join(lines).replace("│", " ").replace("┃", " ").split())
    for part in ("STEP BEFORE AFTER", "p: 1", "a,b", "[topic] t", "[key] k", "id = 1 : int64", "price = 2.5 : bytes Decimal?"):
        assert part in text, text
    for part in ("small", "dropped", "p: 2", "can't be done: ValueError: 'x' is no number", "(no value: a tombstone)"):
        assert part in text, text
    assert "There are no more: the source is gone" in text


def test_what_keeps_nothing_from_being_shown_is_told_beside_it(rest_factory: RestFactory) -> None:
    warning = {"key": "columns", "value": "infer", "reason": "finds id int64", "fix": "They are kept."}
    rest = rest_factory(200, {**_ANSWER, "warnings": [warning]})
    code, out, err = run("-s", "connector.class=file_source", "--url", rest.url)
    assert (code, "p: 1" in out) == (0, True)
    assert err == "Warning: columns: finds id int64 (given: 'infer')\n    -> They are kept.\n"


def test_a_long_value_is_cut_in_the_table_and_whole_in_json(rest_factory: RestFactory) -> None:
    message = {"name": "message", "plugin": "arrow", "record": {"value": "base64:" + "A" * 5_000, "hasValue": True}}
    rest = rest_factory(200, {"problems": [], "records": [{"position": "p: 1", "steps": [message]}]})
    _, out, _ = run("-s", "connector.class=x", "--url", rest.url)
    assert (out.count("A") < 500, "(5,007 characters; -o json has all)" in out.replace("│", " ").replace("\n", "")) == (
        True,
        True,
    ), out
    rest = rest_factory(200, {"problems": [], "records": [{"position": "p: 1", "steps": [message]}]})
    assert "A" * 5_000 in run("-s", "connector.class=x", "-o", "json", "--url", rest.url)[1]


def test_scripts_get_the_answer_as_it_is(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, _ANSWER)
    code, out, _ = run("-s", "connector.class=x", "-o", "json", "--url", rest.url)
    assert (code, json.loads(out)["records"][1]["position"]) == (0, "p: 2")


def test_a_value_does_not_steer_the_terminal(rest_factory: RestFactory) -> None:
    read = {"name": "read", "plugin": "x", "record": {"value": "a\x1b[2Jb", "hasValue": True, "topic": "t"}}
    rest = rest_factory(200, {**_ANSWER, "records": [{"position": "p: 1", "steps": [read]}]})
    _, out, _ = run("-s", "connector.class=file_source", "--url", rest.url)
    assert "\x1b" not in out
    assert r"a\x1b[2Jb" in out


def test_all_connectors_of_a_file_are_shown(rest_factory: RestFactory, tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text("name: a\nconfig: {connector.class: x}\n---\nname: b\nconfig: {connector.class: y}\n")
    rest = rest_factory(200, {"plugin": "x", "problems": [], "records": []})
    code, out, _ = run("-f", str(file), "-s", "topic=t", "--url", rest.url)
    assert code == 0
    sent = [json.loads(each) for each in rest.sent]
    assert [(each["name"], each["config"]) for each in sent] == [
        ("a", {"connector.class": "x", "topic": "t"}),
        ("b", {"connector.class": "y", "topic": "t"}),
    ]
    assert out.count("There are no records to show") == 2


def test_what_is_wrong_is_told_and_the_exit_code_says_so(rest_factory: RestFactory, tmp_path: Path) -> None:
    problem = {"key": "topic", "reason": "is required", "fix": "Give it."}
    rest = rest_factory(200, {"problems": [problem], "records": []})
    code, out, err = run("-s", "connector.class=x", "--url", rest.url)
    assert (code, out) == (2, "")
    assert "topic: is required" in err
    assert run("--url", rest.url)[0] == 2
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: [\n")
    assert run("-f", str(broken), "--url", rest.url)[0] == 2


def test_a_sink_is_previewed_with_the_source_of_the_file_that_is_to_send_to_its_topic(
    rest_factory: RestFactory, tmp_path: Path
) -> None:
    file = tmp_path / "three.yaml"
    file.write_text(
        "name: in\nconfig: {connector.class: x, topic: t}\n---\n"
        "name: out\nconfig: {connector.class: y, topics: 'u, t'}\n---\n"
        "name: other\nconfig: {connector.class: y, connect.topicnames: v}\n"
    )
    rest = rest_factory(200, {"plugin": "x", "problems": [], "records": []})
    assert run("-f", str(file), "--url", rest.url)[0] == 0
    sources = {each["name"]: each.get("source") for each in map(json.loads, rest.sent)}
    assert sources == {"in": None, "out": {"connector.class": "x", "topic": "t"}, "other": None}


def test_what_is_to_be_expected_is_told_as_a_note(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, {**_ANSWER, "notes": ["columns: finds id int64. They are kept."]})
    assert run("-s", "connector.class=x", "--url", rest.url)[2] == "Note: columns: finds id int64. They are kept.\n"
