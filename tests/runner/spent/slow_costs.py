"""What the slow tests cost when they last ran: tests/slow-costs.tsv, from which a slice of them is chosen.

`python -m tests.runner.spent.slow_costs TIMES` takes the slow tests of a table of `--times TIMES` over; tests go with their files.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.runner.spent import costs
from tests.runner.spent.costs import Cost

FILE = "tests/slow-costs.tsv"


def read(root: Path) -> dict[str, Cost]:
    """What is known; nothing where there is no table."""
    path = root / FILE
    return costs.read(path.read_text(encoding="utf-8")) if path.exists() else {}


def main(argv: Sequence[str]) -> int:
    """Write the table again."""
    root = Path(__file__).parents[3]
    if len(argv) != 1:
        sys.stderr.write("usage: python -m tests.runner.spent.slow_costs TIMES\n")
        return 2
    measured = costs.read(Path(argv[0]).read_text(encoding="utf-8"))
    slow = {nodeid: cost for nodeid, cost in {**read(root), **measured}.items() if cost.slow}
    kept = {nodeid: cost for nodeid, cost in slow.items() if (root / nodeid.partition("::")[0]).exists()}
    (root / FILE).write_text(costs.written(kept), encoding="utf-8")
    sys.stdout.write(f"{FILE}: {len(kept)} tests, {sum(cost.seconds for cost in kept.values()):.0f} s one after the other\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
