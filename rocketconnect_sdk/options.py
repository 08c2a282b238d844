"""Options of connectors: what can be configured, checked all at once, with secrets that stay references."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from rocketconnect_sdk.configuration import option_texts
from rocketconnect_sdk.configuration.references import REFERENCE, REFERENCE_FIX, wrong_reference
from rocketconnect_sdk.errors import ConfigError, Problem
from rocketconnect_sdk.permissions import connections, hosts
from rocketconnect_sdk.permissions.roots import Access, roots


class Kind(Enum):
    """How the text of an option is read, and the Python type that it becomes."""

    STRING = "string"  # str
    INT = "int"  # int
    FLOAT = "float"  # float
    BOOL = "bool"  # bool: true, false
    SIZE = "bytes"  # int, from 1048576, 64KiB, 10MB
    DURATION = "duration"  # float seconds, from 500ms, 10s, 5m, 1h, or a bare number of seconds
    LIST = "list"  # tuple[str, ...], separated by commas (or by semicolons, as RocketMQ Connect does)


NAME = ".NAME."
"""Stands in the key of an option that there is for each of some names."""
_SHOWN = 200
"""So many characters of a wrong value are repeated."""

_NEW_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET_WORDS = re.compile(
    r"(?<![a-z])(?:pwd|passw(?:or)?d|passphrase|secret|token|credential|(?:api|access|private|secret)[^a-z]?key)s?(?![a-z])"
)


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        key: The key in a configuration: lower case, words separated by dots. NAME in it stands for each name that another option,
            whose key is what comes before it, lists: targets.NAME.url is one for each of `targets`. See expanded.
        doc: One or two sentences: what it does, and when to change it.
        kind: How its text is read.
        default: As text, so that it is shown as a user would write it; None: no default (the value is then None, or, when
            required, must be given).
        required: Must be given.
        secret: Takes only references, and is never shown.
        references: May hold references though it is no secret: what goes nowhere but to the system that gets the secret, such as a
            user's name.
        choices: The only values allowed; empty: any.
        minimum: Of numbers, sizes and durations.
        maximum: Of numbers, sizes and durations.
        aliases: Other keys that are taken for it, such as those of RocketMQ Connect.
        check: Looks at the parsed value and returns what is wrong with it, or None.
        access: It is a path, or a pattern of paths, and wrong where connectors may not read or write. Open it by permissions.roots.
        reaches: Finds the hosts that its value names, as hosts.of_urls does: it is wrong where connectors may not speak to one.
        fix: How to write it right, shown with whatever is wrong with it: "Use 1 to 127 letters and digits, such as orders.".
            Empty: it is made of the kind, the choices, the limits and the default, which do not say what `check` wants.
        example: A value for the example of the plugin: of what is required, and of what a first configuration rather has.
    """

    key: str
    doc: str
    kind: Kind = Kind.STRING
    default: str | None = None
    required: bool = False
    secret: bool = False
    references: bool = False
    choices: Sequence[str] = ()
    minimum: float | None = None
    maximum: float | None = None
    aliases: Sequence[str] = ()
    check: Callable[[Any], str | None] | None = None
    fix: str = ""
    access: Access | None = None
    reaches: hosts.Reaches | None = None
    example: str = ""

    def parse(self, text: str) -> Any:
        """The value that a text stands for.

        Raises:
            ValueError: says what is wrong and what is allowed.
        """
        value = _PARSERS[self.kind](text)
        if self.choices and value not in self.choices:
            msg = f"must be one of {', '.join(self.choices)}"
            raise ValueError(msg)
        least, most = self._limits
        if least is not None and value < least:
            msg = f"must be at least {_written(self.kind, least)}"
            raise ValueError(msg)
        if most is not None and value > most:
            msg = f"must be at most {_written(self.kind, most)}"
            raise ValueError(msg)
        wrong = self.check(value) if self.check else None
        if wrong:
            raise ValueError(wrong)
        return value

    @property
    def limits(self) -> tuple[str, str]:
        """The minimum and the maximum as a user would write them; empty: it has none of its own."""
        least, most = ("" if limit is None else _written(self.kind, limit) for limit in (self.minimum, self.maximum))
        return least, most

    @property
    def how(self) -> str:
        """How to write it right, for people."""
        if self.fix:
            return self.fix
        if self.check and not self.choices:
            return self.doc
        if self.choices:
            return f"Give one of {', '.join(filter(None, self.choices))}{'' if all(self.choices) else ', or leave it empty'}."
        least, most = self.limits
        limits = {
            (True, True): f" from {least} to {most}",
            (True, False): f" of at least {least}",
            (False, True): f" of at most {most}",
            (False, False): "",
        }[bool(least), bool(most)]
        example = f", for instance {self.default}" if self.default else ""
        return f"Give {_NOUNS[self.kind]}{limits}{example}."

    @property
    def _limits(self) -> tuple[float | None, float | None]:
        return self.minimum, _MOST.get(self.kind) if self.maximum is None else self.maximum


