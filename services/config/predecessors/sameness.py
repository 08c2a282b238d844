"""Whether two configurations do the same work: the same place, the same topic. Pure."""

from collections.abc import Mapping, Sequence

from rocketconnect.connector.v1 import connector_pb2

from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.targets.owned import Target

TOPICS = ("topics", "connect.topicnames")
"""The option of sinks, and its other name."""
_LIST = "list"
_ENDS = ("source.", "sink.")
"""How the options of the two ends of a direct connector begin."""


def same_work(
    before: Mapping[str, str],
    now: Mapping[str, str],
    plugin: connector_pb2.Plugin,
    targets_before: Sequence[Target] | None,
    targets_now: Sequence[Target] | None,
) -> bool:
    """Return whether a configuration does over again what one before did.

    What a sink alone may write says it best. Of what says no such thing, the options that must be given are compared, since they
    say where something is; of lists (topics) one common entry is enough. Of a direct connector, all options of its two ends.

    Args:
        before: The configuration of the one before.
        now: The new configuration.
        plugin: What the new one is of.
        targets_before: What the one before alone might write; None: not known.
        targets_now: What the new one alone may write; None: not known.
    """
    names = {plugin.name, *plugin.aliases}
    if before.get(CLASS.key) not in names or now.get(CLASS.key) not in names:
        return False
    if targets_before and targets_now:
        return not {target.name for target in targets_before}.isdisjoint(target.name for target in targets_now)
    if plugin.type == connector_pb2.PLUGIN_TYPE_DIRECT:
        return _ends(before) == _ends(now)
    needed = [option for option in plugin.options if option.required and not option.secret and option.key != CLASS.key]
    return bool(needed) and all(_same(option, before, now) for option in needed)


def shares_topics(before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Return whether two sinks have a topic in common: what only one of them reads is written once."""
    return not _topics(before).isdisjoint(_topics(now))


def _topics(config: Mapping[str, str]) -> set[str]:
    return {topic for key in TOPICS if key in config for topic in _entries(config[key])}


def _ends(config: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in config.items() if key.startswith(_ENDS)}


def _same(option: connector_pb2.Option, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    first, second = _given(option, before), _given(option, now)
    if option.type == _LIST:
        return not set(_entries(first)).isdisjoint(_entries(second))
    return first == second


def _given(option: connector_pb2.Option, config: Mapping[str, str]) -> str:
    return next((config[key].strip() for key in (option.key, *option.aliases) if key in config), "")


def _entries(text: str) -> list[str]:
    return [entry for part in text.split(",") for each in part.split(";") if (entry := each.strip())]
