"""Chooses the tests that are slow for what they cost: tests/costly.tsv.

`python -m tests.runner.spent.costly TIMES...` adds those of tables of `--times TIMES`: a fast test that took `MOST_SECONDS`, and of
the cases of one test, where each takes `MOST_OF_A_CASE`, all but the cheapest. What is there stays while its file is there and not
in `tests/tiers.toml`: who made a test cheaper takes its line out.

Seconds are those on the clock, without fixtures, in a run with all workers.
"""

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.runner import tiers
from tests.runner.spent import costs
from tests.runner.spent.costs import Cost

MOST_SECONDS = 4.0
MOST_OF_A_CASE = 0.7


def chosen(measured: Mapping[str, Cost], stays: frozenset[str]) -> dict[str, float]:
    """The fast ones of these tests that cost too much, with their seconds, but for those that stay fast."""
    cases: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for nodeid, cost in measured.items():
        if not cost.slow:
            cases[nodeid.partition("[")[0]].append((cost.alone, nodeid))
    found: dict[str, float] = {}
    for of_one in cases.values():
        (cheapest, nodeid), *others = sorted(of_one)
        found |= {nodeid: cheapest} if cheapest >= MOST_SECONDS else {}
        found |= {other: seconds for seconds, other in others if seconds >= MOST_OF_A_CASE}
    return {nodeid: seconds for nodeid, seconds in found.items() if nodeid not in stays}


def main(argv: Sequence[str], root: Path = Path(__file__).parents[3]) -> int:
    """Write the table again."""
    if not argv:
        sys.stderr.write("usage: python -m tests.runner.spent.costly TIMES...\n")
        return 2
    known = tiers.read(root)
    found = dict(known.costly)
    for path in argv:
        found |= chosen(costs.read(Path(path).read_text(encoding="utf-8")), known.fast)
    kept = {
        nodeid: seconds
        for nodeid, seconds in found.items()
        if (root / nodeid.partition("::")[0]).exists() and not nodeid.startswith(known.starts)
    }
    (root / tiers.COSTLY).write_text(tiers.written(kept), encoding="utf-8")
    sys.stdout.write(f"{tiers.COSTLY}: {len(kept)} tests, {sum(kept.values()):.0f} s one after the other\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
