"""What the cluster assigns to this worker, and how it ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

PLAN = -1
"""The task number of a planning."""


class Key(NamedTuple):
    """Names a unit: a task of a connector, or (`task == PLAN`) its planning."""

    connector_uid: str
    task: int


@dataclass(frozen=True, slots=True)
class Assigned:
    """An assignment to this worker; see cluster/v1 Assignment. type is the name of a ConnectorType without its prefix.

    secrets_rest is for a run of it: see TaskSpec.
    """

    key: Key
    connector: str
    revision: int
    generation: int
    epoch: int
    type: str
    config: Mapping[str, str] = field(default_factory=dict)
    task_config: Mapping[str, str] = field(default_factory=dict)
    paused: bool = False
    revoked: bool = False
    settled: bool = False
    secrets_rest: float = 0.0


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended.

    Attributes:
        failed: By an error.
        permanent: Starting it again cannot help.
        away: Of a planning: what it needs does not answer, so it is tried until it does.
        fenced: Somebody else owns the unit.
        error: What went wrong, for people.
        plan: What a planning gave.
        opened_generation: The newest that the position service knows, or 0.
        anew: Why it is to be started again at once; empty: it is not.
    """

    failed: bool = False
    permanent: bool = False
    away: bool = False
    fenced: bool = False
    error: str = ""
    plan: "PlanResult | None" = None
    opened_generation: int = 0
    anew: str = ""


@dataclass(frozen=True, slots=True)
class PlanResult:
    """What a planning gave: each task's share, and seconds until the next one is wanted."""

    tasks: tuple[Mapping[str, str], ...]
    replan_after: float | None = None
