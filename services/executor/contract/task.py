"""A run of a task: what it is given, what it says of itself, how it ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """What a task does."""

    SOURCE = "SOURCE"
    SINK = "SINK"
    DIRECT = "DIRECT"


class State(Enum):
    """What a task says of itself; the names are those of rocketconnect.connector.v1.State."""

    STARTING = "STARTING"
    RUNNING = "RUNNING"
    IDLE = "IDLE"
    WAITING = "WAITING"
    STALLED = "STALLED"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One run of one task.

    Attributes:
        kind: What it does.
        connector: The name of its connector.
        connector_uid: The uid of its connector.
        revision: Of the configuration.
        generation: Of the plan.
        task: Its number in the plan.
        epoch: Of the assignment.
        tasks: How many tasks the plan has.
        config: The configuration as it is stored: references to secrets are not resolved.
        task_config: What the plan gave it.
        settled: Nothing that earlier owners or runs have sent is under way any more, as far as the cluster service knows.
        secrets_rest: For so many seconds it does not look whether its secrets have changed: it has begun anew for that before.
    """

    kind: Kind
    connector: str
    connector_uid: str
    revision: int
    generation: int
    task: int
    epoch: int
    tasks: int
    config: Mapping[str, str]
    task_config: Mapping[str, str] = field(default_factory=dict)
    settled: bool = False
    secrets_rest: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a task ended.

    Attributes:
        clean: All that it moved is covered by its committed position.
        failed: It cannot go on.
        permanent: Starting it again cannot help until something changes.
        fenced: Somebody else owns it, or the lease is lost.
        error: For people: what, where, what to do. Without secrets.
        stack: Where in the code, when the error is a defect.
        opened_generation: Of the plan that the position service told when it fenced the task; 0: it told none.
        anew: Why it is to be started again at once, for people; empty: it is not.
    """

    clean: bool
    failed: bool = False
    permanent: bool = False
    fenced: bool = False
    error: str = ""
    stack: str = ""
    opened_generation: int = 0
    anew: str = ""
