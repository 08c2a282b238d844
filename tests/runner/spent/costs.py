"""What tests cost, as tables in files: one line a test."""

from collections.abc import Mapping
from dataclasses import dataclass

_HEAD = "seconds\tprocessor seconds\ttest\ttier\tseconds without fixtures\n"


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds on the clock, seconds of processor with those of ended children, and whether the test is marked `slow`.

    `alone` is what of the seconds the test itself took: what it needs, and others may need, too, was there, or was made before.
    """

    seconds: float
    processor: float
    slow: bool = False
    alone: float = 0.0


def written(costs: Mapping[str, Cost]) -> str:
    """The table of these tests, the longest first."""
    lines = [
        f"{cost.seconds:.2f}\t{cost.processor:.2f}\t{nodeid}\t{'slow' if cost.slow else 'fast'}\t{cost.alone:.2f}\n"
        for nodeid, cost in sorted(costs.items(), key=lambda item: (-item[1].seconds, item[0]))
    ]
    return _HEAD + "".join(lines)


def read(text: str) -> dict[str, Cost]:
    """The tests of such a table. Raises ValueError for a text that is none."""
    if not text.startswith(_HEAD):
        raise ValueError(f"no table of costs: its first line is not {_HEAD.strip()!r}")
    # A parameter in the name of a test may have any sign but these two; pytest escapes them.
    rows = [line.split("\t") for line in text.removeprefix(_HEAD).split("\n") if line]
    return {
        nodeid: Cost(float(seconds), float(processor), tier == "slow", float(alone))
        for seconds, processor, nodeid, tier, alone in rows
    }
