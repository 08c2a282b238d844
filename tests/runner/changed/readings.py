"""What a file of Python names: modules, paths of the repository, and words, as far as that can be told without running it."""

import ast
import posixpath
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

_CODE = re.compile(r"^\s*(from [\w.]+ import|import \w)", re.MULTILINE)
_DOTTED = re.compile(r"[a-z_][\w]*(\.[\w]+)+(:\w+)?")
_PATH = re.compile(r"[\w.-]+(/[\w.-]+)+/?")


@dataclass(slots=True)
class Reading:
    """What one file names, or a part of it."""

    modules: set[str] = field(default_factory=set)
    """Dotted names that it imports; the last parts may be names in a module."""
    named: set[str] = field(default_factory=set)
    """Dotted names that it has as texts: what it may start, too."""
    patterns: set[str] = field(default_factory=set)
    """Regular expressions of dotted names: `services.{name}` in an f-string."""
    paths: set[str] = field(default_factory=set)
    """Paths from the root of the repository, of files and folders."""
    words: set[str] = field(default_factory=set)
    """Its arguments' names and its texts of one word: fixtures, connectors."""
    looks_around: bool = False
    """It takes the root of the repository for something else than to name what is below."""

    def add(self, other: "Reading") -> None:
        """Name what the other names, too."""
        self.modules |= other.modules
        self.named |= other.named
        self.patterns |= other.patterns
        self.paths |= other.paths
        self.words |= other.words
        self.looks_around |= other.looks_around


def module_of(path: str) -> str:
    """The dotted name under which this file is imported."""
    return path.removeprefix("protos/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def folders_bound(path: str, tree: ast.Module) -> dict[str, str]:
    """The names at the top of a module that stand for paths of the repository."""
    reader = _Reader(path, {})
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
            found = reader.place(statement.value)
            if found is not None:
                reader.places[statement.targets[0].id] = found
    return reader.places


def read(path: str, tree: ast.Module | ast.stmt, bound: Mapping[str, Mapping[str, str]]) -> Reading:
    """What a module names, or one statement of it; `bound` has the names that stand for paths, by module."""
    places = dict(bound.get(module_of(path), {}))
    for node in tree.body if isinstance(tree, ast.Module) else ():
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module in bound:
            for name in node.names:
                if name.name in bound[node.module]:
                    places[name.asname or name.name] = bound[node.module][name.name]
    reader = _Reader(path, places, knows_places=bool(places) or module_of(path) in bound)
    reader.visit(tree)
    return reader.found


def imported(path: str, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """The names that an import binds, and the dotted names behind them."""
    if isinstance(node, ast.Import):
        for name in node.names:
            yield name.asname or name.name.partition(".")[0], name.name
        return
    above = module_of(path).split(".")
    if not path.endswith("/__init__.py"):
        above = above[:-1]
    base = ".".join([*above[: len(above) - node.level + 1], *([node.module] if node.module else [])]) if node.level else node.module
    for name in node.names:
        yield name.asname or name.name, f"{base}.{name.name}"


class _Reader(ast.NodeVisitor):
    def __init__(self, path: str, places: dict[str, str], *, knows_places: bool = True) -> None:
        self.path = path
        self.places = places
        self.found = Reading()
        # To look for places takes longer than all else.
        self._knows_places = knows_places

    def visit(self, node: ast.AST) -> None:
        found = self.place(node) if self._knows_places and isinstance(node, ast.expr) else None
        if found is not None:
            self._reach(found)
        else:
            super().visit(node)

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        # Whoever uses the name of a path reaches it, not who gives it.
        bound = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if not bound or not bound <= self.places.keys():
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.found.modules |= {module for _name, module in imported(self.path, node)}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.found.modules |= {module for _name, module in imported(self.path, node)}

    def visit_arg(self, node: ast.arg) -> None:
        self.found.words.add(node.arg)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        # A path below one that is known, by a name that is not: anything there.
        if isinstance(node.op, ast.Div) and (left := self.place(node.left)) is not None:
            self._reach(left)
            self.visit(node.right)
        else:
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        parts = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(re.escape(str(part.value)))
            elif isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name) and part.value.id == "__name__":
                parts.append(re.escape(module_of(self.path)))
            else:
                parts.append(r"\w+")
        if re.match(r"\w+\\\.", parts[0] if parts else ""):
            self.found.patterns.add("".join(parts))
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part)

    def visit_Constant(self, node: ast.Constant) -> None:
        text = node.value
        if not isinstance(text, str):
            return
        if text.isidentifier():
            self.found.words.add(text)
        elif _DOTTED.fullmatch(text):
            self.found.named.add(text.partition(":")[0])
        elif _PATH.fullmatch(text):
            self.found.paths.add(text.rstrip("/"))
        elif _CODE.search(text):
            try:
                inner = ast.parse(textwrap.dedent(text))
            except SyntaxError:
                return
            self.generic_visit(inner)

    def place(self, node: ast.AST) -> str | None:
        """The path from the root that an expression stands for; None: none that can be told."""
        found = None
        match node:
            case ast.Call(func=ast.Name(id="Path" | "PurePath"), args=[ast.Name(id="__file__")]):
                found = self.path
            case ast.Name(id=name):
                found = self.places.get(name)
            case ast.Call(func=ast.Attribute(value=value, attr="resolve" | "absolute"), args=[]):
                found = self.place(value)
            case ast.Attribute(value=value, attr="parent"):
                found = self._above(value, 1)
            case ast.Subscript(value=ast.Attribute(value=value, attr="parents"), slice=ast.Constant(value=int(number))):
                found = self._above(value, number + 1)
            case ast.BinOp(left=value, op=ast.Div(), right=ast.Constant(value=str(text))):
                found = self._below(self.place(value), text)
            case ast.Call(func=ast.Attribute(value=value, attr="joinpath"), args=[ast.Constant(value=str(text))]):
                found = self._below(self.place(value), text)
            case ast.Call(func=ast.Attribute(value=value, attr="with_name"), args=[ast.Constant(value=str(text))]):
                found = self._below(self._above(value, 1), text)
        return found

    def _above(self, node: ast.AST, levels: int) -> str | None:
        below = self.place(node)
        if below is None or len(PurePosixPath(below).parts) < levels:
            return None
        return posixpath.join(*PurePosixPath(below).parts[:-levels], "").rstrip("/")

    def _below(self, folder: str | None, text: str) -> str | None:
        return None if folder is None else posixpath.normpath(posixpath.join(folder, text))

    def _reach(self, path: str) -> None:
        # Who takes a file's own path names nothing.
        if path == self.path:
            return
        if path in {"", "."}:
            self.found.looks_around = True
        else:
            self.found.paths.add(path)
