"""What needs no Java: which connectors a plugin offers, under which names, and which words tell of a value that does not fit."""

from pathlib import Path

import pytest

from connectors.kafka_connect import offered as kafka
from connectors.rocketmq.source import RocketmqSource
from connectors.rocketmq_connect import offered
from connectors.rocketmq_connect.unfit import Unfit
from rocketconnect_sdk.configuration.connector_options import parse_sink, parse_source
from rocketconnect_sdk.errors import ConfigError
from rocketconnect_sdk.plugins import loader
from rocketconnect_sdk.plugins.installed import OURS, Package
from rocketconnect_sdk.plugins.kafka import MANIFEST, ROCKETMQ, VARIABLE, JavaConnector, JavaPlugin, installed, written
from rocketconnect_sdk.plugins.loader import Catalogue
from rocketconnect_sdk.sink import Sink
from rocketconnect_sdk.source import Source

CONNECTORS = [
    JavaConnector("org.example.RainSource", "source", "1", [], ROCKETMQ),
    JavaConnector("org.example.RainSink", "sink", "1", [], ROCKETMQ),
    JavaConnector("org.example.OfKafka", "source", "1", []),
]


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JavaPlugin:
    place = tmp_path / "rain-1"
    place.mkdir()
    plugin = JavaPlugin("rain", "1", "rain-1.jar", {}, CONNECTORS, place)
    (place / MANIFEST).write_text(written(plugin))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return plugin


def test_a_manifest_keeps_for_what_a_connector_is_written_and_an_older_one_is_of_kafka(plugins: JavaPlugin) -> None:
    manifest = plugins.folder / MANIFEST
    assert installed(plugins.folder.parent) == [plugins]
    manifest.write_text(manifest.read_text().replace('"api": "kafka"', '"version": "1"'))
    assert installed(plugins.folder.parent) == [plugins]


@pytest.mark.usefixtures("plugins")
def test_each_of_the_two_offers_what_is_written_for_it() -> None:
    mine = [kind for _, _, load in offered.places() for kind in load()]
    theirs = [kind for _, _, load in kafka.places() for kind in load()]
    assert [(kind.name, tuple(kind.aliases)) for kind in mine] == [
        ("java:org.example.RainSource", ("org.example.RainSource",)),
        ("java:org.example.RainSink", ("org.example.RainSink",)),
    ]
    assert [kind.name for kind in theirs] == ["org.example.OfKafka"]


def test_options_that_nobody_knows_pass_as_they_are_and_secrets_are_references(plugins: JavaPlugin) -> None:
    source, sink = (offered.kind_of(plugins, connector)() for connector in CONNECTORS[:2])
    assert isinstance(source, Source)
    assert isinstance(sink, Sink)
    given = {"connector.class": "java:x", "connect.topicname": "t", "rain.city": "Wien", "value.converter": "json"}
    config = parse_source(source, given)
    assert (config["topic"], config["value.converter"], config.raw["rain.city"], config.own) == ("t", "json", "Wien", {})
    assert parse_sink(sink, {"connector.class": "java:x", "connect.topicnames": "a;b"})["topics"] == ("a", "b")
    with pytest.raises(ConfigError, match=r"rain.password: is taken for a secret by its name"):
        parse_source(source, {**given, "rain.password": "plain"})


def test_what_comes_with_rocketconnect_stands_for_a_class_that_a_plugin_has_too(
    plugins: JavaPlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    replicator = JavaConnector("org.apache.rocketmq.replicator.ReplicatorSourceConnector", "source", "1", [], ROCKETMQ)
    java, ours = offered.kind_of(plugins, replicator)(), RocketmqSource()
    packages = {java.name: Package("rain", "1"), ours.name: OURS}
    monkeypatch.setattr(loader, "catalogue", lambda: Catalogue({java.name: java, ours.name: ours}, packages, {}))
    assert loader.find(replicator.name) is ours
    assert loader.find(f"java:{replicator.name}") is java


def test_what_has_no_counterpart_is_told_with_the_fields_that_it_is_in() -> None:
    error = Unfit("is a java.lang.Thread").within("zip").within("place")
    assert str(error) == "the field place.zip is a java.lang.Thread"
    assert str(Unfit("is null")) == "the record is null"
