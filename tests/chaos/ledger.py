"""The ledger: one line of JSON for each round, written when it is over; and the table over it."""

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from tests.chaos.oracle import Verdict

DEATHS = ("kill", "kill-all", "failpoint", "restart", "away", "grow")
"""Faults after which what was hit, or another in its place, has to begin anew."""


@dataclass(slots=True)
class Hit:
    """One fault as it was injected.

    Attributes:
        fault: What was done: kill, pause, restart, cut, ...
        target: To which kind of process or connection.
        victim: To which one.
        in_flight: By sink: lines fed and not yet there, just before.
        quiet: By sink: seconds since it had moved, just before.
        lasted: Seconds from the injection until it was healed.
        flows: Seconds from the injection until every sink had, from every partition, a line fed after it. None: never.
        flows_after_heal: The same, from the healing on.
    """

    fault: str
    target: str
    victim: str
    in_flight: dict[str, int]
    quiet: dict[str, float]
    lasted: float = 0.0
    flows: float | None = None
    flows_after_heal: float | None = None


@dataclass(slots=True)
class Round:
    """What happened in a round. Its seed and number give the same faults at the same random times again.

    Attributes:
        drained: Seconds until everything that was fed was there. None: that did not happen.
        reordered: Lines that came out of order because what they are ordered by went to another queue in this round: who reads the
            new one may be ahead of who reads the old one. No failure.
        restarts: Of tasks, after failures.
        moves: By how much epochs of tasks rose.
        states: Of the connectors at the end.
        deaths: Which processes ended, and how.
        note: Why a fault was not injected: nobody was there, nothing on its way. That is no failure, and no hit.
        why: What went wrong, besides the verdict.
    """

    seed: int
    number: int
    form: str
    began: str
    hits: list[Hit] = field(default_factory=list)
    verdict: Verdict = field(default_factory=Verdict)
    drained: float | None = None
    reordered: int = 0
    restarts: int = 0
    moves: int = 0
    states: dict[str, str] = field(default_factory=dict)
    deaths: list[str] = field(default_factory=list)
    note: str = ""
    why: str = ""

    @property
    def ok(self) -> bool:
        """Nothing lost, doubled, changed or out of order, and everything goes on."""
        return not self.why and self.verdict.clean and self.drained is not None


class Ledger:
    """A file that is only appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, done: Round) -> None:
        """Write a round."""
        with self.path.open("a") as file:
            file.write(json.dumps({**asdict(done), "ok": done.ok}) + "\n")

    def rounds(self) -> list[dict[str, Any]]:
        """All rounds."""
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def next_round(self, seed: int, form: str) -> int:
        """The number after the last one of this seed and form."""
        return 1 + max((done["number"] for done in self.rounds() if (done["seed"], done["form"]) == (seed, form)), default=0)


def table(rounds: Iterable[dict[str, Any]]) -> Table:
    """For each fault and target: how often, how long until everything flowed again, what the sinks lacked or had twice."""
    shown = Table("fault", "hits", "failed", "recovery s", "max s", "missing", "doubled", "disorder", "changed", box=SIMPLE)
    by_fault: dict[tuple[str, str], list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    rounds = list(rounds)
    for done in rounds:
        for hit in done["hits"]:
            by_fault.setdefault((hit["target"], hit["fault"]), []).append((done, hit))
    for (target, fault), pairs in sorted(by_fault.items()):
        shown.add_row(f"{fault} {target}", *_cells([done for done, _ in pairs], [hit for _, hit in pairs]))
    shown.add_section()
    shown.add_row("all", *_cells(rounds, [hit for done in rounds for hit in done["hits"]]))
    return shown


def _cells(rounds: Sequence[dict[str, Any]], hits: Sequence[dict[str, Any]]) -> list[str]:
    flows = [seconds for hit in hits if (seconds := time_to_recover(hit)) is not None]
    counts = [sum(done["verdict"][what] for done in rounds) for what in ("missing", "duplicated", "disordered", "changed")]
    return [
        str(len(hits)),
        str(sum(not done["ok"] for done in rounds)),
        f"{statistics.median(flows):.1f}" if flows else "-",
        f"{max(flows):.1f}" if flows else "-",
        *map(str, counts),
    ]


def time_to_recover(hit: dict[str, Any]) -> float | None:
    """From the death of a process on; of what lasts until it is healed, from then on."""
    seconds: float | None = hit["flows" if hit["fault"] in DEATHS else "flows_after_heal"]
    return seconds
