"""Options of connectors: what can be configured, checked all at once, with secrets that stay references."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from rocketconnect_sdk.errors import ConfigError, Problem


class Kind(Enum):
    """How the text of an option is read, and the Python type that it becomes."""

    STRING = "string"  # str
    INT = "int"  # int
    FLOAT = "float"  # float
    BOOL = "bool"  # bool: true, false
    SIZE = "bytes"  # int, from 1048576, 64KiB, 10MB
    DURATION = "duration"  # float seconds, from 500ms, 10s, 5m, 1h, or a bare number of seconds
    LIST = "list"  # tuple[str, ...], separated by commas (or by semicolons, as RocketMQ Connect does)


REFERENCE = re.compile(r"\$\{(env|file|keystore):[^}]+\}")
"""A reference to a secret, resolved only where the task runs."""

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?", re.IGNORECASE)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_SECONDS = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        key: The key in a configuration: lower case, words separated by dots.
        doc: One or two sentences: what it does, and when to change it.
        kind: How its text is read.
        default: As text, so that it is shown as a user would write it; None: no default (the value is then None, or, when
            required, must be given).
        required: Must be given.
        secret: Takes only references, and is never shown.
        choices: The only values allowed; empty: any.
        minimum: Of numbers, sizes and durations.
        maximum: Of numbers, sizes and durations.
        aliases: Other keys that are taken for it, such as those of RocketMQ Connect.
        check: Looks at the parsed value and returns what is wrong with it, or None.
    """

    key: str
    doc: str
    kind: Kind = Kind.STRING
    default: str | None = None
    required: bool = False
    secret: bool = False
    choices: Sequence[str] = ()
    minimum: float | None = None
    maximum: float | None = None
    aliases: Sequence[str] = ()
    check: Callable[[Any], str | None] | None = None

    def parse(self, text: str) -> Any:
        """The value that a text stands for.

        Raises:
            ValueError: says what is wrong and what is allowed.
        """
        value = _PARSERS[self.kind](text)
        if self.choices and value not in self.choices:
            msg = f"must be one of {', '.join(self.choices)}"
            raise ValueError(msg)
        if self.minimum is not None and value < self.minimum:
            msg = f"must be at least {self.minimum:g}"
            raise ValueError(msg)
        if self.maximum is not None and value > self.maximum:
            msg = f"must be at most {self.maximum:g}"
            raise ValueError(msg)
        wrong = self.check(value) if self.check else None
        if wrong:
            raise ValueError(wrong)
        return value


class Config(Mapping[str, Any]):
    """A parsed configuration: the value of every known option by key, defaults included, None where there is neither."""

    def __init__(self, values: Mapping[str, Any], raw: Mapping[str, str]) -> None:
        self._values = dict(values)
        self.raw = dict(raw)

    def __getitem__(self, key: str) -> Any:
        """The value of an option. A key that is no option of this connector is a KeyError: a defect of the caller."""
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        """The keys of all options."""
        return iter(self._values)

    def __len__(self) -> int:
        """How many options there are."""
        return len(self._values)

    def prefixed(self, prefix: str) -> dict[str, str]:
        """The raw entries whose keys begin with the prefix, without it: for converters and transforms."""
        return {key[len(prefix) :]: value for key, value in self.raw.items() if key.startswith(prefix)}


def parse(options: Iterable[Option], raw: Mapping[str, str], *, known_prefixes: Sequence[str] = ()) -> Config:
    """Reads a configuration.

    Args:
        options: All options of the connector, the runtime's included.
        raw: The configuration as the user wrote it.
        known_prefixes: Keys that begin with one of these belong to somebody else (converters, transforms).

    Raises:
        ConfigError: with every problem: unknown keys (with the nearest known one), missing and wrong values, secrets given as
            literals.
    """
    options = tuple(options)
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    known: set[str] = set()
    for option in options:
        keys = (option.key, *option.aliases)
        known.update(keys)
        given = [key for key in keys if key in raw]
        if len(given) > 1:
            problems.append(Problem(given[1], "", f"means the same as {given[0]}", f"Give only one of {', '.join(given)}."))
        values[option.key] = _value(option, given[0] if given else "", raw, problems)
    problems += [_unknown(key, raw[key], known) for key in raw if key not in known and not key.startswith(tuple(known_prefixes))]
    if problems:
        raise ConfigError(problems)
    return Config(values, raw)


def _value(option: Option, key: str, raw: Mapping[str, str], problems: list[Problem]) -> Any:
    text = raw[key] if key else option.default
    if text is None:
        if option.required:
            problems.append(Problem(option.key, "", "is required and was not given", f"Add it: {option.doc}"))
        return None
    if key and option.required and not text.strip():
        problems.append(Problem(key, "", "is required and is empty", f"Give a value: {option.doc}"))
        return None
    if option.secret:
        if key and not REFERENCE.fullmatch(text.strip()):
            fix = "Give a reference instead: ${env:NAME}, ${file:PATH:KEY} or ${keystore:NAME}."
            problems.append(Problem(key, "", "is a secret and was given as a literal value", fix))
        return text
    try:
        return option.parse(text)
    except ValueError as error:
        shown = option.default or next(iter(option.choices), "")
        fix = f"Give {_NOUNS[option.kind]}" + (f", for instance {shown}." if shown else ".")
        problems.append(Problem(key or option.key, text[:200], str(error), option.doc if option.check else fix))
        return None


def _unknown(key: str, value: str, known: Iterable[str]) -> Problem:
    import difflib

    near = difflib.get_close_matches(key, list(known), n=1)
    fix = f"Did you mean {near[0]}?" if near else "Remove it, or see `rocketconnect plugins show` for the options there are."
    return Problem(key, value[:200], "is not an option of this connector", fix)


def _number(text: str, of: type[int] | type[float]) -> int | float:
    try:
        return of(text.strip())
    except ValueError:
        kind = "a whole number" if of is int else "a number"
        msg = f"is not {kind}"
        raise ValueError(msg) from None


def _bool(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        msg = "is neither true nor false"
        raise ValueError(msg)
    return text.strip().lower() == "true"


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if not match:
        msg = "is not a size such as 1048576, 64KiB or 10MB"
        raise ValueError(msg)
    base = 1024 if (match[3] or "").lower() == "ib" else 1000
    return int(float(match[1]) * base ** " kmgt".index(match[2].lower() or " "))


def _duration(text: str) -> float:
    match = _DURATION.fullmatch(text.strip())
    if not match:
        msg = "is not a duration such as 500ms, 10s or 5m"
        raise ValueError(msg)
    return float(match[1]) * _SECONDS[match[2]]


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in re.split(r"[,;]", text) if part.strip())


_NOUNS: Mapping[Kind, str] = {
    Kind.STRING: "a value that is allowed",
    Kind.INT: "a whole number",
    Kind.FLOAT: "a number",
    Kind.BOOL: "true or false",
    Kind.SIZE: "a size",
    Kind.DURATION: "a duration",
    Kind.LIST: "a list",
}

_PARSERS: Mapping[Kind, Callable[[str], Any]] = {
    Kind.STRING: lambda text: text,
    Kind.INT: lambda text: _number(text, int),
    Kind.FLOAT: lambda text: _number(text, float),
    Kind.BOOL: _bool,
    Kind.SIZE: _size,
    Kind.DURATION: _duration,
    Kind.LIST: _list,
}
