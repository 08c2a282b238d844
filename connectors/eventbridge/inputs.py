"""What of an event a rule sends: all of it, a part, a constant, or a template with variables. Pure.

https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from connectors.eventbridge.paths import MISSING, Path
from rocketconnect_sdk.converters.json.reading import value_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import json_line, to_json
from rocketconnect_sdk.writes.templates import Told, as_text

_PLACE = re.compile(r"<([A-Za-z0-9_.\-]+)>")
_RULE, _TIME = "aws.events.rule-name", "aws.events.event.ingestion-time"
_EVENT, _WITHOUT_DATA = "aws.events.event.json", "aws.events.event"
PREDEFINED = (_RULE, _TIME, _WITHOUT_DATA, _EVENT)
"""Variables that nobody has to name."""
_DATA = ("detail", "data", "data_base64")


class Input(ABC):
    """What is sent."""

    is_json = True
    """Whether it is JSON, whatever the event is."""

    @abstractmethod
    def text(self, event: Mapping[str, Any], told: Told) -> str:
        """Of an event and the record that it is. Raises RecordError: the event lacks what is sent."""


@dataclass(frozen=True, slots=True)
class Whole(Input):
    """The event, with the digits and names that the record has."""

    def text(self, event: Mapping[str, Any], told: Told) -> str:
        """See Input."""
        del event
        return json_line(told.value)[:-1].decode()


@dataclass(frozen=True, slots=True)
class Part(Input):
    """What stands at a place, as JSON."""

    path: Path
    source: str

    def text(self, event: Mapping[str, Any], told: Told) -> str:
        """See Input."""
        del told
        if (found := self.path.find(event)) is MISSING:
            msg = f"the event has nothing at {self.source}"
            raise RecordError(msg)
        return to_json(found).decode()


@dataclass(frozen=True, slots=True)
class Constant(Input):
    """The same each time."""

    source: str

    @property
    def is_json(self) -> bool:  # type: ignore[override]
        """See Input."""
        return _is_json(self.source)

    def text(self, event: Mapping[str, Any], told: Told) -> str:
        """See Input."""
        del event, told
        return self.source


@dataclass(frozen=True, slots=True)
class Variable:
    """A place of a template.

    Attributes:
        name: Of the variable.
        is_quoted: It stands within a text of JSON.
    """

    name: str
    is_quoted: bool


@dataclass(frozen=True, slots=True)
class Filled(Input):
    """A template.

    Attributes:
        parts: Texts as they are, and variables.
        paths: What variables stand for.
        rule: The name of the rule.
        is_json: Variables outside of quotes are values of JSON, and those in quotes are escaped.
    """

    parts: Sequence[str | Variable]
    paths: Mapping[str, Path]
    rule: str
    is_json: bool

    @classmethod
    def read(cls, source: str, paths: Mapping[str, Path], rule: str) -> "Filled":
        """Reads a template: it is one of JSON where it is JSON with a value for each variable, and of text otherwise.

        Raises:
            ValueError: what is wrong with it.
        """
        parts = _parts(source)
        known = {*paths, *PREDEFINED}
        if unknown := next((part.name for part in parts if isinstance(part, Variable) and part.name not in known), None):
            msg = f"has <{unknown}>, which is no variable"
            raise ValueError(msg)
        tried = "".join(part if isinstance(part, str) else "" if part.is_quoted else "null" for part in parts)
        return cls(tuple(parts), paths, rule, _is_json(tried))

    def text(self, event: Mapping[str, Any], told: Told) -> str:
        """See Input."""
        return "".join(part if isinstance(part, str) else self._said(part, event, told) for part in self.parts)

    def _said(self, variable: Variable, event: Mapping[str, Any], told: Told) -> str:
        found = self._found(variable.name, event, told)
        if self.is_json and not variable.is_quoted:
            return "null" if found is MISSING else to_json(found).decode()
        text = "" if found is MISSING or found is None else as_text(found)
        return to_json(text).decode()[1:-1] if self.is_json else text

    def _found(self, name: str, event: Mapping[str, Any], told: Told) -> Any:
        if name in self.paths:
            return self.paths[name].find(event)
        if name == _RULE:
            return self.rule
        if name == _TIME:
            return MISSING if told.time_ms is None else _iso(told.time_ms)
        return event if name == _EVENT else {key: each for key, each in event.items() if key not in _DATA}


def _parts(source: str) -> list[str | Variable]:
    parts: list[str | Variable] = []
    begin, place, is_quoted = 0, 0, False
    while place < len(source):
        letter = source[place]
        if letter == "<" and (match := _PLACE.match(source, place)):
            parts += [source[begin:place], Variable(match[1], is_quoted)]
            begin = place = match.end()
            continue
        if letter == '"':
            is_quoted = not is_quoted
        place += 2 if letter == "\\" and is_quoted else 1
    return [part for part in [*parts, source[begin:]] if part]


def _is_json(text: str) -> bool:
    try:
        value_of(text)
    except RecordError:
        return False
    return True


def _iso(time_ms: int) -> str:
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        msg = f"the time of the record, {time_ms} ms, is in no year of the calendar"
        raise RecordError(msg) from None
