"""Plugins of Kafka Connect are installed whole or not at all, from real jars."""

import json
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rocketconnect_cli.commands.root import app
from rocketconnect_cli.kafka_plugins import installing
from rocketconnect_cli.kafka_plugins.errors import PluginRefused
from rocketconnect_cli.kafka_plugins.installing import install
from rocketconnect_kit.java.jars import sha256
from rocketconnect_sdk.plugins.kafka import LIBRARY, MANIFEST, JavaConnector, JavaOption, JavaPlugin, installed, written
from tests.connectors.kafka_connect.installed import SINK, SOURCE, compiled, file_jar, file_plugin

CONNECTOR = JavaConnector("org.example.Weather", "source", "1.0", [JavaOption("city", "STRING", "Where.", None, required=True)])


def placed(folder: Path, name: str = "weather", version: str = "1.0") -> JavaPlugin:
    place = folder / f"{name}-{version}"
    place.mkdir(parents=True)
    (place / "a.jar").write_bytes(b"a")
    digest = sha256(place / "a.jar")
    plugin = JavaPlugin(name, version, f"org.example:{name}:{version}", {"a.jar": digest}, [CONNECTOR], place)
    (place / MANIFEST).write_text(written(plugin))
    return plugin


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["plugins", *words])
    return result.exit_code, result.output


def test_what_is_installed_is_listed_with_its_connectors_and_what_has_changed(tmp_path: Path) -> None:
    plugin = placed(tmp_path)
    assert installed(tmp_path) == [plugin]
    code, output = run("installed", "--folder", str(tmp_path), "-o", "json")
    assert code == 0
    (row,) = json.loads(output)["plugins"]
    assert (row["name"], row["connectors"], row["changed"]) == ("weather", ["org.example.Weather"], [])
    (plugin.folder / "a.jar").write_bytes(b"other")
    (plugin.folder / "b.jar").write_bytes(b"more")
    assert json.loads(run("installed", "--folder", str(tmp_path), "-o", "json")[1])["plugins"][0]["changed"] == ["a.jar", "b.jar"]


def test_a_plugin_is_uninstalled_by_its_name_and_others_stay(tmp_path: Path) -> None:
    placed(tmp_path)
    placed(tmp_path, "rain")
    assert run("uninstall", "weather", "--folder", str(tmp_path))[0] == 0
    assert [plugin.name for plugin in installed(tmp_path)] == ["rain"]
    code, output = run("uninstall", "weather", "--folder", str(tmp_path))
    assert code == 2
    assert "there are: rain" in output


def test_a_manifest_that_cannot_be_read_names_itself(tmp_path: Path) -> None:
    plugin = placed(tmp_path)
    (plugin.folder / MANIFEST).write_text("{")
    with pytest.raises(ValueError, match="can't be read"):
        installed(tmp_path)
    assert run("installed", "--folder", str(tmp_path))[0] == 2


@pytest.mark.parametrize("given", ["org.example:thing:LATEST", "org.example:thing:1.0-SNAPSHOT"])
def test_a_version_that_changes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setattr(installing, "_library", lambda *_: tmp_path)
    monkeypatch.setattr(installing, "find_spec", lambda _name: True)
    with pytest.raises(PluginRefused, match="no fixed version"):
        install(given, tmp_path / "plugins")


@pytest.fixture
def inspected(monkeypatch: pytest.MonkeyPatch) -> list[JavaConnector]:
    """What is found in any jar: no Java is asked."""
    found = [CONNECTOR]
    monkeypatch.setattr(installing, "find_spec", lambda _name: True)
    monkeypatch.setattr(installing, "_library", lambda folder, _progress: folder)
    monkeypatch.setattr(installing, "_inspected", lambda *_: (found, {}))
    return found


def given(folder: Path, name: str) -> str:
    (folder / name).write_bytes(b"jar")
    return str(folder / name)


@pytest.mark.parametrize("version", ["1/../../../escaped", "1/2", "1\n2", "9" * 400])
def test_a_plugin_stays_in_its_folder_whatever_its_connector_says_of_its_version(
    tmp_path: Path, inspected: list[JavaConnector], version: str
) -> None:
    inspected[:] = [replace(CONNECTOR, version=version)]
    (tmp_path / "plugins" / "weather-1").mkdir(parents=True)
    plugin = install(given(tmp_path, "weather.jar"), tmp_path / "plugins")
    assert plugin.folder.resolve().parent == tmp_path / "plugins"
    assert installed(tmp_path / "plugins") == [plugin]


