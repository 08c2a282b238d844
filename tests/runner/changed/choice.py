"""What a change runs, why, and what that will cost. Pure."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.runner.changed.graph import Graph
from tests.runner.spent import budgets
from tests.runner.spent.slow_costs import FileCost

MOST_OF_ALL = 0.6
"""From this share of all test files on, the fast tier runs, and a part of the slow one."""
PARTS = 4
_WORKERS = 2
_MOST_SHOWN = 30


@dataclass(frozen=True, slots=True)
class Choice:
    """What runs."""

    by_file: Mapping[str, frozenset[str]]
    """The test files that each changed file can reach."""
    all_tests: int

    @property
    def tests(self) -> list[str]:
        """The test files that run."""
        return sorted(set().union(*self.by_file.values()))

    @property
    def is_nearly_all(self) -> bool:
        """The fast tier runs, and a part of the slow one, instead of these files in both."""
        return len(self.tests) > MOST_OF_ALL * self.all_tests


def choose(changed: Iterable[str], graph: Graph) -> Choice:
    """What these files can reach; a test file that went runs no more."""
    return Choice({path: frozenset(graph.reached_by(path)) for path in sorted(changed)}, len(graph.tests))


def told(choice: Choice, day: int) -> list[str]:
    """What was chosen, and why: changed files that reach the same tests stand together."""
    alike: dict[frozenset[str], list[str]] = defaultdict(list)
    for path, tests in choice.by_file.items():
        alike[tests].append(path)
    lines = []
    for tests, paths in sorted(alike.items(), key=lambda item: -len(item[0])):
        lines += [f"  {path}" for path in paths[:_MOST_SHOWN]]
        if len(paths) > _MOST_SHOWN:
            lines.append(f"  and {len(paths) - _MOST_SHOWN} more")
        lines.append(f"    -> {_files(len(tests))}{': ' + _by_folder(tests) if tests else ''}")
    if choice.is_nearly_all:
        lines.append(
            f"Together {_files(len(choice.tests))} of {choice.all_tests}, more than {MOST_OF_ALL:.0%}: "
            f"the fast tier runs, and of the slow one part {day % PARTS + 1} of {PARTS}, the one of the day."
        )
    else:
        lines.append(f"Together {_files(len(choice.tests))} of {choice.all_tests}, fast and slow tests.")
    return lines


def cost(choice: Choice, tests_by_file: Mapping[str, int], given: Mapping[str, float], slow: Mapping[str, FileCost]) -> str:
    """What it will take, from the budgets of the fast tests and what the slow ones took; files count by their numbers of tests."""
    chosen = set(tests_by_file if choice.is_nearly_all else choice.tests)
    of_folder, chosen_of = Counter[str](), Counter[str]()
    for path, count in tests_by_file.items():
        folder = budgets.folder_of(path, given)
        of_folder[folder] += count
        chosen_of[folder] += count if path in chosen else 0
    processor = sum(given[folder] * count / of_folder[folder] for folder, count in chosen_of.items() if folder in given and count)
    share = 1 / PARTS if choice.is_nearly_all else 1.0
    slow_seconds = share * sum(each.seconds for file, each in slow.items() if file in chosen)
    fast = f"about {math.ceil(processor)} s of processor by the budgets of the fast tests"
    if not slow:
        return f"It takes {fast}; what the slow ones take was never recorded (tests/slow-costs.tsv)."
    minutes = (processor + slow_seconds) / _WORKERS / 60
    return f"It takes {fast}, and {math.ceil(slow_seconds)} s of slow ones; with two workers some {minutes:.0f} min."


def _by_folder(tests: Iterable[str]) -> str:
    counts = Counter(map(budgets.own_folder, tests))
    shown = [f"{folder} {count}" for folder, count in counts.most_common(6)]
    return ", ".join(shown) + (f" and {len(counts) - 6} more folders" if len(counts) > 6 else "")


def _files(count: int) -> str:
    return {0: "no test", 1: "1 test file"}.get(count, f"{count} test files")
