"""What the state service knows and shows, as values."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

PLAN = -1
"""The task number of a connector's planning."""


class Key(NamedTuple):
    """Names a task of a connector, or (`task == PLAN`) its planning."""

    connector_uid: str
    task: int


class Moment(NamedTuple):
    """Now, in seconds: on the monotonic clock, which measures, and since 1970, which is shown."""

    monotonic: float
    wall: float


class State(enum.StrEnum):
    """What a connector or a task really does, the worst first: a connector shows the worst of what it consists of."""

    FAILED = "FAILED"
    STALLED = "STALLED"
    RESTARTING = "RESTARTING"
    UNASSIGNED = "UNASSIGNED"
    WAITING = "WAITING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    IDLE = "IDLE"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


BADNESS = {state: place for place, state in enumerate(State)}
"""The lower the worse."""


class TargetState(enum.StrEnum):
    """What the user wants of a connector."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector as the config service tells it. `type` is the number of the direction, passed on as it is; `plugin` its class."""

    uid: str
    name: str
    revision: int
    wanted: TargetState
    type: int
    plugin: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who holds a task, as the cluster service tells it. `unowned` and `reason` say what it is while nobody does."""

    key: Key
    worker: str
    epoch: int
    generation: int
    revision: int
    revoked: bool
    config: Mapping[str, str]
    unowned: State
    reason: str
    failures: int
    settled: bool = False
    """Its owner before was lost."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a task's log. `sequence` orders the lines of its connector."""

    sequence: int
    time: float
    level: str
    message: str
    task: int
    worker: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker says of a task. Times are in seconds since 1970, by the worker's clock; metrics are opaque here."""

    key: Key
    worker: str
    generation: int
    epoch: int
    state: State
    trace: str
    since: float | None
    last_progress: float | None
    has_work: bool
    restarts: int
    stall_after: float | None
    metrics: bytes = b""


@dataclass(frozen=True, slots=True)
class StaleReport:
    """A report under an epoch that is over."""

    key: Key
    epoch: int
    current_epoch: int


@dataclass(frozen=True, slots=True)
class TaskView:
    """A task as it is shown."""

    task: int
    state: State
    trace: str
    worker: str
    epoch: int
    generation: int
    since: float | None
    """Seconds since 1970; None: since before this service was started."""
    last_progress: float | None = None
    metrics: bytes = b""
    restarts: int = 0
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConnectorView:
    """A connector as it is shown."""

    connector: Connector
    state: State
    trace: str
    planner: str
    revision: int
    tasks: tuple[TaskView, ...]


class Sample(NamedTuple):
    """A connector at a moment.

    Attributes:
        time: In seconds since 1970.
        state: What it showed.
        rate: Records a second that were confirmed or made durable; None: nobody measured it.
        lag: What was left to do, in messages or in the unit of its source; None: not known of all tasks.
        errors: Since the sample before.
        batch_seconds: The mean of the batches that ended since the sample before; None: none did.
        latency_seconds: From the source's time of records until they were delivered, the mean since the sample before.
        freshness_seconds: How old the newest record was that was delivered. None, as of the others: unknown.
    """

    time: float
    state: State
    rate: float | None
    lag: float | None
    errors: float
    batch_seconds: float | None
    latency_seconds: float | None = None
    freshness_seconds: float | None = None
