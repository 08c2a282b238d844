"""Reads connectors from files: YAML (any number in a file), JSON (one) and .properties (one, named by the file).

A connector is `name`, `config` and, if wanted, `wanted_state`; what `connector get -o json` prints is one, too. Values are
taken as they are written: `0777` and `no` are texts, as in a .properties file.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rocketconnect_cli.documents import configuration

ENDINGS = (".yaml", ".yml", ".json", ".properties")
LARGEST_FILE = 16 * 1024 * 1024
WANTED = ("RUNNING", "PAUSED", "STOPPED")
_STATE_KEYS = ("wanted_state", "wantedState")
_KNOWN = ("name", "config", *_STATE_KEYS)
_ANSWERED = ("uid", "revision", "etag", "type", "createTime", "updateTime", "restarts", "applySet")
"""What `connector get -o json` prints beside: the service's to say, so it is passed over."""

_NULLS = ("", "~", "null", "Null", "NULL")

Problem = dict[str, str]


@dataclass(frozen=True, slots=True)
class Document:
    """A connector as a file wants it.

    Attributes:
        name: Its name.
        config: Its whole configuration.
        wanted_state: RUNNING, PAUSED or STOPPED; "" leaves it as it is, or RUNNING when it is new.
        place: Where it stands: "dir/a.yaml:12".
    """

    name: str
    config: dict[str, str]
    wanted_state: str
    place: str


@dataclass(frozen=True, slots=True)
class _Node:
    """A value of a file and its place: None is null, a str is a scalar as it was written."""

    value: "str | list[Any] | dict[str, _Node] | None"
    place: str


def read(paths: Sequence[Path]) -> tuple[list[Document], list[Problem]]:
    """All connectors of the files, and of the files in the folders; and everything that is wrong with them.

    A connector is among them when its name and its configuration can be read, whatever else is wrong with it.

    Of a folder the files with the known endings are read, not those of folders in it and none whose name begins with a dot.
    "-" is standard input (YAML or JSON).
    """
    problems: list[Problem] = []
    documents = []
    for file in _files(paths, problems):
        found = list(_documents(file, problems))
        documents += found
    problems += _doubles(documents)
    return documents, problems


def _files(paths: Sequence[Path], problems: list[Problem]) -> Iterator[Path]:
    seen = set()
    for path in paths:
        listed = [path]
        if path.is_dir():
            try:
                listed = sorted(
                    each for each in path.iterdir() if each.suffix in ENDINGS and each.name[0] != "." and each.is_file()
                )
            except OSError as error:
                problems.append(_problem(str(path), f"can't be listed: {error.strerror}", "Give a readable folder."))
                continue
            if not listed:
                fix = f"Give the folder that holds the files ({', '.join(ENDINGS)}); files in folders below it are not read."
                problems.append(_problem(str(path), "holds no connector files", fix))
        for file in listed:
            # The same file may be named twice, as itself and by its folder.
            if (same := file.resolve()) not in seen:
                seen.add(same)
                yield file


def _documents(file: Path, problems: list[Problem]) -> Iterator[Document]:
    place = "standard input" if str(file) == "-" else str(file)
    text = _text(file, place, problems)
    if text is None:
        return
    if file.suffix == ".properties":
        found: list[Problem] = []
        config = configuration.parse_properties(file, text, found)
        problems += found
        if not found:
            yield Document(file.stem, config, "", place)
        return
    before = len(problems)
    nodes = list(_json(text, place, problems) if _is_json(file, text) else _yaml(text, place, problems))
    if not nodes and len(problems) == before:
        problems.append(_problem(place, "holds no connector", "Write name and config, or take the file away."))
    for node in nodes:
        document = _document(node, problems)
        if document is not None:
            yield document


def _text(file: Path, place: str, problems: list[Problem]) -> str | None:
    try:
        content = sys.stdin.buffer.read(LARGEST_FILE + 1) if str(file) == "-" else _content(file)
        if len(content) > LARGEST_FILE:
            problems.append(_problem(place, f"has more than {LARGEST_FILE:,} bytes", "Give files of connectors."))
            return None
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        problems.append(_problem(place, "is no file and no folder", "Give the path of one."))
        return None
    except (OSError, UnicodeDecodeError) as error:
        problems.append(_problem(place, f"can't be read: {error}", "Give a readable UTF-8 file."))
        return None


