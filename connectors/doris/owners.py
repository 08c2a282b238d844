"""What the owners of a connector have said in its table of positions, and which of them counts. Pure.

Each owner of a task has one row, which he alone writes. He adds it when he begins, which is his claim, and marks it as settled when
it holds the positions of all who were before him. A plan that is newer closes all tasks of the older ones.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rocketconnect_sdk.sink import QueuePosition
from rocketconnect_sdk.targets.owners import Owner


@dataclass(frozen=True, slots=True)
class Pending:
    """A load that waits for its commit.

    Attributes:
        database: Where it goes.
        table: Where it goes, as it was asked for.
        label: Its label.
        transaction: Its transaction.
        after: By queue the position behind its records.
    """

    database: str
    table: str
    label: str
    transaction: int
    after: Mapping[str, QueuePosition]

    def to_json(self) -> str:
        """As it is stored."""
        form = {"database": self.database, "table": self.table, "label": self.label, "transaction": self.transaction}
        return json.dumps({**form, "after": _plain(self.after)})

    def __str__(self) -> str:
        """For people."""
        told = ", ".join(f"{queue} up to offset {position.until}" for queue, position in sorted(self.after.items()))
        return f"the load {self.label} of {told} into {self.table}"


@dataclass(frozen=True, slots=True)
class Said:
    """The row of an owner.

    Attributes:
        owner: Whose it is.
        number: Raised with each writing: of two the one with the higher number stays, whichever arrives last.
        settled: It holds the positions of all who were before.
        positions: By queue where the owner is.
        pending: A load of his that was committed behind these positions, or not; None: there is none.
        outcome: What somebody has found out who looked at the table by himself: there, gone; empty: nothing.
    """

    owner: Owner
    number: int = 0
    settled: bool = False
    positions: Mapping[str, QueuePosition] = field(default_factory=dict)
    pending: Pending | None = None
    outcome: str = ""

    def to_row(self) -> Sequence[object]:
        """As it is stored, without the connector; see said_of."""
        pending = "" if self.pending is None else self.pending.to_json()
        return (*self.owner, self.number, int(self.settled), json.dumps(_plain(self.positions)), pending, self.outcome)


def said_of(row: Sequence[Any]) -> Said:
    """A row as it comes from the table."""
    generation, task, epoch, number, settled, positions, pending, outcome = row
    return Said(
        Owner(int(generation), int(task), int(epoch)),
        int(number),
        bool(int(settled)),
        _positions(json.loads(positions)),
        _pending(json.loads(pending)) if pending else None,
        outcome or "",
    )


def newer_than(owner: Owner, said: Iterable[Said]) -> Owner | None:
    """Somebody who has replaced an owner; None: nobody has."""
    return max((each.owner for each in said if each.owner.is_newer(owner)), default=None)


def holding(said: Iterable[Said]) -> list[Said]:
    """Of all rows those that hold, together, all that was committed.

    These are those of the newest plan that has settled any task, and of each of its tasks the newest that is settled. All others
    are contained in them, or have written nothing: who is not settled loads nothing.
    """
    settled = [each for each in said if each.settled]
    plan = max((each.owner.generation for each in settled), default=0)
    newest: dict[int, Said] = {}
    for each in sorted(settled, key=lambda each: each.owner):
        if each.owner.generation == plan:
            newest[each.owner.task] = each
    return list(newest.values())


def _plain(positions: Mapping[str, QueuePosition]) -> dict[str, Any]:
    return {queue: position.to_json() for queue, position in positions.items()}


def _positions(form: Mapping[str, Any]) -> dict[str, QueuePosition]:
    return {queue: QueuePosition.from_json(position) for queue, position in form.items()}


def _pending(form: Mapping[str, Any]) -> Pending:
    return Pending(form["database"], form["table"], form["label"], form["transaction"], _positions(form["after"]))
