from pathlib import Path

import pytest

from rocketconnect_sdk.connector_options import (
    check_connector,
    parse_direct,
    parse_sink,
    parse_source,
    sink_options,
    source_options,
)
from rocketconnect_sdk.errors import ConfigError
from rocketconnect_sdk.loader import PluginType, catalogue, find, plugins
from rocketconnect_sdk.options import Kind, Option, parse
from rocketconnect_sdk.sink import Sink
from rocketconnect_sdk.source import Source


def keys(config: dict[str, str]) -> set[str]:
    return {problem.key for problem in check_connector(config).problems}


def test_the_sample_configurations_of_rocketmq_connect_are_right_unchanged(tmp_path: Path) -> None:
    sample = "org.apache.rocketmq.connect.file"
    source = {
        "connector.class": f"{sample}.FileSourceConnector",
        "filename": str(tmp_path / "in"),
        "connect.topicname": "t",
        "max.tasks": "1",
    }
    sink = {
        "connector.class": f"{sample}.FileSinkConnector",
        "filename": str(tmp_path / "out"),
        "connect.topicnames": "t;u",
        "max.tasks": "2",
    }
    checked = check_connector(source)
    assert (checked.plugin, checked.type, checked.problems) == ("file_source", PluginType.SOURCE, [])
    checked = check_connector(sink)
    assert (checked.plugin, checked.type, checked.problems) == ("file_sink", PluginType.SINK, [])
    connector = find(sink["connector.class"])
    assert isinstance(connector, Sink)
    assert parse_sink(connector, sink)["topics"] == ("t", "u")


def test_an_unknown_or_missing_class_is_named_with_those_there_are() -> None:
    for given in ({}, {"connector.class": ""}, {"connector.class": "no.such.Class"}):
        checked = check_connector(given)
        assert (checked.plugin, checked.type) == ("", None)
        assert [problem.key for problem in checked.problems] == ["connector.class"]
    assert "file_source" in check_connector({"connector.class": "x"}).problems[0].fix


def test_all_problems_come_at_once() -> None:
    config = {
        "connector.class": "file_source",
        "max.tasks": "abc",
        "topic": "a/b",
        "buffer.bytes": "1",
        "fillname": "x",
        "transforms": "a",
        "value.converter": "json",
        "value.converter.schemas.enable": "perhaps",
        "key.converter": "no",
        "errors.tolerance": "some",
    }
    wrong = {"max.tasks", "topic", "buffer.bytes", "fillname", "filename", "errors.tolerance"}
    assert keys(config) == wrong | {"value.converter.schemas.enable", "key.converter"}
    near = next(problem for problem in check_connector(config).problems if problem.key == "fillname")
    assert near.fix == "Did you mean filename?"


def test_an_engine_that_a_sink_cannot_run_on_is_refused(tmp_path: Path) -> None:
    config = {"connector.class": "file_sink", "filename": str(tmp_path / "x"), "topics": "t", "engine": "native"}
    assert keys(config) == {"engine"}
    assert keys({**config, "connector.class": "file_lines"}) == set()


def test_transforms_must_be_empty_for_now(tmp_path: Path) -> None:
    config = {"connector.class": "file_source", "filename": str(tmp_path / "x"), "topic": "t", "transforms": "one"}
    assert keys(config) == {"transforms"}
    assert keys({**config, "transforms": ""}) == set()


def test_a_direct_connector_is_checked_as_a_whole(tmp_path: Path) -> None:
    config = {
        "connector.class": "direct",
        "source.connector.class": "file_source",
        "source.filename": str(tmp_path / "in"),
        "sink.connector.class": "file_lines",
        "sink.filename": str(tmp_path / "out"),
        "max.rate.records": "10",
    }
    checked = check_connector(config)
    assert (checked.type, list(checked.problems)) == (PluginType.DIRECT, [])
    own, source, sink = parse_direct(config)
    assert (own["max.rate.records"], source["follow"], sink["format"]) == (10.0, True, "text")
    assert keys({**config, "sink.connector.class": "file_sink"}) == {"sink.connector.class"}
    assert keys({**config, "sink.connector.class": "file_source"}) == {"sink.connector.class"}
    assert keys({**config, "source.follow": "x", "sink.filename": "", "max.tasks": "0", "other": "1"}) == {
        "source.follow",
        "sink.filename",
        "max.tasks",
        "other",
    }
    assert keys({"connector.class": "direct"}) == {"source.connector.class", "sink.connector.class"}


def test_a_literal_secret_is_refused_and_never_shown() -> None:
    secret = Option("password", "The password.", secret=True)
    for literal in ("hunter2", "x${env:A}", "${env:A}x"):
        with pytest.raises(ConfigError) as error:
            parse([secret], {"password": literal})
        assert "hunter2" not in str(error.value)
    assert parse([secret], {"password": "${env:A}"})["password"] == "${env:A}"


def test_every_option_of_every_connector_is_documented_and_its_default_is_valid() -> None:
    for connector in catalogue().connectors.values():
        options = source_options(connector) if isinstance(connector, Source) else sink_options(connector)
        names = [name for option in options for name in (option.key, *option.aliases)]
        assert len(set(names)) == len(names)
        for option in options:
            assert option.doc.endswith((".", ")")), option.key
            if option.default is not None:
                option.parse(option.default)


def test_plugins_say_what_they_are() -> None:
    infos = {info.name: info for info in plugins()}
    assert infos["file_source"].guarantee == infos["file_sink"].guarantee == "EXACTLY_ONCE"
    assert (list(infos["file_sink"].engines), list(infos["file_lines"].engines)) == (["spark"], ["spark", "native"])
    assert all(info.summary.endswith(".") for info in infos.values())


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Kind.SIZE, "64KiB", 65536),
        (Kind.SIZE, "10MB", 10_000_000),
        (Kind.SIZE, "1.5k", 1500),
        (Kind.DURATION, "500ms", 0.5),
        (Kind.DURATION, "2", 2.0),
        (Kind.DURATION, "1h", 3600.0),
        (Kind.LIST, "a, b;c,", ("a", "b", "c")),
        (Kind.BOOL, "TRUE", True),
        (Kind.INT, " 7 ", 7),
    ],
)
def test_options_are_read_by_their_kind(kind: Kind, text: str, value: object) -> None:
    assert parse([Option("x", "X.", kind)], {"x": text})["x"] == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [(Kind.SIZE, "10XB"), (Kind.SIZE, "-1"), (Kind.DURATION, "soon"), (Kind.BOOL, "yes"), (Kind.INT, "1.5"), (Kind.FLOAT, "x")],
)
def test_wrong_texts_are_refused_with_what_is_right(kind: Kind, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse([Option("x", "X.", kind)], {"x": text})
    (problem,) = error.value.problems
    assert (problem.key, problem.value) == ("x", text)
    assert problem.fix.startswith("Give ")


def test_two_names_of_one_option_are_one_too_many() -> None:
    source = find("file_source")
    assert isinstance(source, Source)
    with pytest.raises(ConfigError, match="means the same as topic"):
        parse_source(source, {"connector.class": "x", "filename": "f", "topic": "t", "connect.topicname": "t"})