def _content(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(LARGEST_FILE + 1)


def _is_json(file: Path, text: str) -> bool:
    return file.suffix == ".json" or (str(file) == "-" and text.lstrip().startswith("{"))


def _json(text: str, place: str, problems: list[Problem]) -> Iterator[_Node]:
    def members(pairs: list[tuple[str, Any]]) -> _Node:
        given: dict[str, _Node] = {}
        for key, value in pairs:
            if key in given:
                problems.append(_problem(f"{place}: {key}", "is given twice", "Give it once."))
            given[key] = node(value)
        return _Node(given, place)

    def node(value: Any) -> _Node:
        if isinstance(value, bool):
            return _Node("true" if value else "false", place)
        return value if isinstance(value, _Node) else _Node(value, place)

    try:
        # Numbers stay as they were written.
        yield node(json.loads(text, object_pairs_hook=members, parse_int=str, parse_float=str, parse_constant=str))
    except json.JSONDecodeError as error:
        where = f"{place}:{error.lineno}:{error.colno}"
        problems.append(_problem(where, f"is not valid JSON: {error.msg}", 'Write {"name": "...", "config": {...}}.'))
    except RecursionError:
        problems.append(_problem(place, "is not valid JSON: nested too deep", 'Write {"name": "...", "config": {...}}.'))


def _yaml(text: str, place: str, problems: list[Problem]) -> Iterator[_Node]:
    made: dict[int, _Node] = {}

    def node(of: yaml.Node) -> _Node:
        # What an alias stands for is made once: aliases of aliases would be more than memory holds (invariant 7).
        if id(of) not in made:
            made[id(of)] = _Node(value(of), f"{place}:{of.start_mark.line + 1}")
        return made[id(of)]

    def value(of: yaml.Node) -> "str | list[Any] | dict[str, _Node] | None":
        if isinstance(of, yaml.MappingNode):
            return members(of)
        if isinstance(of, yaml.SequenceNode):
            return []
        plain = isinstance(of, yaml.ScalarNode) and of.style is None
        return None if plain and of.value in _NULLS else str(of.value)

    def members(of: yaml.MappingNode) -> dict[str, _Node]:
        given: dict[str, _Node] = {}
        for key, each in of.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            if name in given:
                again = f"{place}:{key.start_mark.line + 1}: {name}"
                problems.append(_problem(again, f"is given twice, first at {given[name].place}", "Give it once."))
            given[name] = node(each)
        return given

    try:
        for root in yaml.compose_all(text, Loader=yaml.BaseLoader):
            # Nodes of a document that is done with are gone, and others may have their ids.
            made.clear()
            document = node(root)
            # An empty document between two lines of "---" is none.
            if document.value is not None:
                yield document
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{place}:{mark.line + 1}:{mark.column + 1}" if mark else place
        why = ", ".join(part for part in (error.context, error.problem) if part)
        problems.append(_problem(where, f"is not valid YAML: {why}", "Correct it there; often it is the indentation or a tab."))
    except (yaml.YAMLError, RecursionError) as error:
        why = "nested too deep" if isinstance(error, RecursionError) else " ".join(str(error).split())
        problems.append(_problem(place, f"is not valid YAML: {why}", "Write name and config."))


def _document(node: _Node, problems: list[Problem]) -> Document | None:
    """The connector in a document; None when its name or its configuration can't be read.

    With another problem it is still given: so what is wrong with its configuration is told, too.
    """
    members = node.value
    if not isinstance(members, dict):
        problems.append(_problem(node.place, "is no connector", "Write name and config."))
        return None
    unreadable: list[Problem] = []
    if "connector.class" in members:
        fix = 'Put the options under "config", and the name beside it.'
        problems.append(_problem(members["connector.class"].place, "has the options of a connector beside its name", fix))
        return None
    for key in sorted(members.keys() - {*_KNOWN, *_ANSWERED}):
        fix = "Write name, config and wanted_state; options go into config."
        problems.append(_problem(f"{members[key].place}: {key}", "is not known", fix))
    name = members.get("name", _Node(None, node.place))
    if not isinstance(name.value, str) or not name.value:
        unreadable.append(_problem(f"{name.place}: name", "is missing", "Give the connector its name."))
    config = _config(members.get("config", _Node(None, node.place)), unreadable)
    problems += unreadable
    wanted = _wanted([members[key] for key in _STATE_KEYS if key in members], problems)
    return None if unreadable else Document(str(name.value), config, wanted, node.place)


def _config(node: _Node, problems: list[Problem]) -> dict[str, str]:
    if not isinstance(node.value, dict) or not node.value:
        reason = "is missing" if node.value is None else "is empty" if node.value == {} else "is not a mapping"
        problems.append(_problem(f"{node.place}: config", reason, "Give the options of the connector: keys and values."))
        return {}
    config = {}
    for key, value in node.value.items():
        if isinstance(value.value, str):
            config[key] = value.value
        elif value.value is None:
            fix = 'Write "" for an empty value, or leave the key out.'
            problems.append(_problem(f"{value.place}: config {key}", "has no value", fix))
        else:
            fix = "Values are texts, numbers, true or false; write a list as a,b,c."
            problems.append(_problem(f"{value.place}: config {key}", "is neither a text nor a number", fix))
    problems.extend(
        _problem(f"{node.place}: config {key!a}", "is not valid text", "Give the key and the value in UTF-8.")
        for key, value in config.items()
        if not configuration.is_text(key) or not configuration.is_text(value)
    )
    return config


def _wanted(nodes: Sequence[_Node], problems: list[Problem]) -> str:
    if not nodes:
        return ""
    if len(nodes) > 1:
        problems.append(_problem(f"{nodes[1].place}: wanted_state", "is given twice", "Give it once."))
        return ""
    given = nodes[0].value
    wanted = given.upper().removeprefix("WANTED_STATE_") if isinstance(given, str) else ""
    if wanted not in WANTED:
        shown = given if isinstance(given, str) else ""
        problem = _problem(f"{nodes[0].place}: wanted_state", "is none", f"Write one of {', '.join(WANTED)}.")
        problems.append({**problem, "value": shown})
        return ""
    return wanted


def _doubles(documents: Iterable[Document]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for document in documents:
        place = first.setdefault(document.name, document.place)
        if place is not document.place:
            reason = f"is a second connector of the name {document.name!r}; the first is at {place}"
            yield _problem(document.place, reason, "Give one of them another name, or take it away.")


def _problem(place: str, reason: str, fix: str) -> Problem:
    return {"key": place, "reason": reason, "fix": fix}
