"""A configuration that uses a plugin, made of what executors tell of its options: what has to be given, with values. Pure.

A source, a sink and a direct connector are configured by themselves; a converter, a transform and a predicate stand in a sink that
prints what it reads.
"""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Plugin = Mapping[str, Any]
"""A plugin as the API tells it: connector/v1 Plugin."""

_CLASS = "connector.class"
_NAME = ".NAME."
_STEP = "step"
_WHICH = "which"
_TOPIC = "orders"
_ORDER = ("", "source", "sink", "converters", "common")
_WIDTH = 120
_PLAIN = re.compile(r"[A-Za-z0-9/$(][A-Za-z0-9_./$(){}:@+=*,-]*")
"""What YAML takes for a text, or for something that is read as it is written."""
_OF_KIND = {"int": "1", "float": "1.0", "bool": "true", "bytes": "1MiB", "duration": "10s"}
"""Where an option says neither what one would write nor what it has by itself."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A line of a configuration, with what it does."""

    key: str
    value: str
    comment: str


def settings(plugin: Plugin, kind: str, plugins: Iterable[Plugin]) -> list[Setting]:
    """The configuration, in the order in which people read it.

    Args:
        plugin: What it is an example of.
        kind: Its type, in one word.
        plugins: All that executors offer: the halves of a direct connector are among them.
    """
    if kind in ("source", "sink"):
        return [Setting(_CLASS, plugin["name"], plugin.get("summary", "")), *_given(plugin)]
    if kind == "direct":
        return [
            Setting(_CLASS, plugin["name"], plugin.get("summary", "")),
            *_halves(plugin, {each["name"]: each for each in plugins}),
        ]
    printed = [
        Setting(_CLASS, "stdout", "A sink that prints what it reads into the log of its executor."),
        Setting("topics", _TOPIC, "The topics that are read, separated by commas."),
        Setting("engine", "native", "Without Spark: it starts at once."),
    ]
    if kind == "converter":
        return [
            *printed,
            Setting("value.converter", plugin["name"], plugin.get("summary", "")),
            *_given(plugin, "value.converter."),
        ]
    read = Setting("value.converter", "json", "What the values are: transforms change their fields.")
    if kind == "transform":
        return [*printed, read, *_step(plugin["name"], plugin.get("summary", "")), *_given(plugin, f"transforms.{_STEP}.")]
    return [
        *printed,
        read,
        *_step("drop", "What is done with the records that are chosen: they go no further."),
        Setting(f"transforms.{_STEP}.predicate", _WHICH, "Only records that this predicate chooses."),
        Setting("predicates", _WHICH, "The predicates by names of your own, separated by commas."),
        Setting(f"predicates.{_WHICH}.type", plugin["name"], plugin.get("summary", "")),
        *_given(plugin, f"predicates.{_WHICH}."),
    ]


def as_yaml(name: str, of: str, found: Iterable[Setting]) -> str:
    """A file for `rocketconnect apply`.

    Args:
        name: What the connector is called there.
        of: The plugin.
        found: Its configuration.
    """
    lines = [
        f"# Put your own values in, then: rocketconnect apply -f FILE. All options: rocketconnect plugins show {of}",
        f"name: {name}",
        "config:",
    ]
    for setting in found:
        lines += textwrap.wrap(setting.comment, _WIDTH, initial_indent="  # ", subsequent_indent="  # ", break_on_hyphens=False)
        lines.append(f"  {setting.key}: {_scalar(setting.value)}")
    return "\n".join(lines)


def as_document(name: str, found: Iterable[Setting]) -> dict[str, Any]:
    """The same for programs, as `rocketconnect apply` takes it, too."""
    return {"name": name, "config": {setting.key: setting.value for setting in found}}


def name_of(plugin: Plugin) -> str:
    """What the connector of the example is called."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", str(plugin["name"])).strip("-") or "example"


def _step(transform: str, comment: str) -> Iterator[Setting]:
    yield Setting("transforms", _STEP, "The steps by names of your own, separated by commas, in their order.")
    yield Setting(f"transforms.{_STEP}.type", transform, comment)


def _halves(plugin: Plugin, others: Mapping[str, Plugin]) -> Iterator[Setting]:
    for setting in _given(plugin):
        yield setting
        half, _, key = setting.key.partition(".")
        if key == _CLASS and setting.value in others:
            of_half = (option for option in others[setting.value].get("options", ()) if not option.get("group"))
            yield from _settings(of_half, f"{half}.")


def _given(plugin: Plugin, prefix: str = "") -> Iterator[Setting]:
    known = [option for option in plugin.get("options", ()) if option["key"] not in (_CLASS, *(("type",) if prefix else ()))]
    return _settings(sorted(known, key=lambda option: _ORDER.index(option.get("group", ""))), prefix)


def _settings(options: Iterable[Mapping[str, Any]], prefix: str) -> Iterator[Setting]:
    values: dict[str, str] = {}
    for option in options:
        if option.get("required") or option.get("example"):
            # One that there is for each of some names, targets.NAME.url, stands once: for the name that is their example.
            listed, each, key = option["key"].partition(_NAME)
            key = f"{listed}.{values[listed]}.{key}" if each else listed
            values[key] = _value(option)
            yield Setting(f"{prefix}{key}", values[key], " ".join(str(option.get("documentation", "")).split()))


def _value(option: Mapping[str, Any]) -> str:
    """What the option says itself, or what fits its type."""
    if option.get("example"):
        return str(option["example"])
    if option.get("secret"):
        return f"${{env:{re.sub('[^A-Z0-9]+', '_', option['key'].upper())}}}"
    known = option.get("defaultValue") or next(filter(None, option.get("choices", ())), "") or option.get("minimum")
    return str(known or _OF_KIND.get(option.get("type", ""), option["key"]))


def _scalar(value: str) -> str:
    is_plain = _PLAIN.fullmatch(value) and not value.endswith(":") and value.lower() != "null"
    return value if is_plain else json.dumps(value, ensure_ascii=False)
