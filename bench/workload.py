"""What a workload is told and what it gives."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.measuring.costs import Cost


class BenchFailed(Exception):
    """Rows are missing, doubled, changed or out of order, or nothing arrived: there is no figure."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a workload is told.

    Attributes:
        repeats: How often each case is measured; cases take turns, so that what else the machine does hits all of them.
        rows: How many rows each repetition moves; None: what the workload has by itself.
    """

    repeats: int = 5
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One repetition of one case.

    Attributes:
        case: What was measured, for people.
        figures: By name; the name ends in the unit.
        processes: What each process used meanwhile.
        size: Of the data in bytes, where a workload measures several sizes.
    """

    case: str
    figures: Mapping[str, float]
    processes: Sequence[Cost] = ()
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """One thing that is measured.

    Attributes:
        title: For people.
        run: Yields samples as they are measured, each only when the content of what arrived was right; raises BenchFailed.
        shown: The figures of the table and, those of them that are plotted, in `plotted`.
        plotted: Figures that get a plot: against the size where there are several, otherwise case by case.
        size: What Sample.size is the size of.
        usual: Whether it runs when none is named.
    """

    title: str
    run: Callable[[Options], Iterator[Sample]]
    shown: tuple[str, ...]
    plotted: tuple[str, ...] = ()
    size: str = ""
    usual: bool = True
