"""Which tests a change of a file can reach. Pure: it is given the texts of all files.

A file reaches what it imports, wherever it does so; the packages above that; the modules and files that it names in texts; and what
lies beside it and nobody names. A test also has each conftest.py above it, with the fixtures that it asks for. What can't be seen
in the texts is declared in tests/reaches.toml.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache, cached_property
from pathlib import PurePosixPath

from tests.runner.changed.conftests import Conftest
from tests.runner.changed.readings import Reading, folders_bound, module_of, read

# A connector is named by its kind, like file_sink, wherever one is configured.
_CONNECTORS = "connectors"
_CONFORMANCE = "rocketconnect_sdk/conformance/"


@dataclass(frozen=True, slots=True)
class Declared:
    """What tests/reaches.toml says."""

    all_tests: tuple[str, ...] = ()
    """Patterns of files that each test depends on."""
    never_by_name: tuple[str, ...] = ()
    """Files that make names of modules from what others ask for: what is asked for counts at those."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """Names of commands, and the files that they start."""
    reaches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By file or folder (it ends with /): patterns of files that it reaches besides."""


class Graph:
    """The files of a repository; `texts` are those of Python, `others` the paths of all else, files that went among them."""

    def __init__(self, texts: Mapping[str, str], others: Iterable[str], declared: Declared) -> None:
        self._declared = declared
        self._files = {*texts, *others}
        self._trees = {path: ast.parse(text) for path, text in texts.items()}
        self._modules = {module_of(path): path for path in self._files if path.endswith(".py")}
        self._bound = {
            module_of(path): folders_bound(path, tree) for path, tree in self._trees.items() if "__file__" in texts[path]
        }
        self.readings = {path: read(path, tree, self._bound) for path, tree in self._trees.items()}

    @cached_property
    def tests(self) -> list[str]:
        """All files of tests."""
        return sorted(path for path in self._trees if path.startswith("tests/") and _is_test(path))

    def reached_by(self, path: str) -> set[str]:
        """The test files that a change of this file can reach."""
        if any(fnmatch(path, pattern) for pattern in self._declared.all_tests):
            return set(self.tests)
        seen, waiting = {path}, [path]
        while waiting:
            for above in self._reached_from[waiting.pop()] - seen:
                seen.add(above)
                waiting.append(above)
        return seen & set(self.tests)

    def looking_around(self) -> list[str]:
        """The files of tests that take the root of the repository, and do not declare what they look at."""
        return [
            path
            for path, reading in sorted(self.readings.items())
            if path.startswith("tests/") and reading.looks_around and not self._is_declared(path)
        ]

    @cached_property
    def _reached_from(self) -> dict[str, set[str]]:
        backwards: dict[str, set[str]] = defaultdict(set)
        for path, reached in self._edges.items():
            for each in reached:
                backwards[each].add(path)
        return backwards

    @cached_property
    def _edges(self) -> dict[str, set[str]]:
        edges = {path: set(self._of(path, reading)) for path, reading in self.readings.items() if not _is_conftest(path)}
        # A test may name a part of the product that the product itself does not, like a migration.
        product = set().union(*(reached for path, reached in edges.items() if not path.startswith("tests/")))
        # A conftest.py that is not parsed because it went, and whose change reaches all below it, is among the others.
        conftests = {path: Conftest(path, self._trees[path], self._bound) for path in self._trees if _is_conftest(path)}
        for test in self.tests:
            for above in PurePosixPath(test).parents:
                path = f"{above}/conftest.py"
                if path in self._files:
                    edges[test].add(path)
            words, applied = self._words(test, edges), [path for path in edges[test] if path in conftests]
            given = Reading()
            while True:
                before = len(words)
                for path in applied:
                    given.add(conftests[path].given(words))
                words |= given.words
                if len(words) == before:
                    break
            for path in applied:
                edges[test] |= set(self._of(path, given))
        named = {path for path in set().union(*edges.values()) if path.startswith("tests/")} | product | set(self.tests)
        for path, reached in edges.items():
            for pattern in self._declarations(path):
                reached.update(self._matching(pattern))
        for path in self._files - named - self._started:
            for owner in self._beside(path, named):
                edges[owner].add(path)
        return edges

    def _words(self, test: str, edges: Mapping[str, set[str]]) -> set[str]:
        """The words of a test and of the modules of tests that it is made of: base classes ask for fixtures, too."""
        seen, waiting = {test}, [test]
        while waiting:
            for each in edges.get(waiting.pop(), set()) - seen:
                if each.endswith(".py") and each.startswith(("tests/", _CONFORMANCE)) and not _is_conftest(each):
                    seen.add(each)
                    waiting.append(each)
        return set().union(*(self.readings[path].words for path in seen if path in self.readings))

    def _of(self, path: str, reading: Reading) -> Iterator[str]:
        for module in reading.modules:
            yield from self._module(module, runs=False)
        for module in reading.named:
            yield from self._module(module, runs=True)
        for text in reading.paths:
            yield from self._path(path, text)
        if path not in self._declared.never_by_name:
            for pattern in reading.patterns:
                yield from self._named_like(pattern)
        if path.startswith("tests/"):
            yield from self._named_by_tests(reading)

    def _named_by_tests(self, reading: Reading) -> Iterator[str]:
        words = reading.words | {PurePosixPath(text).name for text in reading.paths}
        connectors = (self._modules.get(f"{_CONNECTORS}.{word}") for word in words)
        yield from (path for path in connectors if path is not None)
        yield from (path for command, path in self._declared.commands.items() if command in words)

    @cache  # noqa: B019 - a run has one graph
    def _named_like(self, pattern: str) -> list[str]:
        found = {name for module in self._modules if re.fullmatch(pattern, name := module.removesuffix(".__main__"))}
        return [path for module in found for path in self._module(module, runs=True)]

    @cache  # noqa: B019 - a run has one graph
    def _matching(self, pattern: str) -> list[str]:
        return [each for each in self._files if fnmatch(each, pattern) and not _is_test(each)]

    def _module(self, name: str, *, runs: bool) -> Iterator[str]:
        """The file of a dotted name, whose last parts may be names in it, and the packages above it; what runs has a __main__."""
        parts = name.split(".")
        for count in range(len(parts), 0, -1):
            at = ".".join(parts[:count])
            found = [self._modules[each] for each in (at, f"{at}.__main__")[: 1 + runs] if each in self._modules]
            if found:
                yield from found
                yield from (self._modules[above] for end in range(1, count) if (above := ".".join(parts[:end])) in self._modules)
                return

    def _path(self, by: str, text: str) -> Iterator[str]:
        """The file of a path, or the files below it; tests there are not what somebody reads."""
        if text in self._files:
            yield text
        elif text in self._folders:
            yield from (each for each in self._folders[text] if not _is_test(each) and not _is_conftest(each) and each != by)

    @cached_property
    def _folders(self) -> dict[str, list[str]]:
        folders: dict[str, list[str]] = defaultdict(list)
        for path in self._files:
            for above in PurePosixPath(path).parents:
                folders[str(above)].append(path)
        return folders

    @cached_property
    def _started(self) -> set[str]:
        """What runs for who names it alone: commands, packages that are run, connectors."""
        mains = {path for path in self._files if PurePosixPath(path).name == "__main__.py"}
        connectors = {path for module, path in self._modules.items() if re.fullmatch(rf"{_CONNECTORS}\.\w+", module)}
        return mains | connectors | set(self._declared.commands.values())

    def _beside(self, path: str, named: set[str]) -> list[str]:
        """The modules of the nearest folder above that has some which others name; none for the top of the repository."""
        if _is_test(path) or _is_conftest(path):
            return []
        for above in PurePosixPath(path).parents:
            found = [each for each in self._by_folder.get(str(above), []) if each in named and not _is_conftest(each)]
            if found and str(above) != ".":
                return found
        return []

    @cached_property
    def _by_folder(self) -> dict[str, list[str]]:
        folders: dict[str, list[str]] = defaultdict(list)
        for path in self._trees:
            folders[str(PurePosixPath(path).parent)].append(path)
        return folders

    def _is_declared(self, path: str) -> bool:
        return next(self._declared_at(path), None) is not None

    def _declarations(self, path: str) -> Iterator[str]:
        for patterns in self._declared_at(path):
            yield from patterns

    def _declared_at(self, path: str) -> Iterator[tuple[str, ...]]:
        for place, patterns in self._declared.reaches.items():
            if path == place or (place.endswith("/") and path.startswith(place)):
                yield patterns


def _is_test(path: str) -> bool:
    name = PurePosixPath(path).name
    return name.startswith("test_") and name.endswith(".py")


def _is_conftest(path: str) -> bool:
    return PurePosixPath(path).name == "conftest.py"
