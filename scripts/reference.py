"""`make reference`: writes docs/reference.md, every plugin with its options, from their definitions.

What it says is what executors tell of their plugins and `rocketconnect plugins show` prints; those of other packages are left out.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict

from pyspark_rocketmq import settings
from rocketconnect_cli.commands.plugins import kind_of, told
from rocketconnect_sdk.claim_check import options as claim_check
from rocketconnect_sdk.configuration import runtime_options
from rocketconnect_sdk.configuration.connector_options import sink_options
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.plugins.installed import OURS
from rocketconnect_sdk.plugins.loader import PluginInfo, PluginType, find, plugins
from rocketconnect_sdk.queries.options import OPTIONS
from rocketconnect_sdk.sink import Sink
from rocketconnect_sdk.transforms import chain
from services.executor import wire
from services.executor.host.jobs.plugins import described

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "reference.md"

_HEAD = """\
# Plugins and their options

Every plugin that comes with RocketConnect, and all of its options, as their definitions say: `make reference` makes this page.
`rocketconnect plugins list` and `rocketconnect plugins show NAME` say the same of what executors offer now, plugins of other
packages included. More about them: [connectors](connectors.md), [transforms](transforms.md), [converters](converters.md).

What is written in a configuration, by the type of an option:

| type | written |
|---|---|
| string | text |
| int, float | `8`, `0.5` |
| bool | `true`, `false` |
| bytes | a size: `1048576`, `64KiB`, `10MB` |
| duration | `500ms`, `10s`, `5m`, `1h`, or seconds |
| list | `a,b,c` |
"""

_PAGES = [DOCS / name for name in ("connectors.md", "files.md", "transforms.md", "converters.md")]
_KINDS = {
    "source": ("Sources", "`connector.class=NAME`."),
    "sink": ("Sinks", "`connector.class=NAME`."),
    "direct": ("Direct", "`connector.class=direct`; the options of its source and its sink stand behind `source.` and `sink.`."),
    "converter": (
        "Converters",
        "`value.converter=NAME` and `key.converter=NAME`; their options stand behind `value.converter.` and `key.converter.`.",
    ),
    "transform": (
        "Transforms",
        "`transforms.STEP.type=NAME` with a name of your own for the step; their options stand behind `transforms.STEP.`.",
    ),
    "predicate": (
        "Predicates",
        "`predicates.WHICH.type=NAME` with a name of your own; their options stand behind `predicates.WHICH.`.",
    ),
}
_RUNTIME: tuple[tuple[str, tuple[Option, ...]], ...] = (
    ("Every connector", runtime_options.COMMON),
    ("Every source and every sink", runtime_options.CONVERTERS),
    ("Every source", runtime_options.SOURCE),
    ("Every sink", runtime_options.SINK),
    ("Every source, for the claim check", claim_check.source_options()),
    ("Every sink, for the claim check", claim_check.sink_options()),
    ("Every sink, for SQL", OPTIONS),
    ("Every transform", chain.STEP),
    ("Every predicate", chain.PREDICATE),
)


def page() -> str:
    """Return what docs/reference.md has to be."""
    infos = [info for info in plugins() if info.package == OURS]
    found = [_message(described(info, (*info.options, *_suited(info)))) for info in infos]
    parts = [_HEAD, *_index(found), "## Options that plugins have without their doing\n"]
    for title, options in _RUNTIME:
        parts += [f"### {title}\n", _table(_message(described(infos[0], options))["options"])]
    for kind, (title, written) in _KINDS.items():
        parts += [f"## {title}\n", f"Written as {written}\n"]
        parts += [part for plugin in found if kind_of(plugin) == kind for part in _section(plugin)]
    parts.append('## The format "rocketmq" of Spark\n\nOptions of jobs of your own: see [topics in PySpark](spark.md).\n')
    for title, options in (("When it reads", settings.READING), ("When it writes", settings.WRITING)):
        parts += [f"### {title}\n", _table(_message(described(infos[0], options))["options"])]
    return "\n".join(parts)


def _suited(info: PluginInfo) -> Iterator[Option]:
    """Yield the options that every sink has and of which this one has a default of its own."""
    plugin = find(info.name) if info.type is PluginType.SINK else None
    if isinstance(plugin, Sink):
        yield from (option for option in sink_options(plugin) if option.key in plugin.defaults)


def _message(plugin: Any) -> dict[str, Any]:
    found: dict[str, Any] = MessageToDict(wire.plugin(plugin), always_print_fields_with_no_presence=True)
    return found


def _index(found: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield "| plugin | type | what it does |\n|---|---|---|"
    by_kind = sorted(found, key=lambda plugin: list(_KINDS).index(kind_of(plugin)))
    yield from (f"| [`{one['name']}`](#{one['name']}) | {kind_of(one)} | {_escaped(one['summary'])} |" for one in by_kind)
    yield ""


def _section(plugin: dict[str, Any]) -> Iterator[str]:
    name = plugin["name"]
    yield f"### {name}\n"
    yield _linked(_escaped(plugin["summary"])) + "\n"
    if plugin["documentation"]:
        yield _linked(_escaped(plugin["documentation"])) + "\n"
    facts = [f"Version {plugin['version']}."]
    if plugin["guarantee"]:
        facts.append(f"Delivery: {plugin['guarantee']}.")
    if plugin["engines"]:
        facts.append(f"Engines: {', '.join(plugin['engines'])}.")
    if plugin["aliases"]:
        facts.append(f"Also known as {', '.join(f'`{alias}`' for alias in plugin['aliases'])}.")
    facts += [f"[More]({more})." for more in _places_of(name)]
    yield " ".join(facts) + "\n"
    if plugin["options"]:
        yield _table(plugin["options"])
    for signal in plugin["signals"]:
        yield f"Signal `{signal['name']}`: {_linked(_escaped(signal['documentation']))}\n"
        if signal["arguments"]:
            yield _table(signal["arguments"], "argument")


def _places_of(name: str) -> Iterator[str]:
    """Yield where other pages have a section about it."""
    for more in _PAGES:
        for heading in re.findall(r"^##+ (.*)$", more.read_text(encoding="utf-8"), re.MULTILINE):
            anchor = heading.lower().replace(" ", "-")
            if anchor.replace("-", "_") == name:
                yield f"{more.name}#{anchor}"


def _table(options: Iterable[dict[str, Any]], what: str = "option") -> str:
    return "\n".join([f"| {what} | type | default | what it does |", "|---|---|---|---|", *map(_row, options), ""])


def _row(option: dict[str, Any]) -> str:
    also = f" (also {', '.join(f'`{alias}`' for alias in option['aliases'])})" if option["aliases"] else ""
    default = "required" if option["required"] else f"`{option['defaultValue']}`" if option["defaultValue"] else ""
    return f"| `{option['key']}`{also} | {option['type']} | {default} | {_linked(_escaped(told(option)))} |"


def _escaped(text: str) -> str:
    """With what Markdown would take for its own taken as it is, but for code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([|<*]|(?<!\w)_)", r"\\\1", part) for part in parts)


def _linked(text: str) -> str:
    return re.sub(r"docs/([a-z-]+\.md)", r"[\1](\1)", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(DOCS.parent)} written\n")
