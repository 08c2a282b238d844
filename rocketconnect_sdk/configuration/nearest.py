"""Names that somebody may have meant: the nearest of those that there are. Pure."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from heapq import nlargest

LIKE = 0.7
"""A name is near that shares this part of its characters, in their order."""
_MOST = 3
_AS_LIKE = 0.1
_COMPARED = 10_000
"""So many names are compared: it takes about 10 us each."""


def nearest(word: str, names: Iterable[str], like: float = LIKE) -> list[str]:
    """At most three names that are about as like the word as any, the nearest first; none is the word itself.

    Args:
        word: What was written.
        names: Those that there are.
        like: A name that shares a smaller part of its characters is not near.
    """
    given = word.casefold()
    matcher = SequenceMatcher(None, b=given, autojunk=False)
    found: list[tuple[float, str]] = []
    for name, _ in zip(dict.fromkeys(names), range(_COMPARED), strict=False):
        matcher.set_seq1(name.casefold())
        if name != word and matcher.real_quick_ratio() >= like and matcher.quick_ratio() >= like and matcher.ratio() >= like:
            found.append((matcher.ratio(), name))
    near = nlargest(_MOST, found, key=lambda each: each[0])
    return [name for ratio, name in near if ratio > near[0][0] - _AS_LIKE]


def did_you_mean(names: Iterable[str]) -> str:
    """The question whether one of these was meant: "did you mean orders or order?"; empty: there are none."""
    given = list(names)
    return f"did you mean {' or '.join(given)}?" if given else ""
