"""The commands `rocketconnect plugins`: what they show of what executors tell."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from rocketconnect_cli.commands.root import app
from rocketconnect_kit.java import jars
from rocketconnect_kit.java.errors import JarsUnavailable
from rocketconnect_kit.java.ivy import Coordinates
from tests.rocketconnect_cli.conftest import RestFactory

SINK = {
    "name": "file_sink",
    "aliases": ["FileSink"],
    "type": "PLUGIN_TYPE_SINK",
    "package": "rocketconnect",
    "version": "0.1.0",
    "summary": "Lines into a file.",
    "documentation": "One file has one writer.",
    "guarantee": "EXACTLY_ONCE",
    "engines": ["spark", "native"],
    "options": [
        {"key": "filename", "type": "string", "required": True, "documentation": "The path.", "aliases": ["path"]},
        {"key": "mode", "type": "string", "defaultValue": "new", "documentation": "How.", "choices": ["new", "append"]},
        {"key": "rows", "type": "int", "documentation": "How many.", "minimum": "1", "maximum": "9"},
        {"key": "least", "type": "int", "minimum": "1"},
        {"key": "most", "type": "duration", "maximum": "1m"},
        {"key": "password", "type": "string", "secret": True, "documentation": "For the target."},
    ],
}
FILTER = {"name": "drop_some", "type": "PLUGIN_TYPE_TRANSFORM", "package": "weather-connect", "version": "2.1", "summary": "Drops."}


def run(*words: str) -> Result:
    result = CliRunner().invoke(app, ["plugins", *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def listing(*plugins: dict[str, Any]) -> dict[str, Any]:
    return {"plugins": plugins, "nextPageToken": ""}


@pytest.mark.parametrize("words", [(), ("list",)])
@pytest.mark.parametrize("more", [(), ("-o", "json")])
def test_plugins_without_a_command_lists_them(rest_factory: RestFactory, words: tuple[str, ...], more: tuple[str, ...]) -> None:
    rest = rest_factory(200, listing(SINK, FILTER))
    result = run(*words, *more, "--url", rest.url)
    assert result.exit_code == 0
    if more:
        assert json.loads(result.stdout) == {"plugins": [SINK, FILTER]}
    else:
        assert [line.split() for line in result.stdout.splitlines()[1:]] == [
            ["file_sink", "sink", "0.1.0", "EXACTLY_ONCE", "Lines", "into", "a", "file."],
            ["drop_some", "transform", "2.1", "-", "Drops."],
        ]


@pytest.mark.parametrize("name", ["file_sink", "FileSink"])
def test_a_plugin_is_shown_with_all_that_is_to_be_said_of_it_and_of_its_options(rest_factory: RestFactory, name: str) -> None:
    rest = rest_factory(200, listing(FILTER, SINK))
    result = run("show", name, "--url", rest.url)
    assert result.exit_code == 0
    assert [" ".join(line.split()) for line in result.stdout.splitlines()] == [
        "file_sink: sink, version 0.1.0 of rocketconnect",
        "Lines into a file.",
        "One file has one writer.",
        "",
        "configured as connector.class=file_sink",
        "also known as FileSink",
        "delivery EXACTLY_ONCE",
        "engines spark, native",
        "",
        "OPTION TYPE DEFAULT WHAT IT DOES",
        "filename string required The path. Also path.",
        "mode string new How. One of new, append.",
        "rows int How many. From 1 to 9.",
        "least int At least 1.",
        "most duration At most 1m.",
        "password string For the target. A secret: a reference such as ${env:NAME}.",
    ]


@pytest.mark.parametrize("name", ["file_sink", "FileSink"])
@pytest.mark.parametrize("more", [(), ("-o", "json")])
def test_an_example_of_a_plugin_is_a_file_for_apply(rest_factory: RestFactory, name: str, more: tuple[str, ...]) -> None:
    rest = rest_factory(200, listing(FILTER, SINK))
    result = run("show", name, "--example", *more, "--url", rest.url)
    assert result.exit_code == 0
    if more:
        assert json.loads(result.stdout) == {
            "name": "file-sink",
            "config": {"connector.class": "file_sink", "filename": "filename"},
        }
    else:
        assert result.stdout.splitlines() == [
            "# Put your own values in, then: rocketconnect apply -f FILE. All options: rocketconnect plugins show file_sink",
            "name: file-sink",
            "config:",
            "  # Lines into a file.",
            "  connector.class: file_sink",
            "  # The path.",
            "  filename: filename",
        ]


def test_what_people_can_tell_the_tasks_of_a_source_is_shown_behind_its_options(rest_factory: RestFactory) -> None:
    table = {"key": "tables", "type": "list", "required": True, "documentation": "Which."}
    signals = [{"name": "snapshot", "documentation": "Reads tables again.", "arguments": [table]}, {"name": "resume"}]
    rest = rest_factory(200, listing({"name": "cdc", "type": "PLUGIN_TYPE_SOURCE", "signals": signals}))
    result = run("show", "cdc", "--url", rest.url)
    assert [" ".join(line.split()) for line in result.stdout.splitlines()][-7:] == [
        "It has no options.",
        "",
        "signal snapshot: Reads tables again.",
        "ARGUMENT TYPE DEFAULT WHAT IT SAYS",
        "tables list required Which.",
        "",
        "signal resume:",
    ]


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("CONVERTER", "value.converter=drop_some, its options behind value.converter."),
        ("TRANSFORM", "transforms=NAME and transforms.NAME.type=drop_some, its options behind transforms.NAME."),
        ("PREDICATE", "predicates=NAME and predicates.NAME.type=drop_some, its options behind predicates.NAME."),
        ("DIRECT", "connector.class=drop_some, and the options of its source and its sink behind source. and sink."),
    ],
)
def test_a_plugin_of_every_kind_says_how_a_configuration_names_it(rest_factory: RestFactory, kind: str, how: str) -> None:
    rest = rest_factory(200, listing({**FILTER, "type": f"PLUGIN_TYPE_{kind}"}))
    lines = run("show", "drop_some", "--url", rest.url).stdout.splitlines()
    assert lines == [
        f"drop_some: {kind.lower()}, version 2.1 of weather-connect",
        "Drops.",
        "",
        f"configured as  {how}",
        "",
        "It has no options.",
    ]


def test_a_plugin_that_nobody_offers_is_not_found(rest_factory: RestFactory) -> None:
    result = run("show", "nothing", "--url", rest_factory(200, listing(SINK)).url)
    assert result.exit_code == 3
    assert "no executor offers a plugin nothing" in result.stderr


@pytest.mark.parametrize(
    ("name", "near"), [("file_sin", "file_sink"), ("FileSnk", "file_sink"), ("drop", "drop_some"), ("SINK", "file_sink")]
)
def test_the_nearest_names_are_told_instead(rest_factory: RestFactory, name: str, near: str) -> None:
    result = run("show", name, "--url", rest_factory(200, listing(SINK, FILTER)).url)
    assert result.exit_code == 3
    assert result.stderr == f"Error: no executor offers a plugin {name}. Did you mean {near}?\n"


def test_options_that_others_have_as_well_stand_behind_its_own_under_headings(rest_factory: RestFactory) -> None:
    groups = {"tasks.max": "common", "topics": "sink", "value.converter": "converters"}
    options = [{"key": "filename"}, *({"key": key, "group": group} for key, group in groups.items())]
    result = run("show", "file_sink", "--url", rest_factory(200, listing({**SINK, "options": options})).url)
    words = [line.split()[0] if line.startswith(("filename", *groups)) else line for line in result.stdout.splitlines()]
    shown = [line for line in words[words.index("filename") :] if line and not line.startswith("OPTION")]
    headings = [
        "Of every sink:",
        "topics",
        "Of every source and every sink:",
        "value.converter",
        "Of all of its type:",
        "tasks.max",
    ]
    assert shown == ["filename", *headings]


def test_in_a_pipe_nothing_is_cut_and_no_line_ends_with_blanks(rest_factory: RestFactory) -> None:
    long = "word " * 200 + "end."
    options = [{"key": "a" * 150, "documentation": long}, {"key": "short", "documentation": "Short."}]
    result = run("show", "file_sink", "--url", rest_factory(200, listing({**SINK, "options": options})).url)
    lines = result.stdout.splitlines()
    assert any("a" * 150 in line and line.endswith("word end.") for line in lines)
    assert [line for line in lines if line != line.rstrip()] == []


def test_the_help_of_plugins_shows_its_commands() -> None:
    result = CliRunner().invoke(app, ["plugins", "--help"])
    assert result.exit_code == 0
    assert "reload" in result.stdout


def test_what_a_connector_needs_of_spark_is_put_into_the_cache_before_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = []

    def fetch(pinned: Mapping[Coordinates, str], work: Path, **_: object) -> Path:
        fetched.append(dict(pinned))
        folder = work / "fetched"
        folder.mkdir(parents=True)
        for jar in pinned:
            (folder / jar.file_name).write_bytes(b"jar")
        return folder

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jars, "download", fetch)
    monkeypatch.setattr(jars, "sha256", lambda path: {jar.file_name: digest for jar, digest in fetched[0].items()}[path.name])
    for _ in range(2):
        result = run("install", "delta_sink")
        assert (result.exit_code, result.stdout) == (0, f"Delta Lake 4.4.0 is in {tmp_path}/rocketconnect/delta-4.4.0\n")
    assert len(fetched) == 1, "what is there is not fetched again"
    assert any(path.name.startswith("delta-spark") for path in (tmp_path / "rocketconnect/delta-4.4.0").iterdir())


def test_a_connector_that_needs_nothing_and_one_that_is_not_there_are_told() -> None:
    assert run("install", "file_sink").stdout == "file_sink needs nothing that is not installed.\n"
    result = run("install", "delta")
    assert result.exit_code == 2
    assert "delta is not a connector of this worker. Use one of" in result.stderr


@pytest.mark.parametrize("name", ["delta", "hudi", "iceberg"])
def test_without_a_repository_it_is_said_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def away(*_: object, **__: object) -> Path:
        msg = "connection refused"
        raise JarsUnavailable(msg)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jars, "download", away)
    result = run("install", f"{name}_sink")
    assert result.exit_code == 5
    assert f"put the jars into a folder by hand and set ROCKETCONNECT_{name.upper()}_JARS=FOLDER" in result.stderr
    assert "connection refused" in result.stderr
