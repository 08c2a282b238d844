"""Installs and uninstalls plugins of Kafka Connect and RocketMQ Connect. A plugin is there whole, or not at all."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from rocketconnect_cli.kafka_plugins.apis import api_of
from rocketconnect_cli.kafka_plugins.archives import ENDINGS, take_jars
from rocketconnect_cli.kafka_plugins.errors import PluginRefused
from rocketconnect_cli.kafka_plugins.maven import COORDINATES, fetch
from rocketconnect_kit.java.jars import JarSet, OnProgress, jars_of, listed, sha256
from rocketconnect_sdk.plugins.kafka import (
    KAFKA,
    LIBRARY,
    MANIFEST,
    NEXT,
    REPLACED,
    ROCKETMQ,
    ROCKETMQ_LIBRARY,
    ROCKETMQ_VERSION,
    VARIABLE,
    VERSION,
    JavaConnector,
    JavaPlugin,
    connector_of,
    installed,
    written,
)

_INSPECTIONS = {KAFKA: "connectors.kafka_connect.inspection", ROCKETMQ: "connectors.rocketmq_connect.inspection"}
_SECONDS = 300
_NAMED = re.compile(r"(.+?)-(\d[\w.]*)(?:-[a-z]+)?")


def is_kafka(given: str) -> bool:
    """Whether this names a plugin of Kafka Connect: coordinates, an archive, a folder."""
    return COORDINATES.fullmatch(given) is not None or given.endswith(ENDINGS) or "/" in given


def folder_of(environment: Mapping[str, str] = os.environ) -> Path:
    """Where they are: the folder that executors are told, else one of this user."""
    if told := environment.get(VARIABLE):
        return Path(told).absolute()
    base = Path(environment.get("XDG_DATA_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "share") / "rocketconnect" / "kafka-plugins"


def library_jars() -> JarSet:
    """The jars of Kafka Connect itself."""
    return listed(f"Kafka Connect {VERSION}", Path(str(files("connectors.kafka_connect") / f"{LIBRARY}.jars")))


def api_jars() -> JarSet:
    """The jars of the API of RocketMQ Connect."""
    place = files("connectors.rocketmq_connect") / f"{ROCKETMQ_LIBRARY}.jars"
    return listed(f"RocketMQ Connect's API {ROCKETMQ_VERSION}", Path(str(place)))


def install(given: str, folder: Path, on_progress: OnProgress = lambda _done, _total: None) -> JavaPlugin:
    """Installs a plugin; one that is there already in this version stays as it is.

    Args:
        given: GROUP:ARTIFACT:VERSION, or the path of a .zip, a .tar.gz, a .jar or a folder.
        folder: Where plugins are.
        on_progress: Of the jars of Kafka Connect itself, which the first plugin brings.

    Raises:
        PluginRefused: it is no plugin, or another version of it is there, or another plugin has one of its connectors.
        JarsUnavailable, JavaMissing: see rocketconnect_kit.java.
    """
    with alone(folder), staged(given, folder, on_progress) as (plugin, jars):
        if (same := _same(plugin, there(folder))) is not None:
            return same
        put(plugin, jars, MANIFEST)
    return plugin


@contextmanager
def staged(given: str, folder: Path, on_progress: OnProgress) -> Iterator[tuple[JavaPlugin, Path]]:
    """A plugin that is looked at, and not there yet: what it will be, and the folder with its jars until then.

    Call it within `alone`. See install.
    """
    if find_spec("jpype") is None:
        msg = "the Python package JPype1, which runs Java, is missing: pip install 'rocketconnect[kafka-connect]'"
        raise PluginRefused(msg)
    library = _library(folder, on_progress)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".installing-") as place:
        work = Path(place)
        jars = work / "plugin"
        jars.mkdir()
        if COORDINATES.fullmatch(given) and not Path(given).exists():
            fetch(given, jars, work)
            _, name, version = given.split(":")
        else:
            take_jars(Path(given), jars)
            match = _NAMED.fullmatch(_stem(Path(given).resolve().name))
            name, version = match.groups() if match else (_stem(Path(given).resolve().name), "")
        connectors, stages = _inspected(library, jars, given)
        digests = {jar.name: sha256(jar) for jar in sorted(jars.glob("*.jar"))}
        version = version or (connectors[0].version if connectors else "") or "0"
        origin = given if COORDINATES.fullmatch(given) else Path(given).name
        yield JavaPlugin(name, version, origin, digests, connectors, folder / place_of(name, version), stages), jars


def put(plugin: JavaPlugin, jars: Path, manifest: str) -> None:
    """Moves the jars to where the plugin is, with what it is in a file of this name."""
    (jars / manifest).write_text(written(plugin), encoding="utf-8")
    jars.chmod(0o755)
    jars.rename(plugin.folder)


def uninstall(name: str, folder: Path) -> JavaPlugin:
    """Removes a plugin, with what an upgrade left of it.

    Raises:
        PluginRefused: there is none of this name, or the folder can't be changed.
    """
    with alone(folder) if folder.is_dir() else nullcontext():
        plugin = found(name, folder)
        for each in (plugin, *(kept for kept in there(folder, REPLACED) if kept.name == plugin.name)):
            gone = folder / f".gone-{each.folder.name}"
            shutil.rmtree(gone, ignore_errors=True)
            each.folder.rename(gone)
            shutil.rmtree(gone)
        return plugin


def found(name: str, folder: Path) -> JavaPlugin:
    """The plugin that is called so, or whose folder is. Raises PluginRefused: there is none."""
    plugins = there(folder)
    for plugin in plugins:
        if name in (plugin.name, plugin.folder.name):
            return plugin
    known = ", ".join(plugin.name for plugin in plugins) or "none"
    msg = f"there is no plugin {name} in {folder}; there are: {known}"
    raise PluginRefused(msg)


def changed(plugin: JavaPlugin) -> list[str]:
    """Jars that are not as they were when the plugin was installed, and files that were not there."""
    found = {jar.name: sha256(jar) for jar in plugin.folder.glob("*.jar")}
    return sorted(name for name in found.keys() | plugin.digests.keys() if found.get(name) != plugin.digests.get(name))


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else changes what is there meanwhile. What somebody has left there who was killed is removed, or brought to its end.

    Raises:
        PluginRefused: the folder can't be changed.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(place, fcntl.LOCK_EX)
            for left in (*folder.glob(".installing-*"), *folder.glob(".gone-*")):
                shutil.rmtree(left)
            _settle(folder)
            yield
        finally:
            os.close(place)
    except OSError as error:
        msg = f"{folder} can't be changed: {error}. Name a folder that this user may write with --folder"
        raise PluginRefused(msg) from error


def _settle(folder: Path) -> None:
    """An upgrade that was killed: where the old one is there yet nothing has happened, else the new one is there."""
    for plugin in there(folder, NEXT):
        if any(plugin.name == other.name for other in there(folder)):
            shutil.rmtree(plugin.folder)
        else:
            (plugin.folder / NEXT).rename(plugin.folder / MANIFEST)


def place_of(name: str, version: str) -> str:
    """What its folder is called, whatever a file is called, or a connector says that its version is."""
    place = re.sub(r"[^\w.+-]+", "_", f"{name}-{version}").lstrip(".")[:200]
    if place in (LIBRARY, ROCKETMQ_LIBRARY):
        msg = f"{place} is what a folder of Kafka Connect's or RocketMQ Connect's own jars is called: give the plugin another name"
        raise PluginRefused(msg)
    return place


def there(folder: Path, manifest: str = MANIFEST) -> list[JavaPlugin]:
    """All plugins with such a file. Raises PluginRefused: one can't be read."""
    try:
        return installed(folder, manifest)
    except ValueError as error:
        raise PluginRefused(str(error)) from error


