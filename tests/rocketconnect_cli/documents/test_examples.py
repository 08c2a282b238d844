"""Configurations that show how a plugin is used."""

from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from rocketconnect_cli.commands.plugins import kind_of
from rocketconnect_cli.documents import examples, reading
from rocketconnect_sdk.configuration import preflight
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.plugins import loader
from rocketconnect_sdk.plugins.installed import OURS
from services.executor import wire
from services.executor.host.jobs.plugins import find_plugins

_READ_FROM_DISK = {"delta_source": "path", "hudi_source": "path", "iceberg_source": "table"}
"""Sources of what has to be on this machine, with the option that says where it is."""


def told() -> list[dict[str, Any]]:
    """Every plugin as the API tells it."""
    return [MessageToDict(wire.plugin(plugin)) for plugin in find_plugins().plugins]


def read(text: str, folder: Path) -> reading.Document:
    path = folder / "example.yaml"
    path.write_text(text, encoding="utf-8")
    (found,), problems = reading.read([path])
    assert problems == []
    return found


def test_the_example_of_every_plugin_is_a_file_of_apply_that_the_check_of_the_plugin_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "login_is_known", lambda _config: False)  # so no check connects
    wrong = []
    plugins, ours = told(), {info.name for info in loader.plugins() if info.package == OURS}
    for plugin in plugins:
        if plugin["name"] not in ours:
            continue
        settings = examples.settings(plugin, kind_of(plugin), plugins)
        document = read(examples.as_yaml(examples.name_of(plugin), plugin["name"], settings), tmp_path)
        assert examples.as_document(document.name, settings) == {"name": document.name, "config": document.config}
        assert all(setting.comment for setting in settings), plugin["name"]
        for problem in check_connector(document.config).problems:
            lacks = problem.key == "connector.class" and "which this executor does not have" in problem.reason
            if not problem.is_warning and not lacks and problem.key != _READ_FROM_DISK.get(plugin["name"]):
                wrong.append(f"{plugin['name']}: {problem}")
    assert wrong == []


OPTIONS = [
    {"key": "connector.class", "required": True, "group": "common"},
    {"key": "topics", "type": "list", "required": True, "example": "orders", "documentation": "What is read.", "group": "sink"},
    {"key": "flush", "type": "duration", "defaultValue": "1s", "group": "sink"},
    {
        "key": "url",
        "type": "string",
        "required": True,
        "example": "x://127.0.0.1",
        "documentation": "The server.\n\nIts port, too.",
    },
    {"key": "user", "type": "string", "example": "shop"},
    {"key": "api.key", "type": "string", "required": True, "secret": True},
    {"key": "mode", "type": "string", "required": True, "choices": ["", "all", "some"]},
    {"key": "rows", "type": "int", "required": True, "minimum": "5"},
    {"key": "size", "type": "bytes", "required": True},
    {"key": "table", "type": "string", "required": True},
]
PLUGIN = {"name": "my_sink", "summary": "Writes.", "type": "PLUGIN_TYPE_SINK", "options": OPTIONS}


def test_an_example_has_what_is_required_and_what_has_an_example_the_plugins_own_first() -> None:
    assert [(setting.key, setting.value) for setting in examples.settings(PLUGIN, "sink", [])] == [
        ("connector.class", "my_sink"),
        ("url", "x://127.0.0.1"),
        ("user", "shop"),
        ("api.key", "${env:API_KEY}"),
        ("mode", "all"),
        ("rows", "5"),
        ("size", "1MiB"),
        ("table", "table"),
        ("topics", "orders"),
    ]


def test_each_line_of_the_file_has_a_comment_that_says_what_it_does() -> None:
    text = examples.as_yaml("mine", "my_sink", examples.settings({**PLUGIN, "options": OPTIONS[:5]}, "sink", []))
    assert text.splitlines()[1:] == [
        "name: mine",
        "config:",
        "  # Writes.",
        "  connector.class: my_sink",
        "  # The server. Its port, too.",
        "  url: x://127.0.0.1",
        "  user: shop",
        "  # What is read.",
        "  topics: orders",
    ]


@pytest.mark.parametrize(
    "value", ["a: b", "null", "*", "#x", "x:", "-", "'", "é\n", "orders:*", "", "1e3", "a #b", "[1]", "%", "@"]
)
def test_any_value_is_read_back_as_it_is(value: str, tmp_path: Path) -> None:
    text = examples.as_yaml("mine", "my_sink", [examples.Setting("key", value, "What it does.")])
    assert read(text, tmp_path).config == {"key": value}


def test_a_direct_connector_has_a_source_and_a_sink_with_what_these_require() -> None:
    halves = [
        {"key": "source.connector.class", "required": True, "example": "in"},
        {"key": "sink.connector.class", "required": True},
    ]
    source = {"name": "in", "options": [{"key": "file", "required": True}, {"key": "topic", "required": True, "group": "source"}]}
    found = examples.settings({"name": "direct", "options": halves}, "direct", [source])
    assert [setting.key for setting in found] == [
        "connector.class",
        "source.connector.class",
        "source.file",
        "sink.connector.class",
    ]


@pytest.mark.parametrize(("name", "called"), [("my_sink", "my-sink"), ("a.b c", "a-b-c"), ("_", "example")])
def test_the_connector_of_an_example_is_called_like_the_plugin(name: str, called: str) -> None:
    assert examples.name_of({"name": name}) == called
