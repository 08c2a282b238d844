"""Connectors as files, and everything that can be wrong with them, each with its place."""

from pathlib import Path

import pytest

from rocketconnect_cli.documents import reading as documents
from rocketconnect_cli.documents.reading import Document

GOOD = "name: a\nconfig: {connector.class: file_source}\n"


def read(*paths: Path) -> list[Document]:
    found, problems = documents.read(paths)
    assert problems == []
    return found


def problems(*paths: Path) -> list[str]:
    return [f"{problem['key']}: {problem['reason']}" for problem in documents.read(paths)[1]]


def test_a_folder_is_all_its_files_by_name_whatever_their_form(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("""
name: one
config:
  connector.class: file_source
  mode: 0777
  answer: no
  when: 2026-01-01
  text: "a: b\\u00e9"
  empty: ""
wanted_state: paused
---
# Nothing stands here.
---
name: two
config: {connector.class: file_sink}
""")
    (tmp_path / "b.json").write_text(
        '{"name": "three", "uid": "u", "revision": "3", "etag": "1", "type": "CONNECTOR_TYPE_SINK", "applySet": "",'
        ' "wantedState": "WANTED_STATE_STOPPED", "config": {"connector.class": "x", "max.tasks": 2, "r": 1.50, "on": true}}'
    )
    (tmp_path / "four.properties").write_text("# comment\nconnector.class=file_sink\npath = /a b\n")
    (tmp_path / ".hidden.yaml").write_text("]")
    (tmp_path / "README.md").write_text("]")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "c.yaml").write_text("]")
    strange = {"mode": "0777", "answer": "no", "when": "2026-01-01", "text": "a: bé", "empty": ""}
    assert read(tmp_path, tmp_path / "a.yaml") == [
        Document("one", {"connector.class": "file_source", **strange}, "PAUSED", f"{tmp_path}/a.yaml:2"),
        Document("two", {"connector.class": "file_sink"}, "", f"{tmp_path}/a.yaml:14"),
        Document("three", {"connector.class": "x", "max.tasks": "2", "r": "1.50", "on": "true"}, "STOPPED", f"{tmp_path}/b.json"),
        Document("four", {"connector.class": "file_sink", "path": "/a b"}, "", f"{tmp_path}/four.properties"),
    ]


