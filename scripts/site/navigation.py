"""The navigation of the site, as zensical.toml has it. Pure."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def pages(config: Path = ROOT / "zensical.toml") -> list[str]:
    """The pages that the navigation names, in its order: paths below docs/."""
    return list(_named(tomllib.loads(config.read_text(encoding="utf-8"))["project"]["nav"]))


def _named(entries: list[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        for target in entry.values():
            if isinstance(target, str):
                yield target
            else:
                yield from _named(target)
