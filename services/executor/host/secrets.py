"""References to secrets, `${env:NAME}` and `${file:PATH:KEY}`: resolved here, in the process of the plugin, and nowhere else.

Invariant 6: what was resolved is remembered, so that `hide` can take it out of everything that leaves the process as text.

A configuration is written by whoever may create a connector, so it does not say what may be read: the executor's operator does,
with names of variables and folders. services.executor.environment puts both into the environment of this process.
"""

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from rocketconnect_sdk.errors import ConfigError, Problem
from rocketconnect_sdk.options import REFERENCE, Config
from services.executor.environment import FOLDERS, VARIABLES, folders, may_be_named

HIDDEN = "***"
_SHORTEST = 3
"""Shorter values are no secrets; hiding them would only make texts unreadable."""
_NEVER = ("/proc", "/sys", "/dev")
"""What the kernel tells of processes and devices is in no folder of secrets, whatever is allowed."""


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


def remember(value: str) -> None:
    """From now on `hide` takes this value out."""
    _redactor.add(value)


def resolve(config: Config, environment: Mapping[str, str] = os.environ) -> Config:
    """Return a parsed configuration with every reference in it replaced by what it stands for.

    Parse first, resolve then: an option that is a secret takes only references.

    Raises:
        ConfigError: names every reference that stands for nothing, and never a value.
    """
    problems: list[Problem] = []

    def text(key: str, value: str) -> str:
        return REFERENCE.sub(lambda match: one(key, match[0]), value)

    def one(key: str, reference: str) -> str:
        try:
            value = _look_up(reference, environment)
        except _Unresolved as error:
            problems.append(Problem(key, reference, error.reason, error.fix))
            return ""
        _redactor.add(value)
        return value

    def parsed(key: str, value: object) -> object:
        if isinstance(value, str):
            return text(key, value)
        return tuple(text(key, item) for item in value) if isinstance(value, tuple) else value

    values = {key: parsed(key, value) for key, value in config.items()}
    seen = len(problems)
    raw = {key: text(key, value) for key, value in config.raw.items()}
    # The same reference stands in both; keys that no option claims (of converters, say) are only among the raw ones.
    known = {(problem.key, problem.value) for problem in problems[:seen]}
    found = problems[:seen] + [problem for problem in problems[seen:] if (problem.key, problem.value) not in known]
    if found:
        raise ConfigError(found)
    return Config(values, raw)


def resolve_known(config: Config, environment: Mapping[str, str] = os.environ) -> Config:
    """The same for a check, before any task runs: what stands for nothing on this executor stays a reference."""

    def one(match: "re.Match[str]") -> str:
        try:
            value = _look_up(match[0], environment)
        except _Unresolved:
            return match[0]
        _redactor.add(value)
        return value

    return config.replaced(lambda text: REFERENCE.sub(one, text))


def resolve_values(raw: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return unparsed values, such as the keys of a Spark profile, with every reference replaced.

    Raises:
        ConfigError: as resolve().
    """
    return resolve(Config({}, raw), environment).raw


class _Unresolved(Exception):
    def __init__(self, *, reason: str, fix: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fix = fix


def _look_up(reference: str, environment: Mapping[str, str]) -> str:
    source, _, name = reference[2:-1].partition(":")
    if source == "file":
        return _from_file(name, folders(environment.get(FOLDERS, "")))
    if not may_be_named(name, environment.get(VARIABLES, "")):
        raise _Unresolved(
            reason="stands for an environment variable that this executor lets no connector read",
            fix=f"Add {name} to the executor's --secret-variables (or {VARIABLES}), and start it again.",
        )
    if name not in environment:
        raise _Unresolved(
            reason="stands for an environment variable that the executor does not have",
            fix=f"Set {name} where the executor is started, and start it again.",
        )
    return environment[name]


def _from_file(name: str, allowed: Iterable[Path]) -> str:
    path, _, key = name.rpartition(":")
    if not path or not key:
        raise _Unresolved(reason="does not name a file and a key", fix="Write ${file:PATH:KEY}.")
    try:
        lines = _read(path, allowed).splitlines()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise _Unresolved(
            reason=f"stands for a file that cannot be read: {why}",
            fix=f"Put a readable file with lines KEY=VALUE at {path} on the executor.",
        ) from error
    values = dict(_entries(lines))
    if key not in values:
        raise _Unresolved(reason="stands for a key that is not in the file", fix=f"Add a line {key}=VALUE to {path}.")
    return values[key]


def _read(path: str, allowed: Iterable[Path]) -> str:
    """The text of a file that is beneath one of the folders, wherever links on the way lead.

    Raises:
        _Unresolved: it is not; whether it exists is not told.
        OSError: it can't be read.
        ValueError: it is no text.
    """
    beneath = [os.path.realpath(folder) for folder in allowed]
    outside = _Unresolved(
        reason="stands for a file that this executor lets no connector read",
        fix=f"Put it into a folder of the executor's --secret-folders (or {FOLDERS}).",
    )
    # What a path leads to can change, and what was opened can't: so the second look is at what is open. The first one comes before
    # since opening a device can have effects.
    if not _is_beneath(os.path.realpath(path), beneath):
        raise outside
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as opened:
        if not _is_beneath(os.path.realpath(f"/proc/self/fd/{opened.fileno()}"), beneath):
            raise outside
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise outside
        return opened.read()


def _is_beneath(path: str, beneath: Iterable[str]) -> bool:
    if any(os.path.commonpath([path, never]) == never for never in _NEVER):
        return False
    return any(os.path.commonpath([path, folder]) == folder for folder in beneath)


def _entries(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        key, sign, value = line.partition("=")
        if sign and not line.lstrip().startswith("#"):
            yield key.strip(), value.strip()
