"""What a strategy is told, and what it answers."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from services.cluster.model import Key


class Intake(enum.Enum):
    """What a worker takes."""

    RETURNING = "RETURNING"
    """It was gone a short while ago and may go again: only what nobody holds."""
    JOINING = "JOINING"
    """It has just joined: also what is to move to it because it is there now."""
    JOINED = "JOINED"
    """That has been done."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A worker that can take units now. Of two, the one with twice the weight is to have twice the tasks."""

    id: str
    labels: Mapping[str, str]
    plugins: frozenset[str]
    weight: int = 1
    intake: Intake = Intake.JOINED

    def can_take(self, demand: "Demand") -> bool:
        """Whether it offers the plugin and has all the labels."""
        return demand.plugin in self.plugins and demand.labels <= self.labels.items()


class Demand(NamedTuple):
    """A unit that shall have an owner, and what it asks of one.

    `last` is who ran it before, when nobody holds it because it failed there or because that worker was started again.
    """

    key: Key
    plugin: str
    labels: frozenset[tuple[str, str]] = frozenset()
    last: str = ""


class Move(NamedTuple):
    """A unit that shall go to `target`, from `source` or (None) from nobody."""

    key: Key
    source: str | None
    target: str


class Strategy(Protocol):
    """Decides which units go where. Deterministic, whatever the order of what it is told.

    What all promise: a unit goes only to a worker that can take it, one that somebody can take has an owner, a PLAN (it is short)
    never moves, nothing moves to a worker that is RETURNING from another that can keep it, and what they answer, when it has been
    done, they answer with no further move.
    """

    def __call__(self, workers: Sequence[Candidate], demands: Sequence[Demand], current: Mapping[Key, str]) -> Sequence[Move]:
        """Return the moves that lead from `current` (unit -> worker) to the assignment that it wants, by unit.

        A worker in `current` that is not among `workers` keeps what it holds. A demand that nobody can take gets no move.
        """
