"""Names that stand twice in one JSON object: readers take the last one, and what the others have would be lost in silence."""

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from json import JSONDecoder
from typing import Any

import numpy as np

from rocketconnect_sdk.errors import RecordError

_NAMED = re.compile(rb':(?<=["\s]:)').findall
"""JSON has no more names than colons behind a quote or white space."""
Data = np.ndarray[tuple[int], np.dtype[np.uint8]]
AT_ONCE = 200
"""Texts of which the processor keeps what is asked of them."""
_COLON, _QUOTE, _BRACE = map(ord, ':"{')
_NESTED = frozenset((dict, list, tuple))


def check_names(text: bytes, value: object) -> None:
    """Look for names that stand twice in what was read of a text: see has_surplus. Raises RecordError: one does."""
    if has_surplus(text, value):
        check_twice(text)


def check_twice(text: bytes) -> None:
    """Look for names that stand twice in a text that is known to be JSON. Raises RecordError: one does."""
    # Python reads no numbers of thousands of digits, and none is needed.
    JSONDecoder(object_pairs_hook=_object, parse_int=str, parse_float=str).decode(text.decode())


def has_surplus(text: bytes, value: object) -> bool:
    """Whether JSON may have more names than what was read of it, in dicts, lists and tuples. False: it has not."""
    # Each name has a colon behind it, and most texts no other.
    return text.count(b":") != (len(value) if isinstance(value, dict) else 0) and len(_NAMED(text)) > _names_in((value,))


def many_have_surplus(texts: Sequence[bytes], values: Sequence[object], names: int | None) -> bool:
    """The same for many at once; names: how many each value has, where that is known."""
    begins = range(0, len(texts), AT_ONCE)
    return any(data_has_surplus(data_of(texts[at : at + AT_ONCE]), values[at : at + AT_ONCE], names) for at in begins)


def data_of(texts: Sequence[bytes]) -> Data:
    """The bytes of texts, to look at all of them at once."""
    return np.frombuffer(b"\n".join(texts), np.uint8)


def data_has_surplus(data: Data, values: Sequence[object], names: int | None) -> bool:
    """The same as many_have_surplus for texts that are joined: see data_of."""
    colons = np.count_nonzero(data == _COLON)
    known = sum([len(value) for value in values if type(value) is dict]) if names is None else names * len(values)
    if colons == known:
        return False
    # What else is below a quote stands within a text.
    most = int(np.count_nonzero((data[1:] == _COLON) & (data[:-1] <= _QUOTE)))
    if most > known and names is None:
        objects, known = _common(values)
        # Each object has a brace: where there are no more braces, all objects were found.
        if objects < np.count_nonzero(data == _BRACE):
            known = _names_in(values)
    return most > known


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        msg = f"an object has the name {twice[:60]!r} twice, and only the last of its values would be kept: give it once"
        raise RecordError(msg)
    return found


def _common(values: Sequence[object]) -> tuple[int, int]:
    """How many objects stand where the first value has some, and how many names these have."""
    objects = names = 0
    left: list[Iterable[object]] = [values]
    while left:
        found = [value for value in left.pop() if type(value) is dict]
        objects += len(found)
        names += sum(map(len, found))
        for name, part in found[0].items() if found else ():
            if type(part) is dict:
                left.append([value.get(name) for value in found])
            elif type(part) is list and any(type(item) is dict for item in part):
                left.append(chain.from_iterable(items for value in found if type(items := value.get(name)) is list))
    return objects, names


def _names_in(value: Any) -> int:
    """How many names the objects in a value have."""
    if type(value) is dict:
        count, parts = len(value), value.values()
    else:
        count, parts = 0, value
    if _NESTED.isdisjoint(map(type, parts)):
        return count
    return count + sum([_names_in(part) for part in parts if type(part) in _NESTED])