def test_each_of_many_documents_in_one_file_is_itself(tmp_path: Path) -> None:
    file = tmp_path / "many.yaml"
    file.write_text("".join(f"---\n# comment\n---\nname: c{each}\nconfig: {{topic: t{each}}}\n" for each in range(200)))
    assert [(document.name, document.config) for document in read(file)] == [
        (f"c{each}", {"topic": f"t{each}"}) for each in range(200)
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: a\nconfig: {x: [}\n", ["{f}:2:14: is not valid YAML: while parsing a flow node"]),
        ("name: a\n\tconfig: 1\n", ["{f}:2:1: is not valid YAML: while scanning for the next token"]),
        ("", ["{f}: holds no connector"]),
        ("# nothing\n---\n", ["{f}: holds no connector"]),
        ("- a\n", ["{f}:1: is no connector"]),
        ("connector.class: file_source\nname: a\n", ["{f}:1: has the options of a connector beside its name"]),
        ("config: {x: 1}\n", ["{f}:1: name: is missing"]),
        ("name: a\n", ["{f}:1: config: is missing"]),
        ("name: ~\nconfig: {}\n", ["{f}:1: name: is missing", "{f}:2: config: is empty"]),
        ("name: a\nconfig: hello\n", ["{f}:2: config: is not a mapping"]),
        ("name: a\nconfig: [x]\n", ["{f}:2: config: is not a mapping"]),
        (GOOD + "colour: red\nstate: on\n", ["{f}:3: colour: is not known", "{f}:4: state: is not known"]),
        (GOOD + "wanted_state: asleep\n", ["{f}:3: wanted_state: is none"]),
        (GOOD + "wanted_state: [RUNNING]\n", ["{f}:3: wanted_state: is none"]),
        (GOOD + "wanted_state: RUNNING\nwantedState: RUNNING\n", ["{f}:4: wanted_state: is given twice"]),
        (GOOD + "name: b\n", ["{f}:3: name: is given twice, first at {f}:1"]),
        ("name: a\nconfig:\n  x: 1\n  y:\n  z: [1]\n  w: {v: 1}\n", [
            "{f}:4: config y: has no value",
            "{f}:5: config z: is neither a text nor a number",
            "{f}:6: config w: is neither a text nor a number",
        ]),
        ("name: a\nconfig: &a\n  x: *a\n", ["{f}: is not valid YAML: nested too deep"]),
        ("a: " + "[" * 5000, ["{f}: is not valid YAML: nested too deep"]),
        ("name: a\0\n", ["{f}: is not valid YAML: unacceptable character #x0000"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_told_with_its_line(tmp_path: Path, text: str, told: list[str]) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(text)
    found = problems(file)
    assert len(found) == len(told)
    for each, expected in zip(found, told, strict=True):
        assert each.startswith(expected.replace("{f}", str(file)))


@pytest.mark.parametrize("wrong", ["wanted_state: asleep\n", "colour: red\n"])
def test_a_connector_whose_configuration_can_be_read_is_given_to_be_checked_whatever_else_is_wrong(
    tmp_path: Path, wrong: str
) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(GOOD + wrong)
    found, told = documents.read([file])
    assert (found, len(told)) == ([Document("a", {"connector.class": "file_source"}, "", f"{file}:1")], 1)


def test_a_path_at_which_nothing_is_is_told_in_plain_words(tmp_path: Path) -> None:
    assert problems(tmp_path / "gone") == [f"{tmp_path}/gone: is no file and no folder"]


def test_aliases_of_aliases_take_no_more_memory_than_they_are_long(tmp_path: Path) -> None:
    lines = ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}" for n in range(1, 60)), GOOD]
    file = tmp_path / "f.yaml"
    file.write_text("\n".join(lines))
    assert len(problems(file)) == 60


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"name": "a",\n "config": {"x": 1,}}', ["{f}:2:20: is not valid JSON"]),
        ('{"name": "a", "name": "b", "config": {"x": null}}', ["{f}: name: is given twice", "{f}: config x: has no value"]),
        ('["a"]', ["{f}: is no connector"]),
        ("[" * 100_000, ["{f}: is not valid JSON: nested too deep"]),
        ('{"name": "a", "config": {"x": "\\ud800"}}', ["{f}: config 'x': is not valid text"]),
    ],
)
def test_what_is_wrong_with_a_json_file_is_told(tmp_path: Path, text: str, told: list[str]) -> None:
    file = tmp_path / "f.json"
    file.write_text(text)
    found = problems(file)
    assert all(each.startswith(expected.replace("{f}", str(file))) for each, expected in zip(found, told, strict=True)), found


def test_two_connectors_of_one_name_are_told_with_both_places(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD + "---\n" + GOOD)
    (tmp_path / "b.json").write_text('{"name": "a", "config": {"x": "1"}}')
    reason = f"is a second connector of the name 'a'; the first is at {tmp_path}/a.yaml:1"
    assert problems(tmp_path) == [f"{tmp_path}/a.yaml:4: {reason}", f"{tmp_path}/b.json: {reason}"]


def test_everything_wrong_with_all_files_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: [")
    (tmp_path / "b.json").write_text("{")
    (tmp_path / "c.properties").write_text("nothing")
    (tmp_path / "d.yaml").write_bytes(b"\xff\xff")
    (tmp_path / "empty").mkdir()
    found = problems(tmp_path, tmp_path / "empty", tmp_path / "gone.yaml")
    names = ["a.yaml:1", "b.json:1", "c.properties:1", "d.yaml: can't be read", "empty: holds no connector files", "gone.yaml"]
    assert [name in each for name, each in zip(names, sorted(found), strict=True)] == [True] * len(names)
