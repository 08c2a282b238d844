"""Whether what arrived is what was sent. Pure."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

_SHOWN = 5
_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Difference(AssertionError):
    """What arrived is not what was promised; the text has some of it."""


def each_once(expected: Iterable[Hashable], found: Iterable[Hashable]) -> None:
    """Everything is there, as often as it is expected, and nothing else.

    Raises:
        Difference
    """
    wanted, there = Counter(expected), Counter(found)
    _raise("missing", (wanted - there).elements())
    _raise("there too often, or never sent", (there - wanted).elements())


def at_least(expected: Iterable[Hashable], found: Iterable[Hashable], possible: Iterable[Hashable]) -> None:
    """Everything is there, and nothing that was not possible.

    Raises:
        Difference
    """
    there = set(found)
    _raise("missing", set(expected) - there)
    _raise("never sent", there - set(possible))


def in_order(expected: Mapping[_Key, Sequence[_Value]], found: Mapping[_Key, Sequence[_Value]]) -> None:
    """Under each key there is the same, in the same order.

    Raises:
        Difference
    """
    _raise("keys that are missing, or were never sent", expected.keys() ^ found.keys())
    for key, wanted in expected.items():
        there = found[key]
        if there == wanted:
            continue
        place = next((n for n, (a, b) in enumerate(zip(wanted, there, strict=False)) if a != b), min(len(wanted), len(there)))
        around = slice(place, place + _SHOWN)
        msg = f"{key!r}: {len(there)} of {len(wanted)}; from {place} on {there[around]}, where {wanted[around]} was sent"
        raise Difference(msg)


def _raise(what: str, of: Iterable[object]) -> None:
    if some := sorted(of, key=repr):
        msg = f"{len(some)} {what}: {some[:_SHOWN]}"
        raise Difference(msg)
