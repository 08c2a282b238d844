"""Which of the slow tests run when not all of them do. Pure: the same tests, costs and key give the same choice."""

import random
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

UNKNOWN_SECONDS = 5.0
"""What a test counts of whose file no cost is known."""
_MOST_SECONDS_TOGETHER = 60.0


def that_fit(
    tests: Sequence[str],
    seconds_in: Mapping[str, float],
    scope_of: Callable[[str], str],
    *,
    key: str,
    seconds: float,
    workers: int,
) -> set[str]:
    """Tests drawn by the key that so many workers run within these seconds, when one of a file takes what `seconds_in` says.

    Tests of one scope run one after the other in one worker. Neighbours in a file are drawn together, up to a minute of them:
    what a file sets up is paid once.
    """
    drawn = _together(tests, seconds_in)
    random.Random(key).shuffle(drawn)
    chosen: set[str] = set()
    loads: dict[str, float] = defaultdict(float)
    for group in drawn:
        scope, cost = scope_of(group[0]), sum(_cost(each, seconds_in) for each in group)
        if _span([*(load for name, load in loads.items() if name != scope), loads[scope] + cost], workers) <= seconds:
            loads[scope] += cost
            chosen.update(group)
    return chosen


def of_the_day(tests: Sequence[str], day: int, parts: int) -> set[str]:
    """One part of the files of these tests; each day another, until all had their turn."""
    return {each for each in tests if zlib.crc32(file_of(each).encode()) % parts == day % parts}


def file_of(test: str) -> str:
    """The file of a test, by its name."""
    return test.partition("::")[0]


def _together(tests: Sequence[str], seconds_in: Mapping[str, float]) -> list[list[str]]:
    groups: list[list[str]] = []
    spent = 0.0
    for test in tests:
        cost = _cost(test, seconds_in)
        if not groups or file_of(groups[-1][0]) != file_of(test) or spent + cost > _MOST_SECONDS_TOGETHER:
            groups.append([])
            spent = 0.0
        groups[-1].append(test)
        spent += cost
    return groups


def _span(loads: Sequence[float], workers: int) -> float:
    """How long the busiest worker has, when the longest is handed out first."""
    busy = [0.0] * workers
    for load in sorted(loads, reverse=True):
        busy[busy.index(min(busy))] += load
    return max(busy)


def _cost(test: str, seconds_in: Mapping[str, float]) -> float:
    return seconds_in.get(file_of(test), UNKNOWN_SECONDS)
