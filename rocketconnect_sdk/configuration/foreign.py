"""Configurations of plugins that are of another system; see Source.foreign and Source.open_ended. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from rocketconnect_sdk.configuration.references import REFERENCE, REFERENCE_FIX
from rocketconnect_sdk.configuration.runtime_options import FOREIGN
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Option, expanded, names_secret
from rocketconnect_sdk.sink import Sink
from rocketconnect_sdk.source import Source


def parted(plugin: Source | Sink, raw: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What the runtime reads of a configuration, and what is the plugin's own."""
    own = {key: text for key, text in raw.items() if plugin.foreign and _is_own(key)}
    return {key: text for key, text in raw.items() if key not in own}, own


def passes(plugin: Source | Sink) -> bool:
    """Whether a plugin is told of options that nobody knows here."""
    return plugin.foreign or plugin.open_ended


def unlisted(options: Iterable[Option], raw: Mapping[str, str]) -> dict[str, str]:
    """What stands in a configuration and is none of these options: the plugin is told of it as it is."""
    known = {key for option in expanded(options, raw) for key in (option.key, *option.aliases)}
    return {key: text for key, text in raw.items() if key not in known}


def problems(passed: Mapping[str, str]) -> Iterator[Problem]:
    """What is wrong with options that nobody knows here: secrets that are given as values."""
    for key in secret_keys(passed):
        if not REFERENCE.search(passed[key]):
            yield Problem(key, "", "is taken for a secret by its name, and its value is given as it is", REFERENCE_FIX)


def secret_keys(passed: Mapping[str, str]) -> list[str]:
    """Those that are taken for secrets, by their names."""
    return [key for key in passed if names_secret(key)]


def _is_own(key: str) -> bool:
    return any(key == own or key.startswith(f"{own}.") for own in FOREIGN)
