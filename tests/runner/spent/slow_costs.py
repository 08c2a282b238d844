"""What the slow tests cost when they last ran: tests/slow-costs.tsv, from which a slice of them is chosen. One line a file.

`python -m tests.runner.spent.slow_costs TIMES...` takes the slow tests of tables of `--times TIMES` over: the files of which one of
them has tests, in the place of what was known of them. What was known of files that are gone goes.
"""

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.runner.spent import costs
from tests.runner.spent.costs import Cost

FILE = "tests/slow-costs.tsv"
_LEFT_OUT = ("tests/connectors/mongodb/",)
"""On a new machine their server is compiled first, which takes longer than a slice."""
_HEAD = "seconds\tprocessor seconds\ttests\tfile\n"


@dataclass(frozen=True, slots=True)
class FileCost:
    """What the slow tests of a file take one after the other, in seconds on the clock and of processor, and how many they are."""

    seconds: float
    processor: float
    tests: int

    @property
    def each(self) -> float:
        """Seconds on the clock that one of them takes in the mean."""
        return self.seconds / self.tests


def read(root: Path) -> dict[str, FileCost]:
    """What is known, by file; nothing where there is no table."""
    path = root / FILE
    if not path.exists():
        return {}
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").removeprefix(_HEAD).splitlines()]
    return {file: FileCost(float(seconds), float(processor), int(tests)) for seconds, processor, tests, file in rows}


def by_file(measured: Mapping[str, Cost]) -> dict[str, FileCost]:
    """The slow ones of these tests, together with those of their files."""
    found: dict[str, list[Cost]] = defaultdict(list)
    for nodeid, cost in measured.items():
        if cost.slow:
            found[nodeid.partition("::")[0]].append(cost)
    return {
        file: FileCost(sum(cost.seconds for cost in them), sum(cost.processor for cost in them), len(them))
        for file, them in found.items()
    }


def written(known: Mapping[str, FileCost]) -> str:
    """The table, by the names of files, so that what changes is seen."""
    lines = [f"{cost.seconds:.1f}\t{cost.processor:.1f}\t{cost.tests}\t{file}\n" for file, cost in sorted(known.items())]
    return _HEAD + "".join(lines)


def main(argv: Sequence[str]) -> int:
    """Write the table again."""
    root = Path(__file__).parents[3]
    if not argv:
        sys.stderr.write("usage: python -m tests.runner.spent.slow_costs TIMES...\n")
        return 2
    known = read(root)
    for path in argv:
        known |= by_file(costs.read(Path(path).read_text(encoding="utf-8")))
    kept = {file: cost for file, cost in known.items() if (root / file).exists() and not file.startswith(_LEFT_OUT)}
    (root / FILE).write_text(written(kept), encoding="utf-8")
    tests, seconds = sum(cost.tests for cost in kept.values()), sum(cost.seconds for cost in kept.values())
    sys.stdout.write(f"{FILE}: {tests} tests of {len(kept)} files, {seconds:.0f} s one after the other\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
