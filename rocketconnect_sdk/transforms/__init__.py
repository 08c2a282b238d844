"""Transforms and predicates. Found by name; their modules are imported when they are asked for.

A package offers its own by an entry point for each, whose name is the transform's (the predicate's), in its pyproject.toml:

    [project.entry-points."rocketconnect.transforms"]
    to_celsius = "weather_connect.celsius:ToCelsius"

    [project.entry-points."rocketconnect.predicates"]
    is_freezing = "weather_connect.celsius:IsFreezing"
"""

from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module
from pkgutil import walk_packages
from typing import TypeVar

from rocketconnect_sdk.plugins.installed import load_installed
from rocketconnect_sdk.transforms.base import Predicate, Record, Records, Transform
from rocketconnect_sdk.transforms.defaults import REPLACE_NULL
from rocketconnect_sdk.transforms.paths import SYNTAX

__all__ = [
    "PREDICATES",
    "TRANSFORMS",
    "Predicate",
    "Record",
    "Records",
    "Transform",
    "built_in_predicates",
    "built_in_transforms",
    "comes_with_the_sdk",
    "predicate_class",
    "transform_class",
]

TRANSFORMS = "rocketconnect.transforms"
PREDICATES = "rocketconnect.predicates"

_KAFKA = "org.apache.kafka."

_One = TypeVar("_One", Transform, Predicate)


@cache
def built_in_transforms() -> Mapping[str, type[Transform]]:
    """By name those that come with the SDK: a module each in rocketconnect_sdk.transforms.built_in."""
    return _in_package("built_in", Transform)  # type: ignore[type-abstract]


@cache
def built_in_predicates() -> Mapping[str, type[Predicate]]:
    """By name those that come with the SDK: a module each in rocketconnect_sdk.transforms.predicates."""
    return _in_package("predicates", Predicate)  # type: ignore[type-abstract]


def transform_class(name: str) -> tuple[type[Transform], Mapping[str, str]]:
    """The class of a transform, by its name or by the class name that others have for it; and the options that this name says.

    Raises:
        ConfigError: there is none of that name, or it could not be loaded.
    """
    plain, dollar, part = name.partition("$")
    said = {"on": part.lower()} if dollar and part in ("Key", "Value") else {}
    found = _found(plain if said else name, Transform, TRANSFORMS, "built_in")  # type: ignore[type-abstract]
    if said and not any(option.key == "on" for option in found.options):
        said = {}
    if name.startswith(_KAFKA) and REPLACE_NULL in found.options:
        # Whoever writes Kafka Connect's name gets what that does.
        said[REPLACE_NULL.key] = "true"
    if name.startswith(_KAFKA) and SYNTAX in found.options:
        said[SYNTAX.key] = "V1"
    return found, said


def predicate_class(name: str) -> type[Predicate]:
    """The class of a predicate, by its name or by the class name that others have for it.

    Raises:
        ConfigError: there is none of that name, or it could not be loaded.
    """
    return _found(name, Predicate, PREDICATES, "predicates")  # type: ignore[type-abstract]


def comes_with_the_sdk(kind: type[Transform | Predicate]) -> bool:
    """Whether a transform or a predicate is one of those; no module is loaded for it."""
    return any(kind.__module__ == module for package in ("built_in", "predicates") for module in _modules(package).values())


def _found(name: str, kind: type[_One], group: str, package: str) -> type[_One]:
    """Of the SDK's own one that is asked for by its name loads no other; only aliases have to be looked for."""
    modules = _modules(package)
    if name in modules:
        return _in_module(modules[name], kind)[name]
    for found in _in_package(package, kind).values():
        if name in found.aliases:
            return found
    return load_installed(group, modules, name, kind.__name__.lower(), partial(_checked, name=name, kind=kind))


def _checked(found: object, name: str, kind: type[_One]) -> type[_One]:
    if not (isinstance(found, type) and issubclass(found, kind)):
        msg = f"{found!r} is no {kind.__name__}"
        raise TypeError(msg)
    if found.name != name:
        msg = f"it is called {found.name!r}, and its entry point {name!r}"
        raise ValueError(msg)
    return found


@cache
def _modules(package: str) -> Mapping[str, str]:
    """The modules below a package by the last part of their names, which is the name of what is in them."""
    where = import_module(f"{__name__}.{package}")
    found = walk_packages(where.__path__, f"{where.__name__}.")
    return dict(sorted((module.name.rpartition(".")[2], module.name) for module in found if not module.ispkg))


def _in_module(module: str, kind: type[_One]) -> Mapping[str, type[_One]]:
    found = [each for each in vars(import_module(module)).values() if isinstance(each, type) and issubclass(each, kind)]
    return {each.name: each for each in found if each.__module__ == module and "name" in vars(each)}


def _in_package(package: str, kind: type[_One]) -> Mapping[str, type[_One]]:
    return {name: found for module in _modules(package).values() for name, found in _in_module(module, kind).items()}
