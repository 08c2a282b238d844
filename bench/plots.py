"""Results as pictures: against the size where a workload measures several, otherwise case by case."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.summary import Case
from bench.workload import Workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(folder: Path, name: str, workload: Workload, found: Sequence[Case]) -> Path | None:
    """Draw what a workload plots into `folder`/NAME.png: a panel for each figure; None when it plots nothing."""
    figures = [figure for figure in workload.plotted if any(figure in case.figures for case in found)]
    if not figures:
        return None
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    height = 3.6 if workload.size else 1.2 + 0.4 * len(found)
    sheet, panels = pyplot.subplots(1, len(figures), figsize=(6.4 * len(figures), height), layout="constrained", squeeze=False)
    for panel, figure in zip(panels[0], figures, strict=True):
        (_curves if workload.size else _bars)(panel, figure, [case for case in found if figure in case.figures])
        if workload.size:
            panel.set_xlabel(workload.size)
    sheet.suptitle(workload.title)
    target = folder / f"{name}.png"
    sheet.savefig(target, dpi=120)
    pyplot.close(sheet)
    return target


def _curves(panel: "Axes", figure: str, found: Sequence[Case]) -> None:
    for name in dict.fromkeys(case.name for case in found):
        points = sorted((case.size or 0, case.figures[figure]) for case in found if case.name == name)
        medians = [spread.median for _, spread in points]
        ranges = [
            [spread.median - spread.minimum for _, spread in points],
            [spread.maximum - spread.median for _, spread in points],
        ]
        panel.errorbar([size for size, _ in points], medians, ranges, label=name, marker="o", markersize=4, capsize=3)
    panel.set_xscale("log")
    panel.set_ylim(bottom=0)
    panel.set_ylabel(figure)
    panel.legend(fontsize="small")
    panel.grid(alpha=0.3)


def _bars(panel: "Axes", figure: str, found: Sequence[Case]) -> None:
    spreads = [case.figures[figure] for case in found]
    medians = [spread.median for spread in spreads]
    ranges = [[spread.median - spread.minimum for spread in spreads], [spread.maximum - spread.median for spread in spreads]]
    panel.barh([case.name for case in found], medians, xerr=ranges, capsize=3)
    panel.invert_yaxis()
    panel.set_xlabel(figure)
