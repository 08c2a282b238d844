"""`python -m tests.simulation`: run seeds, put bugs in and find them, and print what was seen."""

import argparse
import sys
import time
from collections import Counter
from statistics import median

from rich.console import Console
from rich.table import Table

from tests.simulation.mutations import ALL
from tests.simulation.run import Result, run


def main() -> int:
    """Return 0 when no seed broke an invariant and every mutation did."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=2000, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--story", type=int, help="run this seed alone and tell what happened")
    parser.add_argument("--digests", action="store_true", help="only print the digest of each run")
    parser.add_argument("--without-mutations", action="store_true", help="only run the seeds")
    options = parser.parse_args()
    console = Console(width=132)
    if options.story is not None:
        result = run(options.story)
        sys.stdout.write("\n".join(result.story) + f"\n{result.broken or 'all is well'}\n")
        return bool(result.broken)
    seeds = range(options.first, options.first + options.seeds)
    if options.digests:
        sys.stdout.writelines(f"{run(seed).digest}\n" for seed in seeds)
        return 0
    began = time.process_time()
    results = [run(seed) for seed in seeds]
    _tell_runs(console, results, time.process_time() - began)
    missed = 0 if options.without_mutations else _tell_mutations(console)
    return bool(missed or any(result.broken for result in results))


def _tell_runs(console: Console, results: list[Result], cpu: float) -> None:
    faults: Counter[str] = Counter()
    for result in results:
        faults.update(result.faults)
    broken = [result for result in results if result.broken]
    table = Table("", "", show_header=False, title="The simulation")
    recoveries = [result.recovery for result in results]
    for name, value in (
        ("seeds", f"{len(results):,}"),
        ("broken invariants", f"{len(broken):,}"),
        ("CPU seconds", f"{cpu:.1f} ({cpu / len(results) * 1000:.0f} ms a seed)"),
        ("simulated hours", f"{sum(result.seconds for result in results) / 3600:.1f}"),
        ("events", f"{sum(result.events for result in results):,}"),
        ("records, messages, commits", ", ".join(f"{sum(each):,}" for each in zip(*map(_work, results), strict=True))),
        ("faults injected", f"{sum(faults.values()):,}"),
        ("all well again after the last fault", f"median {median(recoveries):.1f} s, at most {max(recoveries):.1f} s"),
    ):
        table.add_row(name, value)
    console.print(table)
    kinds = Table("fault", "times", title="Faults by kind")
    for kind, count in sorted(faults.items()):
        kinds.add_row(kind, f"{count:,}")
    console.print(kinds)
    for result in broken[:20]:
        console.print(f"seed {result.seed}: {result.broken}   (python -m tests.simulation --story {result.seed})")


def _work(result: Result) -> tuple[int, int, int]:
    return result.records, result.messages, result.commits


def _tell_mutations(console: Console) -> int:
    table = Table("bug that was put in", "found by seed", "CPU seconds", "by the invariant", title="Mutations")
    missed = 0
    for mutation in ALL:
        began = time.process_time()
        found = next((r for seed in mutation.seeds if (r := run(seed, mutation)).broken), None)
        missed += found is None
        seeds, invariant = ("not found", "") if found is None else (str(found.seed), found.broken.partition(":")[0])
        table.add_row(mutation.name, seeds, f"{time.process_time() - began:.1f}", invariant)
    console.print(table)
    return missed


if __name__ == "__main__":
    sys.exit(main())
