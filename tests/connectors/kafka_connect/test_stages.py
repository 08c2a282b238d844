"""Transforms and converters that come from elsewhere than the plugin of a connector."""

from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.kafka_plugins.installing import install
from rocketconnect_sdk.plugins.kafka import installed
from tests.connectors.kafka_connect.installed import SOURCE, compiled, file_jar

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kafka") / "plugins"
    given = file_jar(folder.parent).parent
    compiled("JsonConverter", given)
    install(str(given), folder)
    install(str(compiled("Louder", folder.parent)), folder)
    return folder


def test_a_plugin_of_transforms_alone_is_there_for_all_connectors(do: Any, tmp_path: Path, plugins: Path) -> None:
    stages = {plugin.name: plugin.stages for plugin in installed(plugins)}
    assert stages == {"given": {}, "louder": {"louder.Louder": "transform"}}
    (tmp_path / "in.txt").write_text("a\nb\n")
    config = {"connector.class": SOURCE, "file": str(tmp_path / "in.txt"), "topic": "lines", "transforms": "loud"}
    for name in ("louder.Louder", "Louder"):
        named = {**config, "transforms.loud.type": name}
        assert do(do="check", config=named) == [[], []]
        batches = do(do="source", config=named, records=2)
        assert [value for batch in batches for value in batch["values"]] == ['"A"', '"B"']


def test_the_default_converter_is_that_of_kafka_connect_though_a_plugin_brings_an_old_one(do: Any, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\n")
    config = {"connector.class": SOURCE, "file": str(tmp_path / "in.txt"), "topic": "lines"}
    assert do(do="check", config=config) == [[], []]
    problems, _ = do(do="check", config={**config, "value.converter": "org.apache.kafka.connect.json.JsonConverter"})
    assert [problem["key"] for problem in problems] == ["value.converter"]
