"""Texts that are made of a record: ${topic}:${key}. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

from rocketconnect_sdk.converters.json.reading import NotJson, value_of
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.files.lines import to_json
from rocketconnect_sdk.options import Option

_PLACE = re.compile(r"\$\{([^}]*)\}")
_WITHIN = ("key", "value", "header")
_ALONE = ("topic", "key", "value", "queue", "offset")
_SHARED = (("topic",), ("queue",))
_KEY = ("key",)
_TIME = "time:"
_OF_TIME = re.compile(r"(?:[^%]|%[YmdHMjGV])+")
"""Years, months, days, hours and minutes, days of the year, weeks: what splits a target."""
FORM = "${topic}, ${key}, ${key.FIELD}, ${value}, ${value.FIELD}, ${header.NAME}, ${queue}, ${offset}, ${time:%Y-%m-%d}"
"""What stands for something in a template."""


class Told(NamedTuple):
    """What a template is filled with.

    Attributes:
        topic: Of the record.
        queue: "topic/broker/queue".
        offset: Of its message in the queue.
        key: Its key, as `named` has it; None: it has none.
        value: Its value, or the row that it is about; None: it has none.
        headers: Of it.
        time_ms: Its time; None: it has none.
    """

    topic: str
    queue: str
    offset: int
    key: object
    value: object
    headers: Mapping[str, str]
    time_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A text with places that a record fills. Made by `of`.

    Attributes:
        source: As it was given.
        parts: Texts as they are, and the path of each place.
        escape: Makes what stands for a place fit for the text that it comes into. Picklable. It may raise RecordError.
    """

    source: str
    parts: Sequence[str | tuple[str, ...]]
    escape: Callable[[str], str] = str

    @classmethod
    def of(cls, source: str, escape: Callable[[str], str] = str) -> Self:
        """Reads a text.

        Raises:
            ValueError: what is wrong with it.
        """
        parts: list[str | tuple[str, ...]] = []
        for number, part in enumerate(_PLACE.split(source)):
            if number % 2 == 0:
                parts += [part] if part else []
                continue
            if part.startswith(_TIME) and _OF_TIME.fullmatch(part.removeprefix(_TIME)):
                parts.append(("time", part.removeprefix(_TIME)))
                continue
            # A header has its name with all its points.
            path = tuple(part.split(".", 1) if part.startswith("header.") else part.split("."))
            if not all(path) or (len(path) == 1 and part not in _ALONE) or (len(path) > 1 and path[0] not in _WITHIN):
                msg = f"${{{part}}} stands for nothing"
                raise ValueError(msg)
            parts.append(path)
        return cls(source, tuple(parts), escape)

    @property
    def is_shared(self) -> bool:
        """Whether all records of a queue have the same text."""
        return all(isinstance(part, str) or part in _SHARED for part in self.parts)

    def text(self, told: Told) -> str:
        """The text of a record.

        Raises:
            RecordError: the record lacks what stands for a place.
        """
        parts = self.parts
        if len(parts) == 1 and isinstance(only := parts[0], str):
            return only
        return "".join([part if isinstance(part, str) else self.escape(as_text(_found(part, told))) for part in parts])

    def value(self, told: Told) -> Any:
        """What stands for a place that is all of the template, of the type that it has in the record; else the text.

        Raises:
            RecordError: see text.
        """
        parts = self.parts
        if len(parts) == 1 and not isinstance(only := parts[0], str):
            return told.key if only == _KEY and isinstance(told.key, str) else _found(only, told)
        return self.text(told)


def template_problem(source: str) -> str | None:
    """What is wrong with a template; None: nothing."""
    try:
        Template.of(source)
    except ValueError as error:
        return str(error)
    return None


TEMPLATE_FIX = f"Write a text with {FORM}."


def template_option(key: str, doc: str, default: str = "", example: str = "") -> Option:
    """An option whose value `Template.of` takes: what stands for nothing is refused with the configuration."""
    return Option(key, doc, default=default, check=template_problem, fix=TEMPLATE_FIX, example=example)


def named(value: object) -> object:
    """A key or a value of which fields can be named: text that is a JSON object becomes that."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return value_of(value)
        except NotJson:
            return value
    return value


def as_text(value: object) -> str:
    """A value as text: JSON of what is no text.

    Raises:
        RecordError: it has no such form.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            msg = "its bytes are no text in UTF-8"
            raise RecordError(msg) from None
    # Of text in JSON, such as a time, without the quotes around it.
    data = to_json(value).decode()
    return data[1:-1] if data.startswith('"') and "\\" not in data else data


def _found(path: tuple[str, ...], told: Told) -> Any:
    match path[0]:
        case "topic":
            return told.topic
        case "queue":
            return told.queue
        case "offset":
            return told.offset
        case "time":
            if told.time_ms is None:
                msg = f"the record has no time, which ${{{_TIME}{path[1]}}} stands for"
                raise RecordError(msg)
            try:
                # In UTC, so that a record has the same name each time.
                return datetime.fromtimestamp(told.time_ms / 1000, UTC).strftime(path[1])
            except (ValueError, OverflowError, OSError):
                msg = f"the time of the record, {told.time_ms} ms, is in no year of the calendar"
                raise RecordError(msg) from None
        case "header":
            if (header := told.headers.get(path[1])) is None:
                raise RecordError(_lacks(path, "has no such header"))
            return header
    found: Any = told.key if path[0] == "key" else named(told.value) if len(path) > 1 else told.value
    if found is None:
        raise RecordError(_lacks(path, f"has no {path[0]}"))
    if path == _KEY and isinstance(found, Mapping) and len(found) == 1:
        # The key of a table with one column is the value of that.
        (found,) = found.values()
    for name in path[1:]:
        if not isinstance(found, Mapping) or found.get(name) is None:
            raise RecordError(_lacks(path, f"has no {name} there"))
        found = found[name]
    return found


def _lacks(path: tuple[str, ...], why: str) -> str:
    return f"the record {why}, which ${{{'.'.join(path)}}} stands for"
