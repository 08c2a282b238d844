"""Draws panels of a dashboard from what Prometheus answers, each where Grafana would have it."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.pictures.shown import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS, _WIDTH, _LINE, _DPI = 24, 10.4, 0.2, 100
_MARGIN, _RIGHT = 0.004, 0.016
_COLOURS = {"green": "#37872d", "red": "#c4162a"}
_PALETTE = 160
"""So many colours keep those of lines apart, and the file small."""
_MOST_ROWS, _MOST_NAMES, _LONGEST = 5, 5, 26


@dataclass(frozen=True, slots=True)
class Series:
    """One that answers a query.

    Attributes:
        labels: Its labels.
        times: Seconds since the run began.
        values: At these; NaN where there is none.
    """

    labels: Mapping[str, str]
    times: Sequence[float]
    values: Sequence[float]


Ask = Callable[[str, bool], Sequence[Series]]
"""Answers an expression, over the whole run or (False) at its end alone."""


def draw(picture: Picture, dashboard: Mapping[str, Any], ask: Ask, target: Path) -> None:
    """Write a picture as PNG; it names the panels that it shows."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    rows = picture.panels(dashboard)
    heights = {title: max(_end(panel) for panel in row) - _top(row) + 1 for title, row in rows.items()}
    height = sum(heights.values())
    with mpl.rc_context({"font.size": 7, "axes.spines.top": False, "axes.spines.right": False}):
        sheet = Figure(figsize=(_WIDTH, height * _LINE), dpi=_DPI)
        canvas = FigureCanvasAgg(sheet)
        above = 0
        for title, row in rows.items():
            sheet.text(_MARGIN, 1 - (above + 0.7) / height, title, fontsize=9, fontweight="bold")
            for panel in row:
                _panel(sheet, panel, above + 1 - _top(row), height, lambda expr, whole: ask(_chosen(expr, picture), whole))
            above += heights[title]
        canvas.draw()  # type: ignore[no-untyped-call] # of Matplotlib, as the next
        image = Image.frombytes("RGBA", canvas.get_width_height(), canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    said = PngInfo()
    said.add_text("Description", picture.titles(dashboard))
    image.convert("RGB").quantize(_PALETTE).save(target, optimize=True, pnginfo=said)


def said(value: float, unit: str) -> str:
    """A value as people read it."""
    if math.isnan(value):
        return "-"
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit == "s":
        for size, name in ((3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms")):
            if abs(value) >= size:
                return f"{value / size:.3g} {name}"
        return f"{value * 1e6:.3g} µs" if value else "0 s"
    end = {"bytes": "B", "Bps": "B/s", "reqps": "/s"}.get(unit, "")
    base, names = (1024, ("", "Ki", "Mi", "Gi", "Ti")) if unit == "bytes" else (1000, ("", "k", "M", "G", "T"))
    place = min(int(math.log(abs(value), base)), len(names) - 1) if abs(value) >= base else 0
    return f"{value / base**place:.3g} {names[place]}{end}".rstrip()


def _end(panel: Mapping[str, Any]) -> int:
    return int(panel["gridPos"]["y"] + panel["gridPos"]["h"])


def _top(row: Sequence[Mapping[str, Any]]) -> int:
    return min(int(panel["gridPos"]["y"]) for panel in row)


def _chosen(expr: str, picture: Picture) -> str:
    for name, value in picture.variables.items():
        expr = expr.replace(f"${name}", value)
    return expr


def _panel(sheet: "Figure", panel: Mapping[str, Any], down: int, height: int, ask: Ask) -> None:
    place = panel["gridPos"]
    left, width = place["x"] / _COLUMNS, place["w"] / _COLUMNS
    low, high = 1 - (place["y"] + down + place["h"]) / height, 1 - (place["y"] + down) / height
    unit = panel.get("fieldConfig", {}).get("defaults", {}).get("unit", "short")
    kind = panel["type"]
    # In units of the whole sheet: what a title, the times below and the values at the left need.
    title, below, beside = 1.3 / height, (1.2 if kind in {"timeseries", "state-timeline"} else 0.2) / height, 0.0
    if kind in {"timeseries", "state-timeline"}:
        beside = 0.055 if kind == "timeseries" else 0.075
    box = (left + _MARGIN + beside, low + below, width - _MARGIN - _RIGHT - beside, high - low - title - below)
    axes = sheet.add_axes(box)
    sheet.text(left + _MARGIN, high - title * 0.75, panel["title"], fontsize=8)
    _KINDS[kind](axes, panel, unit, ask)


def _number(axes: "Axes", panel: Mapping[str, Any], unit: str, ask: Ask) -> None:
    found = ask(panel["targets"][0]["expr"], False)
    defaults = panel["fieldConfig"]["defaults"]
    value = found[0].values[-1] if found else math.nan
    steps = defaults["thresholds"]["steps"]
    colour = [step["color"] for step in steps if step["value"] is None or value >= step["value"]][-1] if found else "none"
    filled = panel["options"]["colorMode"] == "background" and found
    axes.set_facecolor(_COLOURS.get(colour, "white") if filled else "#eeeeee")
    text = said(value, unit) if found else defaults["noValue"]
    axes.text(0.5, 0.5, text, ha="center", va="center", fontsize=14, color="white" if filled else "black")
    _bare(axes)


def _lines(axes: "Axes", panel: Mapping[str, Any], unit: str, ask: Ask) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    drawn = [(_named(target, series), series) for target in panel["targets"] for series in ask(target["expr"], True)]
    # The largest first, as they are what is looked for.
    drawn.sort(key=lambda each: -max((value for value in each[1].values if not math.isnan(value)), default=0))
    for place, (name, series) in enumerate(drawn):
        label = _short(name) if place < _MOST_NAMES else None
        axes.plot([when / 60 for when in series.times], series.values, linewidth=1.1, label=label)
    # The names stand above the lines.
    most = max((value for _, series in drawn for value in series.values if not math.isnan(value)), default=0)
    axes.set_ylim(0, (most or 1) * 1.5)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: said(value, unit)))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.grid(alpha=0.3)
    _minutes(axes, [series for _, series in drawn])
    if drawn:
        more = f"and {len(drawn) - _MOST_NAMES} more" if len(drawn) > _MOST_NAMES else None
        axes.legend(fontsize=6, loc="upper left", ncols=3, frameon=False, title=more, title_fontsize=6, borderpad=0.1)
    else:
        axes.text(0.5, 0.5, "no data", ha="center", va="center", transform=axes.transAxes, color="grey")


def _states(axes: "Axes", panel: Mapping[str, Any], unit: str, ask: Ask) -> None:
    del unit
    (target,) = panel["targets"]
    found = sorted(((_named(target, series), series) for series in ask(target["expr"], True)), key=lambda each: each[0])
    for row, (name, series) in enumerate(found):
        step = series.times[1] - series.times[0] if len(series.times) > 1 else 1.0
        there = [(when / 60, step / 60) for when, value in zip(series.times, series.values, strict=True) if not math.isnan(value)]
        axes.broken_barh(there, (row - 0.4, 0.8), label=name, color=f"C{row}", linewidth=0)
    axes.set_yticks(range(len(found)), [_short(name) for name, _ in found])
    axes.invert_yaxis()
    _minutes(axes, [series for _, series in found])


def _table(axes: "Axes", panel: Mapping[str, Any], unit: str, ask: Ask) -> None:
    arranged = next(each["options"] for each in panel["transformations"] if each["id"] == "organize")
    columns = sorted(arranged["indexByName"], key=arranged["indexByName"].__getitem__)
    found = ask(panel["targets"][0]["expr"], False)
    cells = [
        [said(series.values[-1], unit) if name == "Value" else _short(series.labels.get(name, "")) for name in columns]
        for series in found[:_MOST_ROWS]
    ]
    _bare(axes)
    if not cells:
        axes.text(0.5, 0.5, "none", ha="center", va="center", color="grey")
        return
    heads = [arranged["renameByName"].get(name, name) for name in columns]
    drawn = axes.table(cellText=cells, colLabels=heads, loc="upper left", cellLoc="left", colLoc="left", edges="horizontal")
    drawn.auto_set_font_size(value=False)
    drawn.set_fontsize(6)
    drawn.auto_set_column_width(list(range(len(columns))))


_KINDS = {"stat": _number, "timeseries": _lines, "state-timeline": _states, "table": _table}


def _named(target: Mapping[str, Any], series: Series) -> str:
    legend = str(target.get("legendFormat", "__auto"))
    if legend == "__auto":
        return ", ".join(f"{name}={value}" for name, value in series.labels.items() if name != "__name__")
    return re.sub(r"{{\s*(\w+)\s*}}", lambda found: series.labels.get(found[1], ""), legend)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _minutes(axes: "Axes", drawn: Sequence[Series]) -> None:
    from matplotlib.ticker import MaxNLocator

    if drawn:
        axes.set_xlim(0, drawn[0].times[-1] / 60)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g} min")


def _bare(axes: "Axes") -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
