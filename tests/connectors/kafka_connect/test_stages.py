"""Transforms of a plugin that has no connector, for the connectors of others."""

from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.kafka_plugins.installing import install
from rocketconnect_sdk.plugins.kafka import installed
from tests.connectors.kafka_connect.installed import SOURCE, compiled, file_plugin

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = file_plugin(tmp_path_factory.mktemp("kafka") / "plugins")
    install(str(compiled("Louder", folder.parent)), folder)
    return folder


def test_a_plugin_of_transforms_alone_is_there_for_all_connectors(do: Any, tmp_path: Path, plugins: Path) -> None:
    stages = {plugin.name: plugin.stages for plugin in installed(plugins)}
    assert stages == {"connect-file": {}, "louder": {"louder.Louder": "transform"}}
    (tmp_path / "in.txt").write_text("a\nb\n")
    config = {"connector.class": SOURCE, "file": str(tmp_path / "in.txt"), "topic": "lines", "transforms": "loud"}
    for name in ("louder.Louder", "Louder"):
        named = {**config, "transforms.loud.type": name}
        assert do(do="check", config=named) == [[], []]
        batches = do(do="source", config=named, records=2)
        assert [value for batch in batches for value in batch["values"]] == ['"A"', '"B"']
