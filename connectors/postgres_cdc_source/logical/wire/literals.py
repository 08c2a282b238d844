r"""Texts of values that are made of others: arrays and hstore.

https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO and https://www.postgresql.org/docs/current/hstore.html
"""

import re
from collections.abc import Callable
from typing import Any

_BOUNDS = re.compile(r"(?:\[-?\d+:-?\d+\])+=", re.ASCII)
_DIMENSIONS = 6
"""The most that PostgreSQL has."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_PAIR = re.compile(rf"{_QUOTED}=>(?:{_QUOTED}|(NULL))(?:, |$)", re.DOTALL)
_TOKENS = {delimiter: re.compile(rf'{_QUOTED}|([{{}}{delimiter}])|([^"{{}}\\{delimiter}]+)', re.DOTALL) for delimiter in (",", ";")}


def read_array(text: str, read: Callable[[str], object], delimiter: str = ",") -> list[Any]:
    """The elements; of several dimensions as lists in lists. Bounds other than from 1 are left out.

    Raises:
        ValueError: it is no array, or one of them is no value.
    """
    if text.startswith("["):
        bounds = _BOUNDS.match(text)
        text = text[bounds.end() :] if bounds else text
    if text == "{}":
        return []
    inner = text[1:-1]
    if '"' not in text and "{" not in inner and text[:1] == "{" and text[-1:] == "}":
        return [None if part == "NULL" else read(part) for part in inner.split(delimiter)]
    return _nested(text, read, _TOKENS[delimiter], delimiter)


def read_hstore(text: str) -> dict[str, str | None]:
    """The pairs of an hstore.

    Raises:
        ValueError: it is none.
    """
    pairs: dict[str, str | None] = {}
    at = 0
    while at < len(text):
        found = _PAIR.match(text, at)
        if found is None:
            msg = 'is no hstore such as "a"=>"1", "b"=>NULL'
            raise ValueError(msg)
        pairs[_unescape(found[1])] = None if found[3] else _unescape(found[2])
        at = found.end()
    return pairs


def _nested(text: str, read: Callable[[str], object], tokens: re.Pattern[str], delimiter: str) -> list[Any]:
    root: list[Any] = []
    open_lists = [root]
    at, wanted = 0, True
    while at < len(text):
        found = tokens.match(text, at)
        # A value or an opening brace where one may stand, and nothing else.
        if found is None or wanted is not (found[2] not in ("}", delimiter)) or len(open_lists) > _DIMENSIONS + 1:
            raise _no_array()
        at = found.end()
        if found[2] == "{":
            inner: list[Any] = []
            open_lists[-1].append(inner)
            open_lists.append(inner)
            continue
        if len(open_lists) == 1:
            raise _no_array()
        if found[2] == "}":
            open_lists.pop()
        elif found[2] is None:
            quoted, plain = found[1], found[3]
            open_lists[-1].append(None if plain == "NULL" else read(_unescape(quoted) if plain is None else plain))
        wanted = found[2] == delimiter
    if len(open_lists) != 1 or len(root) != 1 or wanted:
        raise _no_array()
    elements: list[Any] = root[0]
    return elements


def _no_array() -> ValueError:
    return ValueError('is no array such as {1,NULL,"a b"}')


def _unescape(quoted: str) -> str:
    return _ESCAPED.sub(r"\1", quoted) if "\\" in quoted else quoted
