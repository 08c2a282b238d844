"""Which tests are slow for what they cost, beside those that say so themselves.

`tests/tiers.toml` names files, folders and classes whose tests are slow together, as what they need takes long to start, and tests
that stay fast whatever they cost. `tests/costly.tsv` names the tests that cost too much, as `python -m tests.runner.spent.costly`
chose them. An entry whose test is gone ends a run of all tests with its name.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

FILE = "tests/tiers.toml"
COSTLY = "tests/costly.tsv"
_HEAD = "seconds\ttest\n"


@dataclass(frozen=True)
class Tiers:
    """What the two files say."""

    fast: frozenset[str]
    """Tests that stay fast."""
    places: tuple[str, ...]
    """Files, folders and classes whose tests are slow."""
    costly: Mapping[str, float]
    """Tests that are slow for what they cost, with their seconds."""

    def is_slow(self, nodeid: str) -> bool:
        """Whether a test is slow though it does not say so."""
        return nodeid not in self.fast and (nodeid in self.costly or nodeid.startswith(self.starts))

    def unknown(self, nodeids: Iterable[str]) -> list[str]:
        """Entries that name none of these tests, which are all that there are."""
        there = set(nodeids)
        empty = [place for place in self.places if not any(each.startswith(_below(place)) for each in there)]
        return sorted({*self.fast, *self.costly} - there) + empty

    @cached_property
    def starts(self) -> tuple[str, ...]:
        """How the names of tests in the places begin."""
        return tuple(start for place in self.places for start in _below(place))


def _below(place: str) -> tuple[str, str]:
    """How the names of the tests in a place begin."""
    return f"{place}::", f"{place}/"


def read(root: Path) -> Tiers:
    """What is there; nothing where a file is missing. Raises ValueError for one that is not of its form."""
    given = tomllib.loads((root / FILE).read_text(encoding="utf-8")) if (root / FILE).exists() else {}
    costly = read_costly((root / COSTLY).read_text(encoding="utf-8")) if (root / COSTLY).exists() else {}
    return Tiers(frozenset(given.get("fast", ())), tuple(given.get("slow", {})), costly)


def read_costly(text: str) -> dict[str, float]:
    """The tests of such a table, with their seconds. Raises ValueError for a text that is none."""
    if not text.startswith(_HEAD):
        raise ValueError(f"no table of costly tests: its first line is not {_HEAD.strip()!r}")
    # A parameter in the name of a test may have any sign but these two; pytest escapes them.
    rows = (line.split("\t") for line in text.removeprefix(_HEAD).split("\n") if line)
    return {nodeid: float(seconds) for seconds, nodeid in rows}


def written(costly: Mapping[str, float]) -> str:
    """The table of these tests, by their names."""
    return _HEAD + "".join(f"{seconds:.1f}\t{nodeid}\n" for nodeid, seconds in sorted(costly.items()))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as slow what the files name. Raises pytest.UsageError for an entry without a test, when all tests are collected."""
    tiers = read(config.rootpath)
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and (gone := tiers.unknown(item.nodeid for item in items)):
        raise pytest.UsageError(f"{FILE} and {COSTLY} name what is no test any more: {', '.join(gone)}")
    for item in items:
        if tiers.is_slow(item.nodeid):
            item.add_marker(pytest.mark.slow)
