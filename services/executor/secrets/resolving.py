"""References to secrets (rocketconnect_sdk.configuration.references): resolved here, in the plugin's process, and nowhere else.

Invariant 6: what was resolved is remembered, so that `hide` can take it out of everything that leaves the process as text.

A configuration is written by whoever may create a connector, so it does not say what may be read: the executor's operator does.
services.executor.environment puts that into the environment of this process, and services.executor.secrets.providers go by it.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote

from rocketconnect_sdk.configuration.references import REFERENCE
from rocketconnect_sdk.errors import ConfigError, Problem, SystemAway
from rocketconnect_sdk.options import Config
from services.executor.secrets.providers import Unresolved, providers

HIDDEN = "***"
_SHOWN = 200
_SHORTEST = 3
"""Shorter values are no secrets; hiding them would only make texts unreadable."""


class Redactor:
    """Knows values that must not be shown. Safe to use from any thread."""

    def __init__(self) -> None:
        self._pattern: re.Pattern[str] | None = None
        self._forms: frozenset[str] = frozenset()

    def add(self, value: str) -> None:
        """From now on hide this value, in the forms in which errors and tracebacks quote it."""
        parts = (value, *(line.strip() for line in value.splitlines()))
        forms = {form for part in parts for form in (part, quote(part, safe=""), repr(part)[1:-1]) if len(form) >= _SHORTEST}
        if forms <= self._forms:
            return
        self._forms |= forms
        # The longest first: a secret may begin with another one.
        ordered = sorted(self._forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(re.escape(form) for form in ordered))

    def hide(self, text: str) -> str:
        """Return the text without any of the values."""
        pattern = self._pattern
        return text if pattern is None else pattern.sub(HIDDEN, text)


_redactor = Redactor()


def hide(text: str) -> str:
    """Return the text as it may leave this process: without any secret that it has resolved, and of characters that can be sent."""
    # Names of files can hold bytes that are no text; Python shows them as surrogates, which no message can carry.
    return _redactor.hide(text).encode("utf-8", "backslashreplace").decode()


def hide_problem(problem: Problem) -> Problem:
    """A problem as it may leave this process: checks know secrets."""
    return replace(problem, value=hide(problem.value), reason=hide(problem.reason), fix=hide(problem.fix))


def remember(value: str) -> None:
    """From now on `hide` takes this value out."""
    _redactor.add(value)


class Finder:
    """Finds secrets, and remembers them: each once, though a configuration has it as a value and as a text. For one thread.

    Attributes:
        found: What it has found, by kind and name.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._providers = providers(environment)
        self.found: dict[tuple[str, str], str] = {}

    def find(self, kind: str, name: str) -> str:
        """The secret of a kind and a name.

        Raises:
            Unresolved, SystemAway: see Provider.
        """
        if (value := self.found.get((kind, name))) is None:
            value = self.found[kind, name] = self._providers[kind].look_up(name)
            remember(value)
        return value


def resolve(config: Config, environment: Mapping[str, str] = os.environ, finder: Finder | None = None) -> Config:
    """Return a parsed configuration with every reference in it replaced by what it stands for.

    Parse first, resolve then: an option that is a secret takes only references. `finder` finds it; none: a new one.

    Raises:
        ConfigError: names every reference that stands for nothing, and never a value.
        SystemAway: what a reference stands for can't be told now.
    """
    problems: list[Problem] = []
    finder = finder or Finder(environment)

    def text(key: str, value: str) -> str:
        return REFERENCE.sub(lambda match: one(key, match), value)

    def one(key: str, reference: "re.Match[str]") -> str:
        try:
            return finder.find(reference[1], reference[2])
        except Unresolved as error:
            problems.append(Problem(key, reference[0], error.reason, error.fix))
            return ""

    def parsed(key: str, value: object) -> object:
        if isinstance(value, str):
            return text(key, value)
        return tuple(text(key, item) for item in value) if isinstance(value, tuple) else value

    values = {key: parsed(key, value) for key, value in config.items()}
    seen = len(problems)
    raw, own = ({key: text(key, value) for key, value in texts.items()} for texts in (config.raw, config.own))
    # The same reference stands in both; keys that no option claims (of converters, say) are only among the raw ones.
    told = {(problem.key, problem.value) for problem in problems[:seen]}
    found = problems[:seen] + [problem for problem in problems[seen:] if (problem.key, problem.value) not in told]
    if found:
        raise ConfigError(found)
    return Config(values, raw, own=own)


def resolve_known(config: Config, environment: Mapping[str, str] = os.environ) -> Config:
    """The same for a check, before any task runs: what stands for nothing here, or can't be told now, stays a reference."""
    finder = Finder(environment)

    def one(reference: "re.Match[str]") -> str:
        try:
            return finder.find(reference[1], reference[2])
        except (Unresolved, SystemAway):
            return reference[0]

    return config.replaced(lambda text: REFERENCE.sub(one, text))


def unread(raw: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> list[Problem]:
    """The references in unparsed values that stand for nothing here, or can't be told now, under the options that hold them.

    Warnings, since a check need not run where the task will; but not where what should hold the secret was read, and does not.
    """
    problems = []
    find = Finder(environment).find
    away: dict[str, SystemAway] = {}
    for key, value in raw.items():
        for reference in REFERENCE.finditer(value):
            kind, name = reference.groups()
            try:
                # Who does not answer is not asked for each.
                if kind not in away:
                    find(kind, name)
                    continue
            except Unresolved as error:
                problems.append(Problem(key, reference[0][:_SHOWN], error.reason, error.fix, is_warning=not error.is_sure))
                continue
            except SystemAway as error:
                away[kind] = error
            reason, fix = f"cannot be read now: {away[kind]}", "A task waits for it; validate again to have it checked."
            problems.append(Problem(key, reference[0][:_SHOWN], reason, fix, is_warning=True))
    return problems


def resolve_values(raw: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return unparsed values, such as the keys of a Spark profile, with every reference replaced.

    Raises:
        ConfigError, SystemAway: as resolve().
    """
    return resolve(Config({}, raw), environment).raw
