"""What a conftest.py gives to a test: what applies to all, and of its fixtures those that the test asks for.

Otherwise each test would reach all servers, for the fixtures that start them lie beside each other.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.runner.changed.readings import Reading, imported, read

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(slots=True)
class _Part:
    """A statement at the top of a conftest.py."""

    reading: Reading
    uses: set[str] = field(default_factory=set)
    for_all: bool = False


class Conftest:
    """One conftest.py."""

    def __init__(self, path: str, tree: ast.Module, bound: Mapping[str, Mapping[str, str]]) -> None:
        self._parts: list[_Part] = []
        self._named: dict[str, list[_Part]] = {}
        for statement in tree.body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                for name, module in imported(path, statement):
                    self._keep(_Part(Reading(modules={module})), [name])
                continue
            part = _Part(read(path, statement, bound), {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)})
            if isinstance(statement, _DEFINITIONS):
                part.for_all = statement.name.startswith("pytest_") or "autouse=True" in map(ast.unparse, _keywords(statement))
                self._keep(part, [statement.name, *_other_names(statement)])
            elif isinstance(statement, ast.Assign) and all(isinstance(target, ast.Name) for target in statement.targets):
                names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
                part.for_all = "pytest_plugins" in names
                self._keep(part, names)
            else:
                part.for_all = True
                self._keep(part, [])

    def given(self, words: Iterable[str]) -> Reading:
        """What it names for a test that has these words."""
        waiting = [part for part in self._parts if part.for_all]
        waiting += [part for word in words for part in self._named.get(word, ())]
        found, seen = Reading(), set[int]()
        while waiting:
            part = waiting.pop()
            if id(part) not in seen:
                seen.add(id(part))
                found.add(part.reading)
                waiting += [other for name in part.uses | part.reading.words for other in self._named.get(name, ())]
        return found

    def _keep(self, part: _Part, names: Iterable[str]) -> None:
        self._parts.append(part)
        for name in names:
            self._named.setdefault(name, []).append(part)


def _keywords(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[ast.keyword]:
    return [word for each in node.decorator_list if isinstance(each, ast.Call) for word in each.keywords]


def _other_names(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[str]:
    return [str(word.value.value) for word in _keywords(node) if word.arg == "name" and isinstance(word.value, ast.Constant)]
