"""A folder of plugins in which no Java is asked what is in a jar."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rocketconnect_cli.commands.root import app
from rocketconnect_cli.kafka_plugins import installing
from rocketconnect_sdk.plugins.kafka import JavaConnector, connector_of


@pytest.fixture
def told_by_jars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each jar says itself what is in it, as JSON: see jar()."""

    def look(_library: Path, jars: Path, _given: str) -> tuple[list[JavaConnector], dict[str, str]]:
        (jar,) = jars.glob("*.jar")
        said = json.loads(jar.read_text())
        return [connector_of(each) for each in said["connectors"]], said["stages"]

    monkeypatch.setattr(installing, "find_spec", lambda _name: True)
    monkeypatch.setattr(installing, "_library", lambda folder, _progress: folder)
    monkeypatch.setattr(installing, "_inspected", look)
    monkeypatch.setattr("rocketconnect_cli.embedded.download.show_download", lambda *_: None)


def plugins(*words: str) -> tuple[int, str]:
    """What `rocketconnect plugins` ends with and says."""
    result = CliRunner().invoke(app, ["plugins", *words])
    return result.exit_code, " ".join(result.output.split())
