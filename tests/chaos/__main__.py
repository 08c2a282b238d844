"""Chaos: `python -m tests.chaos --seed 7 --rounds 50 --targets executor,broker`.

Exit code 1 when anything was lost, doubled, out of order or stuck.
"""

import shutil
import signal
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from rocketconnect_cli.api import Api
from tests.chaos.faults import FLEET, Make
from tests.chaos.fleet import Fleet
from tests.chaos.ledger import Ledger, Round, table
from tests.chaos.load import Load
from tests.chaos.rounds import Arena

console = Console(soft_wrap=True, highlight=False, width=140)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run."""

    seed: int
    rounds: int
    choices: dict[tuple[str, str], Make]
    faults: int
    engines: tuple[str, ...]
    rate: int
    replicas: int
    executors: int
    each: bool
    folder: Path


def main(
    seed: Annotated[int, typer.Option(help="Decides who is hit, when and how.")] = 7,
    rounds: Annotated[int, typer.Option(help="How many more.")] = 20,
    targets: Annotated[str, typer.Option(help="Only these, separated by commas: executor,broker,sink.after-manifest")] = "",
    faults: Annotated[str, typer.Option(help="Only these, separated by commas: kill,pause,failpoint")] = "",
    hits: Annotated[int, typer.Option(help="How many faults in a round.")] = 1,
    each: Annotated[bool, typer.Option(help="One after the other instead of by chance.")] = False,
    engines: Annotated[str, typer.Option(help="Of the sinks.")] = "native,spark",
    rate: Annotated[int, typer.Option(help="Unkeyed lines a second.")] = 900,
    replicas: Annotated[int, typer.Option(help="Of config, position, state and cluster.")] = 1,
    executors: Annotated[int, typer.Option(help="How many.")] = 2,
    ledger: Annotated[Path, typer.Option(help="Is appended to; rounds go on after the last one of the seed.")] = Path(
        "chaos.jsonl"
    ),
    keep: Annotated[Path | None, typer.Option(help="Where what a failed round has left is kept.")] = None,
) -> None:
    """Break a real deployment under load, heal it, and compare every line; Ctrl-C ends it with the table so far."""
    wanted = {
        (target, fault): make
        for (target, fault), make in FLEET.items()
        if (not targets or target in targets.split(",")) and (not faults or fault in faults.split(","))
    }
    if "spark" not in engines:
        wanted = {key: make for key, make in wanted.items() if not key[0].startswith("spark")}
    if not wanted:
        msg = f"there are: {', '.join(sorted({target for target, _ in FLEET}))}; {', '.join(sorted({fault for _, fault in FLEET}))}"
        raise typer.BadParameter(msg, param_hint="--targets, --faults")
    plan = Plan(
        seed, rounds, wanted, hits, tuple(engines.split(",")), rate, replicas, executors, each, keep or Path(tempfile.gettempdir())
    )
    book = Ledger(ledger)
    mine: list[Round] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _interrupt)
    try:
        while len(mine) < rounds:
            _run(plan, book, mine)
    except KeyboardInterrupt:
        console.print("stopped")
    finally:
        console.print(table([done for done in book.rounds() if done["seed"] == seed]))
    raise typer.Exit(0 if mine and all(done.ok for done in mine) else 1)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run(plan: Plan, book: Ledger, mine: list[Round]) -> None:
    """Rounds on one deployment, until all are done or one fails: what that has left behind is kept."""
    folder = Path(tempfile.mkdtemp(prefix="rocketconnect-chaos-"))
    folder.chmod(0o755)
    failed = False
    try:
        with ExitStack() as running:
            fleet = Fleet(folder, replicas=plan.replicas, executors=plan.executors, spark="spark" in plan.engines)
            running.callback(fleet.close)
            fleet.start()
            api = running.enter_context(Api(fleet.rest))
            load = Load(folder, folder, plan.engines, plan.rate)
            load.start(api)
            running.callback(load.pause)
            arena = Arena(fleet, load, api, plan.choices)
            arena.warm_up()
            console.print(f"flowing; logs in {folder}/logs")
            order = sorted(plan.choices)
            while len(mine) < plan.rounds and not failed:
                number = book.next_round(plan.seed, fleet.form)
                choice = order[(number - 1) % len(order)] if plan.each else None
                done = arena.round(plan.seed, number, fleet.form, plan.faults, choice)
                book.append(done)
                mine.append(done)
                _say(done)
                failed = not done.ok
    finally:
        if failed:
            kept = plan.folder / f"chaos-{plan.seed}-{mine[-1].number}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.move(folder, kept)
            console.print(f"what is left of it: {kept}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _say(done: Round) -> None:
    for hit in done.hits:
        flying = sum(hit.in_flight.values())
        flows = hit.flows if hit.flows is not None else hit.flows_after_heal
        console.print(
            f"{done.number:4} {hit.fault} {hit.target} ({hit.victim}): {flying} on their way, flows again after {flows} s"
        )
    if not done.ok:
        console.print(f"{done.number:4} FAILED {done.why} {done.verdict}")


if __name__ == "__main__":
    typer.run(main)
