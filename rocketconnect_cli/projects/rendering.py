"""The files of a project: the example of a family, as docs/write-a-connector.md has it, under names of one's own. Pure.

What is in `templates` is what that page shows, letter by letter; the names in it are changed here alone.
"""

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from string import Template

from rocketconnect_sdk.wording.counts import counted

_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_LONGEST = 40
_TESTS = "tests"


class Family(StrEnum):
    """What a connector is made of, by what it speaks to."""

    WRITE = "write"
    PARTITION = "partition"
    QUEUE = "queue"
    CURSOR = "cursor"
    LISTEN = "listen"


_EXAMPLES = {
    Family.WRITE: "notes_sink",
    Family.PARTITION: "journal_source",
    Family.QUEUE: "spool_source",
    Family.CURSOR: "inbox_source",
    Family.LISTEN: "lines_source",
}


@dataclass(frozen=True, slots=True)
class Names:
    """What things of a project are called.

    Attributes:
        name: The project, its folder and its distribution.
        family: What its connector is made of.
    """

    name: str
    family: Family

    @property
    def example(self) -> str:
        """The module of the page."""
        return _EXAMPLES[self.family]

    @property
    def module(self) -> str:
        """Of the package: sink or source."""
        return self.example.rpartition("_")[2]

    @property
    def package(self) -> str:
        """What Python imports."""
        return self.name.replace("-", "_")

    @property
    def plugin(self) -> str:
        """What users write into connector.class."""
        return self.package if self.package.endswith(f"_{self.module}") else f"{self.package}_{self.module}"

    @property
    def kind(self) -> str:
        """The class of the connector."""
        return _camel(self.plugin)


def name_problem(name: str) -> tuple[str, str] | None:
    """What is wrong with the name of a project and how to mend it; None: nothing that can be seen in it."""
    if not _NAME.fullmatch(name):
        return "is not made of lower-case letters and digits, with single - or _ between them", "Give one such as weather-notes."
    if len(name) > _LONGEST:
        return f"has {counted(len(name), 'character')}, and at most {_LONGEST} are taken", "Give a shorter one."
    package = name.replace("-", "_")
    if keyword.iskeyword(package) or keyword.issoftkeyword(package):
        return "is a word of Python's own, and no name for a package", f"Give another one, such as my-{name}."
    return ("is the folder of the project's tests", "Give another one.") if package == _TESTS else None


def class_problem(names: Names) -> tuple[str, str] | None:
    """What is wrong with the class that a name would make; None: nothing."""
    if re.search(rf"\b{names.kind}\b", _text(f"{names.example}.py")):
        return f"makes a class {names.kind}, and the code has one of that name", f"Give another one, such as my-{names.name}."
    return None


def files(names: Names) -> Mapping[str, str]:
    """All files of a project, by their paths in its folder."""
    of_project = {
        "name": names.name,
        "package": names.package,
        "module": names.module,
        "plugin": names.plugin,
        "class": names.kind,
    }
    return {
        "pyproject.toml": Template(_text("pyproject.toml")).substitute(of_project),
        "README.md": Template(_text("README.md")).substitute(of_project),
        f"{names.package}/__init__.py": f'"""The connector {names.plugin}."""\n',
        f"{names.package}/{names.module}.py": _renamed(_text(f"{names.example}.py"), names),
        f"{_TESTS}/test_{names.module}.py": _renamed(_text(f"test_{names.example}.py"), names),
    }


def _renamed(text: str, names: Names) -> str:
    old = names.example
    for word, mine in (
        (f"from {old} import", f"from {names.package}.{names.module} import"),
        (_camel(old), names.kind),
        (old, names.plugin),
        (f"Test{_camel(old.rpartition('_')[0])}", f"Test{names.kind}"),
    ):
        text = re.sub(rf"\b{word}\b", mine, text)
    return text


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _text(name: str) -> str:
    return resources.files(__package__).joinpath("templates", f"{name}.txt").read_text(encoding="utf-8")