def _same(plugin: JavaPlugin, others: Sequence[JavaPlugin]) -> JavaPlugin | None:
    """One that is there and is the same; what stands in its way is refused."""
    for other in others:
        if other.name == plugin.name and other.version == plugin.version and other.digests == plugin.digests:
            return other
        if other.name == plugin.name and other.version != plugin.version:
            msg = (
                f"{other.name} is there in version {other.version}: run `rocketconnect plugins upgrade {other.name} "
                f"{plugin.version}`, or with the path of the file"
            )
            raise PluginRefused(msg)
        if other.name == plugin.name:
            msg = (
                f"{other.name} is there with other jars: run `rocketconnect plugins uninstall {other.name}` first, when no "
                "connector runs with it"
            )
            raise PluginRefused(msg)
    refuse_twice(plugin, others)
    return None


def refuse_twice(plugin: JavaPlugin, others: Sequence[JavaPlugin]) -> None:
    """Raises PluginRefused: another plugin has a connector of this one."""
    for other in others:
        both = {each.name for each in other.connectors} & {each.name for each in plugin.connectors}
        if both:
            msg = f"{other.name} {other.version} has {min(both)}, too: run `rocketconnect plugins uninstall {other.name}` first"
            raise PluginRefused(msg)


def _inspected(library: Path, jars: Path, given: str) -> tuple[list[JavaConnector], Mapping[str, str]]:
    api = api_of(sorted(jars.glob("*.jar")))
    if api == ROCKETMQ:
        _copied(library.parent / ROCKETMQ_LIBRARY, api_jars())
    place = library.parent if api == ROCKETMQ else library
    command = [sys.executable, "-P", "-m", _INSPECTIONS[api], str(place), str(jars)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        msg = f"{given} was not read within {_SECONDS} s: its classes do not end to load"
        raise PluginRefused(msg) from error
    if done.returncode:
        msg = f"{given} can't be read: {done.stderr.strip()[-2000:]}"
        raise PluginRefused(msg)
    try:
        found = json.loads(done.stdout)
        connectors, stages = [connector_of(each) for each in found["connectors"]], found["stages"]
    except ValueError as error:
        msg = f"{given} can't be read: it ended Java while its connectors were looked for. {done.stderr.strip()[-2000:]}"
        raise PluginRefused(msg) from error
    if not connectors and not stages:
        msg = (
            f"{given} is no plugin of Kafka Connect or RocketMQ Connect: no class of its jars is a connector, a transform, a "
            "predicate or a converter that can be made"
        )
        msg += "".join(f"; {name}: {why[:300]}" for name, why in found["failed"].items())
        raise PluginRefused(msg)
    return connectors, stages


def _library(folder: Path, on_progress: OnProgress) -> Path:
    """The jars of Kafka Connect itself, copied to where the plugins are. Java is started with them, whatever plugin it is for."""
    return _copied(folder / LIBRARY, library_jars(), on_progress)


def _copied(library: Path, wanted: JarSet, on_progress: OnProgress = lambda _done, _total: None) -> Path:
    if not library.is_dir():
        cached = jars_of(wanted, on_progress)
        with tempfile.TemporaryDirectory(dir=library.parent, prefix=".installing-") as place:
            made = Path(place, "library")
            made.mkdir()
            for jar in wanted.pinned:
                shutil.copyfile(cached / jar.file_name, made / jar.file_name)
            made.rename(library)
    return library


def _stem(name: str) -> str:
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return name
