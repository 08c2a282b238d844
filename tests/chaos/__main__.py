"""Chaos: `python -m tests.chaos --seed 7 --rounds 50 --targets executor,broker`.

Exit code 1 when anything was lost, doubled, out of order or stuck.
"""

import shutil
import signal
import tempfile
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from rocketconnect_cli.api import Api
from tests.chaos.deployments.fleet import BROKERS, SERVICES, Fleet
from tests.chaos.deployments.instance import Instance
from tests.chaos.disk import Disk, private_mounts
from tests.chaos.faults.common import FLEET, UP, Make, on_disk, on_store_of_broker, on_topics, over_database, over_network
from tests.chaos.faults.machines import on_clocks, on_machines
from tests.chaos.faults.stores import on_stores
from tests.chaos.ledger import Ledger, Round, table, time_to_recover
from tests.chaos.load import Load, pipelines
from tests.chaos.network import Network
from tests.chaos.rounds import Arena

_DISK_MEGABYTES = 1500
_TEMPORARY = Path(tempfile.gettempdir())

console = Console(soft_wrap=True, highlight=False, width=140)


class Form(StrEnum):
    """What is broken."""

    FLEET = "fleet"
    NETWORK = "network"
    UP = "up"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run."""

    seed: int
    rounds: int
    form: Form
    targets: str
    faults: str
    hits: int
    each: bool
    engines: tuple[str, ...]
    rate: int
    replicas: int
    executors: int
    keep: Path

    @property
    def has_spark(self) -> bool:
        """Whether any sink runs on it."""
        return any(engine != "native" for engine in self.engines)

    def wants(self, target: str, fault: str) -> bool:
        """Whether this fault is among the wanted ones."""
        if target.startswith("spark") and not self.has_spark:
            return False
        return (not self.targets or target in self.targets.split(",")) and (not self.faults or fault in self.faults.split(","))


def main(
    seed: Annotated[int, typer.Option(help="Decides who is hit, when and how.")] = 7,
    rounds: Annotated[int, typer.Option(help="How many more.")] = 20,
    form: Annotated[
        Form,
        typer.Option(
            help="fleet: each service a process, stores in PostgreSQL. network: the same, each executor on a host of its own. "
            "up: rocketconnect up."
        ),
    ] = Form.FLEET,
    targets: Annotated[str, typer.Option(help="Only these, separated by commas: executor,broker,sink.after-manifest")] = "",
    faults: Annotated[str, typer.Option(help="Only these, separated by commas: kill,pause,failpoint,cut,delay,full")] = "",
    hits: Annotated[int, typer.Option(help="How many faults in a round, soon after each other.")] = 1,
    each: Annotated[bool, typer.Option(help="One after the other instead of by chance.")] = False,
    engines: Annotated[str, typer.Option(help="Of the sinks: native, spark; delta, iceberg, hudi: into lakes.")] = "native,spark",
    rate: Annotated[int, typer.Option(help="Unkeyed lines a second.")] = 900,
    replicas: Annotated[int, typer.Option(help="Of config, position, state and cluster.")] = 1,
    executors: Annotated[int, typer.Option(help="How many.")] = 2,
    ledger: Annotated[Path, typer.Option(help="Is appended to; rounds go on after the last one of the seed.")] = Path(
        "chaos.jsonl"
    ),
    keep: Annotated[Path, typer.Option(help="Where what a failed round has left is kept.")] = _TEMPORARY,
) -> None:
    """Break a real deployment under load, heal it, and compare every line; Ctrl-C ends it with the table so far."""
    plan = Plan(seed, rounds, form, targets, faults, hits, each, tuple(engines.split(",")), rate, replicas, executors, keep)
    private_mounts()
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
    failed, interrupted = True, False
    try:
        with ExitStack() as running:
            out = _disk(running, folder / "out")
            # When everything has ended, and the disk is still there.
            running.callback(lambda: failed and shutil.copytree(out.path, folder / "sinks"))
            deployment, choices = _deploy(plan, running, folder)
            choices |= on_disk({"sink-disk": out})
            load = Load(folder, out.path, pipelines(folder, plan.engines), plan.rate)
            if plan.form is not Form.NETWORK:
                # From here the broker of that one is not reached.
                choices |= on_topics(deployment.rest, deployment.name_server, load.topics)
            wanted = {key: make for key, make in choices.items() if plan.wants(*key)}
            if not wanted:
                targets, faults = ({key[part] for key in choices} for part in (0, 1))
                msg = f"nothing is left to be done; there are {', '.join(sorted(targets))}; {', '.join(sorted(faults))}"
                raise typer.BadParameter(msg, param_hint="--targets, --faults")
            deployment.start()
            api = running.enter_context(Api(deployment.rest))
            load.start(api)
            running.callback(load.pause)
            arena = Arena(deployment, load, api, wanted)
            arena.warm_up()
            console.print(f"flowing; logs in {folder}")
            failed = False
            try:
                while len(mine) < plan.rounds and not failed:
                    number = book.next_round(plan.seed, plan.form)
                    choice = sorted(wanted)[(number - 1) % len(wanted)] if plan.each else None
                    done = arena.round(plan.seed, number, plan.form, plan.hits, choice)
                    book.append(done)
                    mine.append(done)
                    _say(done)
                    failed = not done.ok
            except KeyboardInterrupt:
                # It is no trouble of the client, which would say so.
                interrupted = True
    except KeyboardInterrupt:
        failed = False
        raise
    finally:
        if failed:
            kept = plan.keep / f"chaos-{plan.seed}-{len(mine)}-{folder.name[-8:]}"
            shutil.move(folder, kept)
            console.print(f"what is left of it: {kept}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if interrupted:
        raise KeyboardInterrupt


def _deploy(plan: Plan, running: ExitStack, folder: Path) -> tuple[Fleet | Instance, dict[tuple[str, str], Make]]:
    """A deployment that is not started yet, and what can be done to it."""
    if plan.form is Form.UP:
        data = _disk(running, folder / "data")
        store = _disk(running, data.path / "rocketmq")
        instance = Instance(folder, data.path, executors=plan.executors)
        running.callback(instance.close)
        return instance, UP | on_disk({"data-disk": data}) | on_store_of_broker(store)
    network = None
    if plan.form is Form.NETWORK:
        network = Network([SERVICES, BROKERS], [f"executor-{number}" for number in range(1, plan.executors + 1)])
        running.callback(network.close)
    store = _disk(running, folder / "rocketmq")
    fleet = Fleet(folder, replicas=plan.replicas, executors=plan.executors, spark=plan.has_spark, network=network)
    running.callback(fleet.close)
    choices = FLEET | over_database(fleet.database) | on_stores(fleet) | on_clocks() | on_store_of_broker(store)
    if network is not None and fleet.hosts is not None:
        choices |= over_network(network, fleet.hosts) | on_machines(network)
    return fleet, choices


def _disk(running: ExitStack, path: Path) -> Disk:
    disk = Disk(path, _DISK_MEGABYTES)
    running.callback(disk.close)
    return disk


def _say(done: Round) -> None:
    for hit in done.hits:
        flying = sum(hit.in_flight.values())
        flows = time_to_recover(asdict(hit))
        console.print(
            f"{done.number:4} {hit.fault} {hit.target} ({hit.victim}): {flying} on their way, flows again after {flows} s"
        )
    if done.note:
        console.print(f"{done.number:4} {done.note}")
    if not done.ok:
        console.print(f"{done.number:4} FAILED {done.why} {done.verdict}")


if __name__ == "__main__":
    typer.run(main)
