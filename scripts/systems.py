"""`make reference`: writes docs/systems.md, every connector with its system, its guarantee and its page, from the registry."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from rocketconnect_sdk.plugins.installed import OURS
from rocketconnect_sdk.plugins.loader import PluginInfo, PluginType, plugins

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "systems.md"

_HEAD = """\
# Systems

Every connector that comes with RocketConnect. `make reference` makes this page from the plugins themselves.

- **EXACTLY_ONCE**: each record is there once, whatever fails.
- **IDEMPOTENT**: a record may be written again, and changes nothing then.
- **AT_LEAST_ONCE**: each record is there; after a failure some may be there twice.
- **depends on the configuration**: the options decide.

`connector.class=direct` joins a source and a sink in one task, without a topic: see [direct task](architecture.md#direct-task).

| plugin | kind | system | guarantee | page |
|---|---|---|---|---|
"""
_ROW = re.compile(r"^\|([^|]+)\|([^|]*)\|([^|]*)\|$", re.MULTILINE)
_KINDS = {PluginType.SOURCE: "source", PluginType.SINK: "sink"}


def page() -> str:
    """Return what docs/systems.md has to be."""
    connectors = [info for info in plugins() if info.package == OURS and info.type in _KINDS and info.name != "direct"]
    return _HEAD + "".join(map(_row, sorted(connectors, key=lambda info: info.name)))


def _row(info: PluginInfo) -> str:
    options = f"[`{info.name}`](reference.md#{info.name})"
    place = place_of(info.name)
    return (
        f"| {options} | {_KINDS[info.type]} | {system_of(info.name)} | {info.guarantee} | [{place.partition('#')[0]}]({place}) |\n"
    )


def system_of(name: str) -> str:
    """What the table of the README says that this connector connects; "", when it is not in it."""
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    return "; ".join(what.strip() for what, source, sink in _ROW.findall(readme) if f"`{name}`" in source + sink)


def place_of(name: str) -> str:
    """Where a connector is described: the page with a section of its name, else the one that leads to its options; "" for none."""
    return next(_places(name), "")


def _places(name: str) -> Iterator[str]:
    texts = {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted(DOCS.glob("*.md"))
        if path not in (PAGE, DOCS / "reference.md")
    }
    yield from (f"{page}#{name}" for page, text in texts.items() if re.search(rf"^## {name}$", text, re.MULTILINE))
    yield from (page for page, text in texts.items() if f"](reference.md#{name})" in text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write("docs/systems.md written\n")