@pytest.mark.usefixtures("inspected")
def test_a_plugin_takes_no_name_that_hides_it_or_that_is_taken(tmp_path: Path) -> None:
    hidden = install(given(tmp_path, ".hidden-1.jar"), tmp_path / "plugins")
    assert installed(tmp_path / "plugins") == [hidden]
    with pytest.raises(PluginRefused, match="give the plugin another name"):
        install(given(tmp_path, f"{LIBRARY}.jar"), tmp_path / "other")


@pytest.mark.usefixtures("inspected")
def test_two_installs_at_once_are_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(*_: object) -> tuple[list[JavaConnector], dict[str, str]]:
        time.sleep(0.05)
        return [CONNECTOR], {}

    monkeypatch.setattr(installing, "_inspected", slowly)
    jar = given(tmp_path, "weather-1.jar")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: install(jar, tmp_path / "plugins"), range(8)))
    assert [*installed(tmp_path / "plugins")] * 8 == found


@pytest.mark.usefixtures("inspected")
def test_what_an_install_left_that_was_killed_is_removed_by_the_next_one(tmp_path: Path) -> None:
    for left in (".installing-x", ".gone-weather-1"):
        (tmp_path / "plugins" / left).mkdir(parents=True)
    plugin = install(given(tmp_path, "weather-1.jar"), tmp_path / "plugins")
    assert list((tmp_path / "plugins").iterdir()) == [plugin.folder]


@pytest.mark.usefixtures("inspected")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(PluginRefused, match="can't be changed"):
        install(given(tmp_path, "weather-1.jar"), tmp_path / "weather-1.jar")


def test_a_plugin_that_ends_java_while_it_is_looked_at_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "_INSPECTIONS", {"kafka": "this"})
    with pytest.raises(PluginRefused, match="ended Java"):
        installing._inspected(tmp_path, tmp_path, "weather-1.jar")


@pytest.mark.slow
def test_a_jar_is_installed_with_its_connectors_and_their_options(tmp_path: Path) -> None:
    (plugin,) = installed(file_plugin(tmp_path / "plugins"))
    assert {connector.name: connector.direction for connector in plugin.connectors} == {SOURCE: "source", SINK: "sink"}
    options = {option.key: option for connector in plugin.connectors if connector.name == SOURCE for option in connector.options}
    assert (options["topic"].required, options["batch.size"].default, options["batch.size"].type) == (True, "2000", "INT")
    # Once more, it stays as it is.
    assert install(str(file_jar(tmp_path)), tmp_path / "plugins") == plugin


@pytest.mark.slow
def test_two_versions_and_a_connector_twice_are_refused_and_nothing_is_left_behind(tmp_path: Path) -> None:
    plugins, jar = file_plugin(tmp_path / "plugins"), file_jar(tmp_path)
    before = sorted(path.name for path in plugins.iterdir())
    with pytest.raises(PluginRefused, match="is there in version"):
        install(str(jar.rename(jar.with_name("connect-file-9.9.jar"))), plugins)
    with pytest.raises(PluginRefused, match=f"has {SINK}, too"):
        install(str(jar.with_name("connect-file-9.9.jar").rename(jar.with_name("other-1.jar"))), plugins)
    assert sorted(path.name for path in plugins.iterdir()) == before


@pytest.mark.slow
def test_jars_without_a_connector_are_no_plugin(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "empty-1.jar", "w") as jar:
        jar.writestr("org/example/NoConnector.class", b"no class")
    with pytest.raises(PluginRefused, match="is no plugin of Kafka Connect"):
        install(str(tmp_path / "empty-1.jar"), tmp_path / "plugins")
    assert installed(tmp_path / "plugins") == []


@pytest.mark.slow
def test_a_plugin_that_ends_java_as_its_class_is_loaded_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "_SECONDS", 100)
    with pytest.raises(PluginRefused, match="ended Java while its connectors were looked for"):
        install(str(compiled("Ending", tmp_path)), tmp_path / "plugins")


@pytest.mark.slow
def test_a_plugin_is_fetched_by_its_coordinates(tmp_path: Path) -> None:
    plugin = install("org.apache.kafka:connect-file:4.3.1", tmp_path / "plugins")
    assert (plugin.name, plugin.version) == ("connect-file", "4.3.1")
    assert {connector.name for connector in plugin.connectors} == {SOURCE, SINK}
