"""Plugins of installed packages: named by their entry points, and loaded when they are asked for."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from rocketconnect_sdk.errors import ConfigError, Problem
from rocketconnect_sdk.version import __version__

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Package:
    """Where a plugin comes from, and its version, which is the plugin's."""

    name: str
    version: str


OURS = Package("rocketconnect", __version__)


def package_of(entry: EntryPoint) -> Package:
    """The package that an entry point is of."""
    return Package(entry.dist.name, entry.dist.version) if entry.dist else Package("", "")


def installed(group: str, built_in: Collection[str]) -> Mapping[str, EntryPoint]:
    """Those of a group, by name; none of them is loaded. Those that come with the SDK keep their names."""
    return {entry.name: entry for entry in sorted(entry_points(group=group)) if entry.name not in built_in}


def load_installed(group: str, built_in: Collection[str], name: str, what: str, check: Callable[[object], T]) -> T:
    """One of them, checked.

    Args:
        group: Of the entry points.
        built_in: The names of those that come with the SDK.
        name: Its name.
        what: What it is, for people.
        check: Returns what was loaded; whatever it raises is told as the reason.

    Raises:
        ConfigError: there is none of that name, or it could not be loaded.
    """
    others = installed(group, built_in)
    if name not in others:
        raise ConfigError([Problem("", name[:200], f"is not a {what}", f"Use one of {', '.join([*built_in, *others])}.")])
    try:
        return check(others[name].load())
    except Exception as error:  # whatever a foreign module does
        why = f"could not be loaded: {type(error).__name__}: {error}"
        raise ConfigError([Problem("", name, why, "Mend or reinstall the plugin.")]) from error
