"""Texts into fields by patterns with names: %{IP:client} %{NUMBER:bytes:int}. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connectors.logs.grok_library import PATTERNS
from connectors.logs.unfit import Unfit

_USE = re.compile(r"%\{(\w+)(?::([\w@.\[\]-]+))?(?::(int|long|float|double|boolean|string))?\}")
_LEFT = re.compile(r"%\{[^}]*\}?")
_INLINE = re.compile(r"\(\?P?<([A-Za-z_][\w]*)>")
_INNER = re.compile(r"\[([^\[\]]+)\]")
_NAME = re.compile(r"[A-Za-z_]\w*")
_DEEPEST = 20
_LONGEST = 1 << 16
"""Characters. A text that is longer is not looked at: what it takes to find that nothing matches may grow faster than the text."""
_LONGEST_PATTERN = 1 << 16
_KINDS: Mapping[str, Callable[[str], object]] = {
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "boolean": lambda text: text.lower() == "true",
    "string": str,
}


class Grok:
    """Patterns that are tried one after the other.

    Args:
        patterns: Such as "%{IP:client} %{WORD:verb}"; each matches anywhere in a text, as regular expressions do.
        own: More named patterns, which stand before those of the library.

    Raises:
        ValueError: one can't be used; the text says why.
    """

    def __init__(self, patterns: Sequence[str], own: Mapping[str, str]) -> None:
        self._patterns = [_Compiled(pattern, {**PATTERNS, **own}) for pattern in patterns]

    def read(self, text: str) -> dict[str, Any]:
        """The fields of a text.

        Raises:
            Unfit: no pattern matches.
        """
        if len(text) > _LONGEST:
            raise Unfit("NoMatch", f"it has {len(text)} characters, and patterns are held against {_LONGEST} at most")
        for pattern in self._patterns:
            if (found := pattern.read(text)) is not None:
                return found
        raise Unfit("NoMatch", "no pattern of `grok` matches it")


class _Compiled:
    def __init__(self, pattern: str, library: Mapping[str, str]) -> None:
        self._fields: dict[str, tuple[str, str]] = {}
        """By the name of a group its field and its kind."""
        self._size = 0
        made = self._made(pattern, library, ())
        try:
            # A record of several lines is one text.
            self._matches = re.compile(made, re.DOTALL).search
        except (re.error, RecursionError, OverflowError) as error:
            msg = f"{pattern!r} is no regular expression: {error}"
            raise ValueError(msg) from None

    def _made(self, pattern: str, library: Mapping[str, str], within: tuple[str, ...]) -> str:
        """The pattern with the others in the place of their names."""

        def used(match: re.Match[str]) -> str:
            name, field, kind = match.groups()
            if name not in library:
                msg = f"%{{{name}}} is no pattern that is known here"
                raise ValueError(msg)
            if name in within or len(within) >= _DEEPEST:
                msg = f"%{{{name}}} is made of itself"
                raise ValueError(msg)
            return (
                f"{self._group(field, kind or 'string') if field else '(?:'}{self._made(library[name], library, (*within, name))})"
            )

        made = _USE.sub(used, _INLINE.sub(lambda match: self._group(match[1], "string"), pattern))
        if (left := _LEFT.search(made)) is not None:
            msg = f"{left[0]!r} is no %{{NAME}}, %{{NAME:field}} or %{{NAME:field:int}}"
            raise ValueError(msg)
        if len(made) > _LONGEST_PATTERN:
            msg = f"%{{{(within or ('',))[0]}}} becomes longer than {_LONGEST_PATTERN} characters"
            raise ValueError(msg)
        return made

    def _group(self, field: str, kind: str) -> str:
        name = f"g{len(self._fields)}"
        self._fields[name] = field, kind
        return f"(?P<{name}>"

    def read(self, text: str) -> dict[str, Any] | None:
        match = self._matches(text)
        if match is None:
            return None
        found: dict[str, Any] = {}
        for name, (field, kind) in self._fields.items():
            if (part := match[name]) is not None:
                _put(found, field, _typed(part, field, kind))
        return found


def _typed(part: str, field: str, kind: str) -> object:
    try:
        return _KINDS[kind](part)
    except (ValueError, OverflowError):
        raise Unfit("NoMatch", f"{field} is {part[:40]!r}, which is no {kind}") from None


def _put(found: dict[str, Any], field: str, value: object) -> None:
    """[a][b] is b in a. Where several groups have a name, the first one that is there holds."""
    path = _INNER.findall(field) or [field]
    for name in path[:-1]:
        inner = found.setdefault(name, {})
        if not isinstance(inner, dict):
            return
        found = inner
    found.setdefault(path[-1], value)


def own_patterns(text: str) -> dict[str, str]:
    """Named patterns, a line each: NAME PATTERN.

    Raises:
        ValueError: a line is none.
    """
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, pattern = line.partition(" ")
        if not _NAME.fullmatch(name) or not pattern.strip():
            msg = f"{line[:80]!r} is no NAME PATTERN"
            raise ValueError(msg)
        found[name] = pattern.strip()
    return found
