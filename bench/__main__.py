"""Benchmarks: `python -m bench [NAME ...] [--json FILE]`. Every figure is only given when count, content and order are right."""

import json
import os
import platform
import statistics
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bench import workloads
from bench.failover import failover as measure_failover

console = Console(soft_wrap=True, highlight=False)


def rate(repeats: int, count: int) -> dict[str, Any]:
    """File -> topic -> file, natively and through Spark, each beside the raw limit of its broker in the same run."""
    runs: list[dict[str, Any]] = []
    for number in range(repeats):
        found: dict[str, Any] = {}
        for engine in workloads.ENGINES:
            found[engine] = workloads.file_to_file(engine, count)
            _show(number, found[engine])
        runs.append(found)
    summary = {
        engine: {
            figure: _spread([run[engine][figure] for run in runs])
            for figure in ("records_per_second", "raw_sent_per_second", "raw_pulled_per_second", "cpu_seconds_per_million")
        }
        for engine in workloads.ENGINES
    }
    return {"records": count, **summary, "runs": runs}


def latency(repeats: int, count: int) -> dict[str, Any]:
    """Single lines at a fixed rate: 50 a second natively, 5 through Spark."""
    del repeats, count
    found = {"native": workloads.latency("native", 50.0, 20.0), "spark": workloads.latency("spark", 5.0, 40.0)}
    for engine, result in found.items():
        console.print(f"latency {engine:6}  p50 {result['p50_ms']:.1f} ms, p99 {result['p99_ms']:.1f} ms, {result['lines']} lines")
    return found


def start(repeats: int, count: int) -> dict[str, Any]:
    """From `rocketconnect up` to ready and to the first delivered record."""
    del repeats, count
    found = workloads.start_up()
    console.print("start   " + ", ".join(f"{key} {value:.1f}" for key, value in found.items()))
    return found


def failover(repeats: int, count: int) -> dict[str, Any]:
    """Two executors, one of which is killed or stopped: how long records stop at a sink, and the parts of that."""
    del count
    found = measure_failover(repeats, _tell_failover)
    summary: dict[str, Any] = {}
    for name, rounds in found.items():
        summary[name] = {part: _spread([each[part] for each in rounds]) for part in rounds[0]}
        told = ", ".join(
            f"{part} {figure['median']:.1f} s (at most {figure['maximum']:.1f})" for part, figure in summary[name].items()
        )
        console.print(f"failover {name:14}  {told}; {len(rounds)} rounds")
    return {**summary, "runs": found}


def _tell_failover(name: str, took: Mapping[str, float]) -> None:
    console.print(f"    {name:14}  " + ", ".join(f"{part} {seconds:.1f} s" for part, seconds in took.items()))


WORKLOADS: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "rate": rate,
    "latency": latency,
    "start": start,
    "failover": failover,
}


def main(
    names: Annotated[list[str] | None, typer.Argument(help=f"Which of {', '.join(WORKLOADS)}; all by default.")] = None,
    target: Annotated[Path | None, typer.Option("--json", help="Also write the results to this file.")] = None,
    repeats: Annotated[int, typer.Option(help="Repetitions of the rates, rounds of failover.", min=1)] = 3,
    records: Annotated[int, typer.Option(help="Lines of 100 bytes.", min=1000)] = 1_000_000,
) -> None:
    """Measure RocketConnect on this machine."""
    unknown = [name for name in names or [] if name not in WORKLOADS]
    if unknown:
        console.print(f"there is no workload {', '.join(unknown)}; there are {', '.join(WORKLOADS)}", style="red")
        raise typer.Exit(2)
    results: dict[str, Any] = {"machine": _machine(), "commit": _commit()}
    try:
        for name in names or WORKLOADS:
            results[name] = WORKLOADS[name](repeats, records)
    except workloads.BenchFailed as error:
        console.print(f"no figure: {error}", style="red", markup=False)
        raise typer.Exit(1) from None
    if target:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(results, indent=1), encoding="utf-8")


def _show(number: int, result: dict[str, Any]) -> None:
    speed, raw = result["records_per_second"], result["raw_pulled_per_second"]
    cost = f"{result['cpu_seconds_per_million']:.1f} CPU s a million"
    console.print(f"run {number + 1} {result['engine']:6}  {speed:,.0f} records/s, exact, in order; {cost}")
    sent = result["raw_sent_per_second"]
    console.print(f"    the same broker alone: {sent:,.0f}/s sent while {raw:,.0f}/s are pulled ({speed / raw:.0%})")
    for process in result["processes"]:
        console.print(f"    {process['role']:16} {process['cpu_seconds']:6.2f} CPU s  {process['peak_mib']:6.0f} MiB")


def _spread(values: list[float]) -> dict[str, float]:
    return {"minimum": min(values), "median": statistics.median(values), "maximum": max(values)}


def _machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _commit() -> str:
    answer = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


if __name__ == "__main__":
    typer.run(main)
