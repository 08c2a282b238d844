"""Another version of a plugin in the place of one that is there, which stays beside it for tasks that run with it."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocketconnect_cli.kafka_plugins.errors import PluginRefused
from rocketconnect_cli.kafka_plugins.installing import alone, changed, found, is_kafka, place_of, put, refuse_twice, staged, there
from rocketconnect_cli.kafka_plugins.maven import COORDINATES
from rocketconnect_kit.java.jars import OnProgress
from rocketconnect_sdk.plugins.kafka import MANIFEST, NEXT, REPLACED, JavaPlugin

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Upgraded:
    """What was done.

    Attributes:
        before: The plugin that was there.
        now: The one in its place.
        lost: What configurations may name and is not there any more, or is to be given now: a sentence each.
    """

    before: JavaPlugin
    now: JavaPlugin
    lost: Sequence[str]


def upgrade(
    name: str, to: str, folder: Path, *, anyway: bool = False, on_progress: OnProgress = lambda _done, _total: None
) -> Upgraded:
    """Puts another version of a plugin in its place. Where that can't be, the one that is there stays as it is.

    Executors take the new one when they look for plugins again. The jars of the old one stay until the next upgrade: what runs with
    them goes on, and a way back needs no download.

    Args:
        name: Of the plugin that is there.
        to: The version of the artifact that it came from, or the path of another archive or folder.
        folder: Where plugins are.
        anyway: Also where classes or options are lost.
        on_progress: See install.

    Raises:
        PluginRefused: there is no such plugin, the new one can't be taken, or loses something; see install, too.
        JarsUnavailable, JavaMissing: see rocketconnect_kit.java.
    """
    with alone(folder):
        before = found(name, folder)
        kept = [each for each in there(folder, REPLACED) if each.name == before.name]
        back = next((each for each in kept if each.version == to and not changed(each)), None)
        if back is not None:
            lost = _check(before, back, there(folder), anyway=anyway)
            (back.folder / REPLACED).rename(back.folder / NEXT)
            now = back
        else:
            with staged(_given(before, to), folder, on_progress) as (made, jars):
                now = replace(made, name=before.name, folder=folder / place_of(before.name, made.version))
                lost = _check(before, now, there(folder), anyway=anyway)
                _make_room(now, kept)
                put(now, jars, NEXT)
        # From here on `alone` brings it to its end, whatever happens.
        (before.folder / MANIFEST).rename(before.folder / REPLACED)
        (now.folder / NEXT).rename(now.folder / MANIFEST)
        for each in kept:
            if each.folder != now.folder:
                shutil.rmtree(each.folder, ignore_errors=True)
    return Upgraded(before, now, lost)


def losses(before: JavaPlugin, now: JavaPlugin) -> Iterator[str]:
    """What configurations that were right for one version may not find in another, a sentence each. Pure."""
    connectors = {each.name: each for each in now.connectors}
    for old in before.connectors:
        new = connectors.get(old.name)
        if new is None:
            yield f"{old.name} is gone"
            continue
        was = {option.key: option for option in old.options}
        if gone := sorted(was.keys() - {option.key for option in new.options}):
            yield f"{old.name} no longer has {_some(gone)}"
        if needed := [each.key for each in new.options if each.required and not (each.key in was and was[each.key].required)]:
            yield f"{old.name} now needs {_some(needed)}"
    for stage in sorted(before.stages.keys() - now.stages.keys()):
        yield f"{stage} is gone"


def _make_room(now: JavaPlugin, kept: Sequence[JavaPlugin]) -> None:
    """One that was replaced before, whose jars are not what they were, goes. Raises PluginRefused: something else is there."""
    if any(each.folder == now.folder for each in kept):
        shutil.rmtree(now.folder)
    elif now.folder.exists():
        msg = f"{now.folder} is there already, and is not {now.name} {now.version}: move it away"
        raise PluginRefused(msg)


def _some(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return ", ".join(keys[:_SHOWN]) + more


def _given(before: JavaPlugin, to: str) -> str:
    """What is fetched or unpacked: see install."""
    if is_kafka(to):
        return to
    if COORDINATES.fullmatch(before.origin) is None:
        msg = f"{before.name} was installed from {before.origin}: give the path of the file or the folder with the other version"
        raise PluginRefused(msg)
    return f"{before.origin.rpartition(':')[0]}:{to}"


def _check(before: JavaPlugin, now: JavaPlugin, plugins: Sequence[JavaPlugin], *, anyway: bool) -> list[str]:
    """What is lost. Raises PluginRefused: it can't be taken, or something is lost and `anyway` is not given."""
    if now.version == before.version:
        what = "in this version" if now.digests == before.digests else "in this version, with other jars"
        msg = f"{before.name} {before.version} is there {what}. Give another version"
        if now.digests != before.digests:
            msg += f", or run `rocketconnect plugins uninstall {before.name}` first, when no connector runs with it"
        raise PluginRefused(msg)
    if not _classes(before) & _classes(now):
        msg = f"{now.origin} has no class of {before.name} {before.version}: it is another plugin. Install it beside"
        raise PluginRefused(msg)
    refuse_twice(now, [each for each in plugins if each.name != before.name])
    lost = list(losses(before, now))
    if lost and not anyway:
        msg = f"{before.name} {before.version} stays: {now.version} loses what configurations may name: {'; '.join(lost)}. "
        msg += "Change those that do, and give --yes"
        raise PluginRefused(msg)
    return lost


def _classes(plugin: JavaPlugin) -> set[str]:
    return {*(each.name for each in plugin.connectors), *plugin.stages}