class OptionWrong(Exception):
    """A check has read an option whose value is missing or wrong. That is told already: the check ends, see run_checks."""


class Config(Mapping[str, Any]):
    """A parsed configuration: the value of every known option by key, defaults included, None where there is neither.

    Attributes:
        raw: The configuration as the user wrote it; without secrets that were given as values.
        own: Of a foreign plugin what stands in it of converters and transforms, which are the plugin's own; not in raw.

    Args:
        values: The values.
        raw: As the user wrote it.
        wrong: Known options that have no right value. Only checks are ever given a Config with such; to read one of them is an
            OptionWrong.
        own: See there.
    """

    def __init__(
        self, values: Mapping[str, Any], raw: Mapping[str, str], wrong: Collection[str] = (), own: Mapping[str, str] | None = None
    ) -> None:
        self._values = dict(values)
        self._wrong = frozenset(wrong)
        self.raw = dict(raw)
        self.own = dict(own or {})

    def __getitem__(self, key: str) -> Any:
        """The value of an option. A key that is no option of this connector is a KeyError: a defect of the caller."""
        if key in self._wrong:
            raise OptionWrong(key)
        return self._values[key]

    def __contains__(self, key: object) -> bool:
        """Whether it is an option of this connector."""
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        """The keys of all options."""
        return iter(self._values)

    def __len__(self) -> int:
        """How many options there are."""
        return len(self._values)

    def replaced(self, change: Callable[[str], str]) -> "Config":
        """The same with other texts: each of them, and each in a list and among the raw ones, is changed."""

        def changed(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(map(changed, value))
            return change(value) if isinstance(value, str) else value

        values = {key: changed(value) for key, value in self._values.items()}
        raw, own = ({key: change(value) for key, value in texts.items()} for texts in (self.raw, self.own))
        return Config(values, raw, self._wrong, own)

    def owning(self, own: Mapping[str, str]) -> "Config":
        """The same with what is the plugin's own."""
        return Config(self._values, self.raw, self._wrong, own)

    def within(self, prefix: str) -> "Config":
        """What stands behind a prefix, as a configuration of its own: of options such as targets.NAME.url those of one name."""
        values = {key[len(prefix) :]: value for key, value in self._values.items() if key.startswith(prefix)}
        return Config(values, self.prefixed(prefix), [key[len(prefix) :] for key in self._wrong if key.startswith(prefix)])

    def prefixed(self, prefix: str) -> dict[str, str]:
        """The raw entries whose keys begin with the prefix, without it: for converters and transforms."""
        return {key[len(prefix) :]: value for key, value in self.raw.items() if key.startswith(prefix)}


def parse(options: Iterable[Option], raw: Mapping[str, str], *, known_prefixes: Sequence[str] = ()) -> Config:
    """Reads a configuration that must be right. See read.

    Raises:
        ConfigError: with every problem.
    """
    config, problems = read(options, raw, known_prefixes=known_prefixes)
    if problems:
        raise ConfigError(problems)
    return config


def read(
    options: Iterable[Option],
    raw: Mapping[str, str],
    *,
    known_prefixes: Sequence[str] = (),
    elsewhere: Sequence[str] = (),
    plugin: str = "NAME",
) -> tuple[Config, list[Problem]]:
    """Reads a configuration that may be wrong.

    Args:
        options: All options of the connector, the runtime's included.
        raw: The configuration as the user wrote it.
        known_prefixes: Keys that begin with one of these belong to somebody else (converters, transforms).
        elsewhere: Those of them that an unknown key may be meant for.
        plugin: Whose options they are, for people who look for the right one.

    Returns:
        What could be read, for run_checks, and every problem: unknown keys (with the nearest known one), missing and wrong
        values, secrets given as values.
    """
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    wrong: set[str] = set()
    known: dict[str, None] = {}
    secrets: set[str] = set()
    literals: set[str] = set()
    options = list(options)
    for option in expanded(options, raw):
        keys = (option.key, *option.aliases)
        known.update(dict.fromkeys(keys))
        given = [key for key in keys if key in raw]
        found = [_twice(option, key, raw[key], given) for key in given[1:]]
        value, problem = _value(option, given[0] if given else "", raw)
        if problem is not None:
            found.append(problem)
        values[option.key] = value
        if found:
            problems += found
            wrong.add(option.key)
        if option.secret:
            secrets.update(keys)
            literals.update(key for key in given if not REFERENCE.fullmatch(raw[key]))
    unknown = [key for key in raw if key not in known and not key.startswith(tuple(known_prefixes))]
    lists = {option.key.partition(NAME)[0] for option in options if NAME in option.key}
    problems += [_unknown(key, raw[key], (*known, *elsewhere), secrets, plugin, lists) for key in unknown]
    return Config(values, {key: text for key, text in raw.items() if key not in literals}, wrong), problems


def expanded(options: Iterable[Option], raw: Mapping[str, str]) -> Iterator[Option]:
    """Options, with one for each name in the place of those that there are for each: see Option.key."""
    for option in options:
        before, there_are_some, _ = option.key.partition(NAME)
        if not there_are_some:
            yield option
            continue
        for name in dict.fromkeys(option_texts.items(raw.get(before, ""))):
            key, *aliases = (each.replace(NAME, f".{name}.", 1) for each in (option.key, *option.aliases))
            yield replace(option, key=key, aliases=aliases)


def run_checks(config: Config, *checks: Callable[[Config], Iterable[Problem]]) -> Iterator[Problem]:
    """What checks find that do not depend on each other.

    A check that reads an option which itself is missing or wrong ends there, with what it has yielded until then: that option's
    problem is told already, and no check sees such a value. The other checks run all the same.
    """
    for check in checks:
        with suppress(OptionWrong):
            yield from check(config)


def names_secret(key: str) -> bool:
    """Whether what stands under a key that nobody knows is taken for a secret, by the words that the key is made of."""
    return _SECRET_WORDS.search(_NEW_WORD.sub(".", key).lower()) is not None


def _value(option: Option, key: str, raw: Mapping[str, str]) -> tuple[Any, Problem | None]:
    text = raw[key] if key else option.default
    if text is None:
        missing = Problem(option.key, "", "is required and was not given", f"Add it: {_described(option)}")
        return None, missing if option.required else None
    if key and option.required and not text.strip():
        return None, Problem(key, "", "is required and is empty", f"Give a value: {_described(option)}")
    if option.secret:
        reason = wrong_reference(text) if key else None
        shown = text if REFERENCE.fullmatch(text) else ""
        return (None, Problem(key, shown, reason, REFERENCE_FIX)) if reason else (text, None)
    try:
        value = option.parse(text)
    except ValueError as error:
        return None, Problem(key or option.key, text[:_SHOWN], str(error), option.how)
    if text and (refused := _refused(option, text, value)):
        return None, Problem(key or option.key, text[:_SHOWN], *refused)
    return value, None


def _refused(option: Option, text: str, value: Any) -> tuple[str, str] | None:
    """Why the executor does not let connectors go where a value leads, and what to do about it."""
    if option.access and (reason := roots(option.access).problem(text)):
        return reason, roots(option.access).fix(text)
    for host, port in option.reaches(value) if option.reaches else ():
        if reason := connections.problem(host, port):
            return reason, hosts.fix(host, connections.setting())
    return None


def _described(option: Option) -> str:
    if option.secret:
        return f"{option.doc} {REFERENCE_FIX}"
    says_how = option.fix or option.choices or option.kind is not Kind.STRING
    return f"{option.doc} {option.how}" if says_how else option.doc


def _twice(option: Option, key: str, text: str, given: Sequence[str]) -> Problem:
    shown = "" if option.secret and not REFERENCE.fullmatch(text) else text[:_SHOWN]
    return Problem(key, shown, f"means the same as {given[0]}, which is given, too", f"Give only one of {', '.join(given)}.")


def _unknown(key: str, value: str, known: Sequence[str], secrets: Collection[str], plugin: str, lists: Collection[str]) -> Problem:
    import difflib

    close = difflib.get_close_matches(key, known, n=1)
    near = [other for other in known if other.endswith(f".{key}")] or close
    fix = (
        f"Did you mean {' or '.join(near)}?"
        if near
        else f"Remove it, or see `rocketconnect plugins show {plugin}` for the options there are."
    )
    reason = "is not an option of this connector"
    first, _, rest = key.partition(".")
    name, _, own = rest.partition(".")
    if first in lists and own and not any(other.startswith(f"{first}.{name}.") for other in known):
        reason, fix = f"is of {name}, which {first} does not name", f"Name {name} in {first}, or remove it."
    # What stands under a misspelt key of a secret is a secret (invariant 6).
    if names_secret(key) or any(other in secrets for other in (*near, *close)):
        return Problem(key, "", f"{reason} (its value may be a secret and is not shown)", fix)
    return Problem(key, value[:_SHOWN], reason, fix)


def _written(kind: Kind, number: float) -> str:
    """A limit as a user would write it."""
    if kind is Kind.SIZE:
        power = next(power for power in (4, 3, 2, 1, 0) if number % 1024**power == 0) if number else 0
        return f"{int(number) // 1024**power}{('', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"
    if kind is Kind.DURATION:
        unit = next((unit for unit in ("d", "h", "m", "s") if number % option_texts.SECONDS[unit] == 0), "ms")
        return f"{number / option_texts.SECONDS[unit]:g}{unit}" if number else "0s"
    return str(int(number)) if kind is Kind.INT else f"{number:.15g}"


_NOUNS: Mapping[Kind, str] = {
    Kind.STRING: "a value that is allowed",
    Kind.INT: "a whole number",
    Kind.FLOAT: "a number",
    Kind.BOOL: "true or false",
    Kind.SIZE: "a size",
    Kind.DURATION: "a duration",
    Kind.LIST: "a list",
}

_MOST: Mapping[Kind, float] = {Kind.INT: 2**63 - 1, Kind.SIZE: 2**43, Kind.DURATION: 36_500 * 86_400}
"""The maximum where an option has none of its own: what clocks, memory and the numbers of other systems can hold."""

_PARSERS: Mapping[Kind, Callable[[str], Any]] = {
    Kind.STRING: lambda text: text,
    Kind.INT: lambda text: option_texts.number(text, int),
    Kind.FLOAT: lambda text: option_texts.number(text, float),
    Kind.BOOL: option_texts.boolean,
    Kind.SIZE: option_texts.size,
    Kind.DURATION: option_texts.duration,
    Kind.LIST: option_texts.items,
}
