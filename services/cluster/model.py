"""What the cluster service knows, as values.

Rows are frozen; a change replaces a row. The rows here are the durable ones: everything else (leases, what is held back) is made
anew after a start.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

PLAN = -1
"""The task number of a PLAN: the unit that splits a connector into tasks."""


class Key(NamedTuple):
    """Names a unit of work: a task of a connector, or (`task == PLAN`) its planning."""

    connector_uid: str
    task: int


class TargetState(enum.StrEnum):
    """What the user wants of a connector."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class PlanState(enum.StrEnum):
    """How far the newest plan of a connector can be relied on."""

    CURRENT = "CURRENT"
    """It is what the connector wants."""
    STALE = "STALE"
    """The connector is planned again; until then the tasks of the old plan go on."""
    VOID = "VOID"
    """The connector is planned again, and no task runs before that."""


@dataclass(frozen=True, slots=True)
class Worker:
    """An executor that registered. Once `ended`, its session holds nothing and cannot be renewed.

    One that is `drained` gets nothing new, in later sessions too, until it is undrained; it is not forgotten before that.
    `pid` is shown to people, and nothing is decided by it. `process` is the name of its process that no other one has; empty: not
    known.
    """

    id: str
    session: int
    address: str
    labels: Mapping[str, str]
    plugins: frozenset[str]
    weight: int = 1
    ended: bool = False
    drained: bool = False
    pid: int = 0
    process: str = ""


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector as the config service tells it. `type` is the number of the direction, passed on as it is."""

    uid: str
    name: str
    revision: int
    config: Mapping[str, str]
    wanted: TargetState
    type: int
    restarts: int
    plan_state: PlanState = PlanState.VOID
    deleted: bool = False

    @property
    def is_active(self) -> bool:
        """Whether it is to have tasks, be they paused."""
        return not self.deleted and self.wanted is not TargetState.STOPPED


@dataclass(frozen=True, slots=True)
class Plan:
    """The newest plan of a connector: its tasks, task 0 first, and what it was made from."""

    connector_uid: str
    generation: int
    revision: int
    epoch: int
    """The epoch of the PLAN under which it was last reported: the same report again is the same report."""
    config: Mapping[str, str]
    tasks: tuple[Mapping[str, str], ...]
    replan_after: float | None
    """Seconds after which the connector is planned again."""
    asked: bool = False
    """A task has asked for a new plan, and its making has not begun."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of work that somebody holds or shall hold.

    `worker` is the owner, empty when there is none; `epoch` is the one under which it is or was last held (0: never).
    """

    key: Key
    generation: int
    revision: int
    epoch: int = 0
    worker: str = ""
    revoked: bool = False
    failures: int = 0
    """Consecutive failures."""
    given_up: bool = False
    """Not assigned again before a new revision or a restart."""

    @property
    def is_held(self) -> bool:
        """Whether a worker may still run it."""
        return self.worker != ""


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows that changed, by key; None: the row is gone. What one transaction of the store writes."""

    workers: Mapping[str, Worker | None] = field(default_factory=dict)
    connectors: Mapping[str, Connector | None] = field(default_factory=dict)
    plans: Mapping[str, Plan | None] = field(default_factory=dict)
    units: Mapping[Key, Unit | None] = field(default_factory=dict)
    generations: Mapping[str, int | None] = field(default_factory=dict)
    counters: Mapping[str, int | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return any((self.workers, self.connectors, self.plans, self.units, self.generations, self.counters))
