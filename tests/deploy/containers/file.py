"""Compose files, read as Docker Compose reads them: several files over each other, `extends`, variables, profiles.

As much of the format as deploy/compose uses. Pure, but for reading the files.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

_REPLACED = ("command", "entrypoint")
_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")


class _Override:
    """A value that takes the place of what files before have."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Loader(yaml.SafeLoader):
    pass


def _override(loader: _Loader, node: yaml.Node) -> _Override:
    if isinstance(node, yaml.SequenceNode):
        return _Override(loader.construct_sequence(node, deep=True))
    assert isinstance(node, yaml.MappingNode)
    return _Override(loader.construct_mapping(node, deep=True))


_Loader.add_constructor("!override", _override)


def services(files: Sequence[Path], profiles: Sequence[str], variables: Mapping[str, str]) -> dict[str, Any]:
    """The services of these files that are in no profile, or in one of `profiles`; paths are absolute.

    Raises:
        ValueError: a variable is not set, with what the file says of it.
    """
    made: dict[str, Any] = {}
    for file in files:
        made = _merged(made, {name: _extended(file, name) for name in _read(file)["services"]})
    chosen = {name: each for name, each in made.items() if not each.get("profiles") or {*each["profiles"]} & {*profiles}}
    return {name: _filled_in(each, variables) for name, each in chosen.items()}


def _read(file: Path) -> dict[str, Any]:
    read: dict[str, Any] = yaml.load(file.read_text(encoding="utf-8"), _Loader)
    for service in read["services"].values():
        if isinstance(service.get("volumes"), list):
            service["volumes"] = [str(file.parent / each) if each.startswith(".") else each for each in service["volumes"]]
    return read


def _extended(file: Path, name: str) -> dict[str, Any]:
    service: dict[str, Any] = copy.deepcopy(_read(file)["services"][name])
    if (other := service.pop("extends", None)) is None:
        return service
    return _merged(_extended(file.parent / other.get("file", file.name), other["service"]), service)


def _merged(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    return {**below, **{key: _over(key, below.get(key), value) for key, value in above.items()}}


def _over(key: str, below: Any, above: Any) -> Any:
    if isinstance(above, _Override):
        return above.value
    if isinstance(below, dict) and isinstance(above, dict):
        return _merged(below, above)
    if not isinstance(below, list) or not isinstance(above, list) or key in _REPLACED:
        return above
    if key == "volumes":
        # One mount takes the place of another at the same point.
        return [*{each.split(":")[1]: each for each in (*below, *above)}.values()]
    return [*below, *(each for each in above if each not in below)]


def _filled_in(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled_in(each, variables) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled_in(each, variables) for each in value]
    return _VARIABLE.sub(lambda found: _variable(found, variables), value) if isinstance(value, str) else value


def _variable(found: "re.Match[str]", variables: Mapping[str, str]) -> str:
    name, sign, text = found[1], found[2], found[3]
    if given := variables.get(name):
        return given
    if sign == "-":
        return text
    msg = f"{name} is not set: {text or ''}"
    raise ValueError(msg)
