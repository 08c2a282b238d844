"""Samples as people and programs read them: minimum, median and maximum of each figure of each case."""

import os
import platform
import shutil
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from bench.measuring.costs import Cost
from bench.workload import Sample, Workload


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over all repetitions of a case."""

    minimum: float
    median: float
    maximum: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Return the spread of at least one value."""
        return cls(min(values), statistics.median(values), max(values))


@dataclass(frozen=True, slots=True)
class Case:
    """All repetitions of one case at one size.

    Attributes:
        name: The case.
        size: See Sample.
        repeats: How many there are.
        figures: By name.
        processes: Of each role, all its processes together: median of the CPU seconds, highest peak of memory.
    """

    name: str
    size: int | None
    repeats: int
    figures: Mapping[str, Spread]
    processes: Sequence[Cost]


def cases(samples: Sequence[Sample]) -> list[Case]:
    """Put the repetitions of each case together, in the order in which the cases came first."""
    grouped: dict[tuple[str, int | None], list[Sample]] = defaultdict(list)
    for sample in samples:
        grouped[sample.case, sample.size].append(sample)
    found = []
    for (name, size), group in grouped.items():
        names = dict.fromkeys(figure for sample in group for figure in sample.figures)
        figures = {figure: Spread.of([s.figures[figure] for s in group if figure in s.figures]) for figure in names}
        found.append(Case(name, size, len(group), figures, _processes(group)))
    return found


def _processes(group: Sequence[Sample]) -> list[Cost]:
    roles: dict[str, list[Cost]] = defaultdict(list)
    for sample in group:
        together: dict[str, Cost] = {}
        for cost in sample.processes:
            before = together.get(cost.role, Cost(cost.role, 0.0, 0.0))
            together[cost.role] = Cost(cost.role, before.cpu_seconds + cost.cpu_seconds, before.peak_mib + cost.peak_mib)
        for role, cost in together.items():
            roles[role].append(cost)
    rows = [
        Cost(role, statistics.median(cost.cpu_seconds for cost in costs), max(cost.peak_mib for cost in costs))
        for role, costs in roles.items()
    ]
    return sorted(rows, key=lambda cost: -cost.cpu_seconds)


def table(workload: Workload, found: Sequence[Case]) -> Table:
    """Each case a line: the medians, with the minimum and maximum below."""
    shown = Table(title=workload.title, title_justify="left", title_style="bold")
    shown.add_column("case", no_wrap=True)
    if workload.size:
        shown.add_column(workload.size, justify="right")
    columns = [name for name in workload.shown if any(name in case.figures for case in found)]
    for name in columns:
        shown.add_column(name.replace("_", " "), justify="right")
    for case in found:
        cells = [_cell(case.figures.get(name)) for name in columns]
        shown.add_row(case.name, *([f"{case.size:,}"] if case.size is not None else []), *cells)
    return shown


def process_table(found: Sequence[Case]) -> Table | None:
    """CPU seconds and peak memory by role, case by case; None when nothing was metered."""
    metered = [case for case in found if case.processes and case.size is None]
    if not metered:
        return None
    shown = Table("process", *(case.name for case in metered), title="CPU s, peak MiB", title_justify="left")
    roles = dict.fromkeys(cost.role for case in metered for cost in case.processes)
    for role in roles:
        costs = [next((cost for cost in case.processes if cost.role == role), None) for case in metered]
        shown.add_row(role, *(f"{cost.cpu_seconds:.1f}, {cost.peak_mib:,.0f}" if cost else "" for cost in costs))
    return shown


def document(found: Mapping[str, Sequence[Sample]], load: float) -> dict[str, Any]:
    """Everything that was measured, for programs.

    Args:
        found: The samples of each workload.
        load: The load of the machine before anything was measured (one minute).
    """
    workloads = {
        name: {"cases": [asdict(case) for case in cases(samples)], "samples": [asdict(sample) for sample in samples]}
        for name, samples in found.items()
    }
    return {"commit": _commit(), "machine": _machine(), "load_before": load, "workloads": workloads}


def number(value: float) -> str:
    """Three digits that count, with separators: 149,302, 12.6, 0.31."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _cell(spread: Spread | None) -> str:
    if spread is None:
        return ""
    median = number(spread.median)
    if spread.minimum == spread.maximum:
        return median
    return f"{median}\n[dim]{number(spread.minimum)} .. {number(spread.maximum)}[/dim]"


def _machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _commit() -> str:
    if shutil.which("git") is None:
        return "unknown"
    answer = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"
