"""What each folder of tests may cost in the fast tier, beside what it did cost.

`python -m tests.runner.spent.budgets TIMES` prints what the fast tests of a table of `--times TIMES` used, in the form of
tests/budgets.toml.
"""

import math
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.runner.spent import costs
from tests.runner.spent.costs import Cost

FILE = "tests/budgets.toml"
_LEVELS = 3


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table."""

    text: str
    is_over: bool = False


def read(root: Path) -> dict[str, float]:
    """The processor seconds that each folder may use."""
    given = tomllib.loads((root / FILE).read_text(encoding="utf-8"))
    return {folder: float(seconds) for folder, seconds in given["budgets"].items()}


def folder_of(path: str, given: Mapping[str, float]) -> str:
    """The folder whose budget the tests of this file use: the innermost that has one, else the file's own, of three levels."""
    above = [str(parent) for parent in PurePosixPath(path).parents]
    return next((folder for folder in above if folder in given), own_folder(path))


def own_folder(path: str) -> str:
    """The folder of a file, of three levels."""
    return "/".join(PurePosixPath(path).parent.parts[:_LEVELS])


def used_by_folder(tests: Mapping[str, Cost], given: Mapping[str, float]) -> dict[str, float]:
    """The processor seconds that the fast ones of these tests used, by folder."""
    used: dict[str, float] = defaultdict(float)
    for nodeid, cost in tests.items():
        if not cost.slow:
            used[folder_of(nodeid.partition("::")[0], given)] += cost.processor
    return dict(used)


def table(used: Mapping[str, float], given: Mapping[str, float], around: Mapping[str, float]) -> Iterator[Line]:
    """Each folder that ran tests, the one that is over most first; what was used around the tests, and for what; the total."""
    yield Line(f"{'budget':>8} {'used':>8} {'over':>8}")
    allowed = {folder: given[folder] for folder in used if folder in given}
    for folder in sorted(used, key=lambda folder: (allowed.get(folder, -math.inf) - used[folder], folder)):
        budget, over = allowed.get(folder), used[folder] - allowed.get(folder, math.inf)
        if budget is None:
            yield Line(f"{'none':>8} {used[folder]:8.1f} {'':8}  {folder}: NO BUDGET, give it one in {FILE}", is_over=True)
        else:
            yield Line(f"{budget:8.0f} {used[folder]:8.1f} {over:+8.1f}  {folder}{': OVER' if over > 0 else ''}", is_over=over > 0)
    for what, seconds in around.items():
        yield Line(f"{'':8} {seconds:8.1f} {'':8}  {what}")
    budget, total = sum(allowed.values()), sum(used.values())
    over = total - budget
    yield Line(f"{budget:8.0f} {total:8.1f} {over:+8.1f}  all tests{': OVER' if over > 0 else ''}", is_over=over > 0)


def as_toml(used: Mapping[str, float]) -> str:
    """These seconds in the form of the file, rounded up."""
    return "[budgets]\n" + "".join(f'"{folder}" = {max(1, math.ceil(seconds))}\n' for folder, seconds in sorted(used.items()))


def main(argv: Sequence[str]) -> int:
    """Print what the tests of a table used."""
    root = Path(__file__).parents[3]
    if len(argv) != 1:
        sys.stderr.write("usage: python -m tests.runner.spent.budgets TIMES\n")
        return 2
    tests = costs.read(Path(argv[0]).read_text(encoding="utf-8"))
    sys.stdout.write(as_toml(used_by_folder(tests, read(root))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
