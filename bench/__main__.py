"""Benchmarks: `python -m bench [NAME ...] [--json]`. A figure is only given when count, content and order were right."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.plots import plot
from bench.summary import cases, document, number, process_table, table
from bench.workload import BenchFailed, Options, Sample
from bench.workloads import WORKLOADS

USUAL = [name for name, workload in WORKLOADS.items() if workload.usual]


def main(
    names: Annotated[
        list[str] | None,
        typer.Argument(help=f"Which of {', '.join(WORKLOADS)}; by default {', '.join(USUAL)}.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write the results to the standard output as JSON, too.")] = False,
    out: Annotated[Path, typer.Option(help="The folder for results.json and the plots.")] = Path("bench/results"),
    repeats: Annotated[int, typer.Option(help="Repetitions of each case.", min=1)] = Options().repeats,
    rows: Annotated[
        int | None, typer.Option(help="Rows in each repetition, instead of what the workload has by itself.", min=1000)
    ] = None,
) -> None:
    """Measure RocketConnect on this machine."""
    console = Console(stderr=as_json, highlight=False, width=None if sys.stdout.isatty() else 160)
    unknown = [name for name in names or [] if name not in WORKLOADS]
    if unknown:
        console.print(f"there is no workload {', '.join(unknown)}; there are {', '.join(WORKLOADS)}", style="red")
        raise typer.Exit(2)
    # What runs is stopped in good order, then.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    out.mkdir(parents=True, exist_ok=True)
    load, begin = os.getloadavg()[0], time.monotonic()
    found: dict[str, list[Sample]] = {}
    text = ""
    try:
        for name in names or USUAL:
            found[name] = _run(console, name, Options(repeats, rows), out)
            text = json.dumps(document(found, load), indent=1)
            (out / "results.json").write_text(text + "\n", encoding="utf-8")
    except BenchFailed as error:
        console.print(f"no figure: {error}", style="red", markup=False)
        raise typer.Exit(1) from None
    took = (time.monotonic() - begin) / 60
    console.print(f"results and plots are in {out}/; {took:.1f} minutes; load of the machine before: {load:.1f}")
    if as_json:
        sys.stdout.write(text + "\n")


def _run(console: Console, name: str, options: Options, out: Path) -> list[Sample]:
    workload, samples, begin = WORKLOADS[name], [], time.monotonic()
    for sample in workload.run(options):
        samples.append(sample)
        size = f" {sample.size:,} {workload.size}" if sample.size is not None else ""
        told = ", ".join(f"{figure} {number(sample.figures[figure])}" for figure in workload.shown if figure in sample.figures)
        console.print(f"{name}: {sample.case}{size}: {told}", style="dim", soft_wrap=True)
    console.print(f"{name}: {time.monotonic() - begin:.0f} s", style="dim")
    found = cases(samples)
    console.print(table(workload, found))
    if (processes := process_table(found)) is not None:
        console.print(processes)
    plot(out, name, workload, found)
    return samples


if __name__ == "__main__":
    typer.run(main)
