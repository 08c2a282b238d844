"""Checks of values that are made of others, the same in every form."""

from collections.abc import Sequence, Set
from typing import Any

from rocketconnect_sdk.errors import RecordError


def checked_struct(value: Any, known: Set[str]) -> dict[str, Any]:
    """The value, if it is a struct of these fields. Raises RecordError: it is none, or has others."""
    if not isinstance(value, dict):
        msg = f"a {type(value).__name__} is no struct, which is a dict"
        raise RecordError(msg)
    if not value.keys() <= known:
        surplus = ", ".join(repr(name)[:60] for name in value if name not in known)
        msg = f"the value has {surplus[:200]}, and the schema has not"
        raise RecordError(msg)
    return value


def dict_of(pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    """The map of these pairs. Raises RecordError: it has a key twice, or one that can be none in Python."""
    try:
        found = dict(pairs)
    except TypeError:
        msg = "the keys of a map are structs, arrays or maps, which cannot be keys in Python"
        raise RecordError(msg) from None
    if len(found) < len(pairs):
        msg = "a map has a key twice"
        raise RecordError(msg)
    return found
