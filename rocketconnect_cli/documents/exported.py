"""Exported positions: the JSON that `position export` writes and `position import` reads."""

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from rocketconnect_cli.api import ApiError, Exit

FORMAT = "rocketconnect.positions/1"

OFFSET = re.compile(r"\[(\s*-?\d+\s*(,\s*-?\d+\s*)*)?\]", re.ASCII)
"""An offset as the API has it: a JSON array of integers."""
_POSITION = ("partition", "offset", "resume")
_FIX = "Take a file that `rocketconnect position export` wrote."


@dataclass(frozen=True, slots=True)
class Exported:
    """Positions of a connector at a time.

    Attributes:
        connector: Its name.
        uid: Its uid: positions belong to it, not to the name.
        revision: Of its configuration.
        time: When they were read, RFC 3339.
        positions: Of each partition: "partition", "offset", and "resume", what the runtime needs to go on exactly there.
    """

    connector: str
    uid: str
    revision: str
    time: str
    positions: Sequence[Mapping[str, str]]

    @classmethod
    def of(cls, connector: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], now: datetime) -> Self:
        """From answers of the API."""
        positions = [{field: str(row.get(field, "")) for field in _POSITION} for row in rows]
        return cls(connector["name"], connector["uid"], str(connector.get("revision", "")), now.isoformat(), positions)

    def document(self) -> dict[str, object]:
        """As it is written."""
        return {
            "format": FORMAT,
            "connector": self.connector,
            "uid": self.uid,
            "revision": self.revision,
            "time": self.time,
            "positions": [dict(position) for position in self.positions],
        }


def read_exported(file: Path, name: str) -> Exported:
    """The positions in a file that are to be those of a connector; "-" is standard input.

    Raises:
        ApiError: WRONG, with everything that is wrong with the file at once.
    """
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text()
        document = json.loads(text)
    except OSError as error:
        raise _wrong(file, [_problem("", f"can't be read: {error.strerror}", "Give the path of a file.")]) from None
    except (ValueError, RecursionError) as error:
        raise _wrong(file, [_problem("", f"is not JSON: {error}", _FIX)]) from None
    problems = _problems(document, name)
    if problems:
        raise _wrong(file, problems)
    positions = [{field: position.get(field, "") for field in _POSITION} for position in document["positions"]]
    return Exported(name, document["uid"], str(document.get("revision", "")), str(document.get("time", "")), positions)


def _problems(document: object, name: str) -> list[dict[str, str]]:
    if not isinstance(document, dict):
        return [_problem("", "is not a JSON object", _FIX)]
    problems = []
    if document.get("format") != FORMAT:
        problems.append(_problem("format", f"is not {FORMAT}", _FIX, document.get("format")))
    if document.get("connector") != name:
        fix = "Import what was exported of this connector."
        problems.append(_problem("connector", f"is not {name}", fix, document.get("connector")))
    if not isinstance(document.get("uid"), str) or not document["uid"]:
        problems.append(_problem("uid", "is not the uid of a connector", _FIX, document.get("uid")))
    positions = document.get("positions")
    if not isinstance(positions, list):
        return [*problems, _problem("positions", "is not a list", _FIX, positions)]
    for number, position in enumerate(positions):
        problems += _position_problems(f"positions[{number}]", position)
    names = Counter(position.get("partition") for position in positions if isinstance(position, dict) and _named(position))
    problems += [_problem("positions", "are named twice", "Name each once.", each) for each, count in names.items() if count > 1]
    return problems


def _position_problems(where: str, position: object) -> list[dict[str, str]]:
    if not isinstance(position, dict):
        return [_problem(where, "is not an object", _FIX, position)]
    problems = []
    if not _named(position):
        problems.append(_problem(f"{where}.partition", "is not the name of a partition", _FIX, position.get("partition")))
    offset = position.get("offset")
    if not isinstance(offset, str) or not OFFSET.fullmatch(offset):
        fix = 'Write a JSON array of integers in a text, such as "[17]".'
        problems.append(_problem(f"{where}.offset", "is not an offset", fix, offset))
    if not isinstance(position.get("resume", ""), str):
        problems.append(_problem(f"{where}.resume", "is not a text", _FIX))
    return problems


def _named(position: Mapping[str, object]) -> bool:
    return isinstance(position.get("partition"), str) and position["partition"] != ""


def _problem(key: str, reason: str, fix: str, value: object = None) -> dict[str, str]:
    return {"key": key or "the file", "value": "" if value is None else str(value)[:200], "reason": reason, "fix": fix}


def _wrong(file: Path, problems: Sequence[Mapping[str, str]]) -> ApiError:
    shown = "standard input" if str(file) == "-" else str(file)
    return ApiError(Exit.WRONG, {"detail": f"{shown} can't be imported", "problems": [dict(problem) for problem in problems]})
