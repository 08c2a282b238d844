"""Another version of a plugin takes the place of one that is there, whole or not at all."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from rocketconnect_cli.kafka_plugins import upgrading
from rocketconnect_cli.kafka_plugins.errors import PluginRefused
from rocketconnect_cli.kafka_plugins.installing import changed, install, uninstall
from rocketconnect_cli.kafka_plugins.upgrading import upgrade
from rocketconnect_sdk.plugins.kafka import MANIFEST, NEXT, REPLACED, JavaPlugin, installed
from tests.connectors.kafka_connect.installed import SINK, SOURCE, file_jar, file_plugin
from tests.rocketconnect_cli.kafka_plugins.conftest import plugins

CITY, UNIT = {"key": "city", "type": "STRING", "required": True}, {"key": "unit", "type": "STRING"}


def jar(folder: Path, version: str, *options: Mapping[str, object], name: str = "weather", of: str = "Weather") -> str:
    """A jar with a connector of these options."""
    connector = {"name": f"org.example.{of}", "direction": "source", "version": version, "options": options}
    path = folder / f"{name}-{version}.jar"
    path.write_text(json.dumps({"connectors": [connector], "stages": {}}))
    return str(path)


@pytest.fixture
def folder(tmp_path: Path, told_by_jars: None) -> Path:
    """Where weather 1.0 is, and rain 1.0."""
    place = tmp_path / "plugins"
    install(jar(tmp_path, "1.0", CITY, UNIT), place)
    install(jar(tmp_path, "1.0", CITY, name="rain", of="Rain"), place)
    return place


def versions(folder: Path, manifest: str = MANIFEST) -> dict[str, str]:
    return {plugin.name: plugin.version for plugin in installed(folder, manifest)}


def test_another_version_takes_the_place_and_the_jars_of_the_old_one_stay_for_tasks_that_run(tmp_path: Path, folder: Path) -> None:
    code, output = plugins("upgrade", "weather", jar(tmp_path, "2.0", CITY, UNIT), "--folder", str(folder))
    assert (code, versions(folder)) == (0, {"rain": "1.0", "weather": "2.0"}), output
    for said in ("in the place of 1.0", "Tasks that run keep 1.0", "rocketconnect plugins reload", "plugins upgrade weather 1.0"):
        assert said in output
    (now,) = (each for each in installed(folder) if each.name == "weather")
    (old,) = installed(folder, REPLACED)
    assert (changed(now), changed(old)) == ([], [])
    assert now.digests != old.digests


def test_the_way_back_needs_no_archive(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upgrade("weather", jar(tmp_path, "2.0", CITY, UNIT), folder)
    monkeypatch.setattr(upgrading, "staged", None)
    done = upgrade("weather", "1.0", folder)
    assert (done.before.version, done.now.version) == ("2.0", "1.0")
    assert (versions(folder)["weather"], versions(folder, REPLACED)) == ("1.0", {"weather": "2.0"})


def test_the_one_before_the_last_goes(tmp_path: Path, folder: Path) -> None:
    for version in ("2.0", "3.0"):
        upgrade("weather", jar(tmp_path, version, CITY, UNIT), folder)
    assert sorted(path.name for path in folder.iterdir()) == ["rain-1.0", "weather-2.0", "weather-3.0"]
    uninstall("weather", folder)
    assert [path.name for path in folder.iterdir()] == ["rain-1.0"]


def test_one_that_was_replaced_and_has_other_jars_since_is_unpacked_anew(tmp_path: Path, folder: Path) -> None:
    upgrade("weather", jar(tmp_path, "2.0", CITY, UNIT), folder)
    (folder / "weather-1.0" / "weather-1.0.jar").write_text("spoiled")
    with pytest.raises(PluginRefused, match=r"was installed from weather-2\.0\.jar: give the path"):
        upgrade("weather", "1.0", folder)
    done = upgrade("weather", jar(tmp_path, "1.0", CITY, UNIT), folder)
    assert changed(done.now) == []


def test_what_configurations_would_lose_is_told_and_the_old_one_stays_until_that_is_wanted(tmp_path: Path, folder: Path) -> None:
    new = jar(tmp_path, "2.0", CITY, {"key": "region", "type": "STRING", "required": True})
    before = sorted(path.name for path in folder.iterdir())
    code, output = plugins("upgrade", "weather", new, "--folder", str(folder))
    assert (code, versions(folder)["weather"]) == (2, "1.0")
    assert "org.example.Weather no longer has unit; org.example.Weather now needs region" in output
    assert sorted(path.name for path in folder.iterdir()) == before
    code, output = plugins("upgrade", "weather", new, "--folder", str(folder), "--yes")
    assert (code, versions(folder)["weather"], "Warning: org.example.Weather no longer has unit" in output) == (0, "2.0", True)


def test_what_is_no_other_version_is_refused_and_nothing_is_changed(tmp_path: Path, folder: Path) -> None:
    def refused(name: str, to: str, why: str) -> None:
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        with pytest.raises(PluginRefused, match=why):
            upgrade(name, to, folder)
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before

    refused("snow", "2.0", "there are: rain, weather")
    refused("weather", "2.0", "was installed from weather-1.0.jar: give the path")
    refused("weather", jar(tmp_path, "1.0", CITY, UNIT), "is there in this version. Give another version")
    refused("weather", jar(tmp_path, "1.0", CITY), "is there in this version, with other jars")
    refused("weather", jar(tmp_path, "2.0", name="rain", of="Rain"), "has no class of weather 1.0: it is another plugin")
    both = json.loads(Path(jar(tmp_path, "2.0", CITY, UNIT)).read_text())
    both["connectors"].append({**both["connectors"][0], "name": "org.example.Rain"})
    (tmp_path / "both-2.0.jar").write_text(json.dumps(both))
    refused("weather", str(tmp_path / "both-2.0.jar"), r"rain 1\.0 has org\.example\.Rain, too")


def test_install_of_another_version_names_the_upgrade(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(PluginRefused, match=r"is there in version 1\.0: run `rocketconnect plugins upgrade weather 2\.0`"):
        install(jar(tmp_path, "2.0", CITY, UNIT), folder)


@pytest.mark.parametrize(("rename", "version"), [(1, "1.0"), (2, "2.0")])
def test_after_a_kill_at_any_moment_one_version_is_there(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, rename: int, version: str
) -> None:
    """Before the first of the two renames that switch, and between them."""
    left = [rename]
    renamed = Path.rename

    def killed(path: Path, target: Path) -> Path:
        left[0] -= path.name in (MANIFEST, NEXT)
        if not left[0]:
            raise KeyboardInterrupt
        return renamed(path, target)

    monkeypatch.setattr(Path, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        upgrade("weather", jar(tmp_path, "2.0", CITY, UNIT), folder)
    monkeypatch.undo()
    # Any command that changes the folder brings it to its end.
    with pytest.raises(PluginRefused, match="there is no plugin snow"):
        uninstall("snow", folder)
    assert versions(folder) == {"rain": "1.0", "weather": version}
    assert not list(folder.glob(f"*/{NEXT}"))


@pytest.mark.parametrize("manifest", [MANIFEST, REPLACED])
def test_a_folder_that_is_damaged_is_told_with_what_helps(tmp_path: Path, folder: Path, manifest: str) -> None:
    upgrade("weather", jar(tmp_path, "2.0", CITY, UNIT), folder)
    (broken,) = (each.parent for each in folder.glob(f"weather-*/{manifest}"))
    (broken / manifest).write_text('{"name": "wea')
    for act in (lambda: upgrade("weather", jar(tmp_path, "3.0", CITY, UNIT), folder), lambda: uninstall("weather", folder)):
        with pytest.raises(PluginRefused, match=f"remove {broken}, and install it again"):
            act()
    shutil.rmtree(broken)
    install(jar(tmp_path, "2.0", CITY, UNIT), folder)
    assert versions(folder) == {"rain": "1.0", "weather": "2.0"}


@pytest.mark.slow
def test_kafkas_plugin_of_files_is_upgraded_with_real_jars(tmp_path: Path) -> None:
    folder, given = file_plugin(tmp_path / "plugins"), file_jar(tmp_path)
    (before,) = installed(folder)
    done = upgrade("connect-file", str(given.rename(given.with_name("connect-file-99.0.jar"))), folder)
    assert (done.before, done.now.version, done.lost) == (before, "99.0", [])
    (now,) = installed(folder)
    assert isinstance(now, JavaPlugin)
    assert {each.name for each in now.connectors} == {SOURCE, SINK}
    assert changed(now) == []
