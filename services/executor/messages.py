"""What executor and host say to each other: one JSON object a line, in both directions, over a socket pair.

The executor sends orders, the host answers with events. A run is one start of one task, numbered by the executor.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

import msgspec

from services.executor.runtime.task import Endpoints, Outcome, State, TaskMetrics

LINE_LIMIT = 64 << 20
"""Bytes of the longest line: a plan of 1,000 tasks with long lists of files is below it."""


class Exit(IntEnum):
    """Exit statuses by which a host says why it ended itself."""

    PARENT_GONE = 90
    """Its executor is gone."""
    LEASE_LOST = 91
    """Its lease ended, and a change of a target did not."""
    SPARK_GONE = 92
    """The Java process of its Spark driver died."""
    SPARK_LATE = 93
    """Its Spark driver did not start in time."""


class Begin(msgspec.Struct, tag=True, frozen=True):
    """The first order: where the others answer."""

    endpoints: Endpoints


class Renew(msgspec.Struct, tag=True, frozen=True):
    """The lease ends at this monotonic time."""

    until: float


class StartTask(msgspec.Struct, tag=True, frozen=True):
    """Start a task."""

    run: int
    kind: Literal["SOURCE", "SINK", "DIRECT"]
    connector: str
    connector_uid: str
    revision: int
    generation: int
    task: int
    epoch: int
    tasks: int
    config: dict[str, str]
    task_config: dict[str, str]
    paused: bool
    settled: bool = False


class DirectTask(msgspec.Struct, tag=True, frozen=True):
    """What is wanted of a running task from now on."""

    run: int
    wish: Literal["stop", "pause", "resume", "fence"]


class StartSpark(msgspec.Struct, tag=True, frozen=True):
    """This host is the driver of a Spark profile: the session is made now, before the first task asks for it."""

    profile: dict[str, str]


class CheckConnector(msgspec.Struct, tag=True, frozen=True):
    """Check a configuration, answer and end."""

    config: dict[str, str]


class PlanConnector(msgspec.Struct, tag=True, frozen=True):
    """Split a connector into tasks, answer and end."""

    config: dict[str, str]


class GivenPosition(msgspec.Struct, frozen=True):
    """A position that somebody wants: the offset, and what goes with it (JSON, or nothing)."""

    offset: list[int]
    resume: str = ""


class CheckPositions(msgspec.Struct, tag=True, frozen=True):
    """Say whether these positions are possible, answer and end."""

    config: dict[str, str]
    positions: dict[str, GivenPosition]
    endpoints: Endpoints


class ResolvePositions(msgspec.Struct, tag=True, frozen=True):
    """Say which positions stand for a place, answer and end. See ResolvePositionsRequest of the protos.

    to: "earliest", "latest", or seconds since 1970 UTC.
    """

    config: dict[str, str]
    to: str | float
    partitions: list[str]
    known: list[str]
    endpoints: Endpoints


class FindPlugins(msgspec.Struct, tag=True, frozen=True):
    """Look for plugins, answer and end."""


Question = CheckConnector | PlanConnector | CheckPositions | ResolvePositions | FindPlugins
"""Orders that a fresh host answers once, and ends."""

Order = Begin | Renew | StartTask | DirectTask | StartSpark | Question


class LogLine(msgspec.Struct, frozen=True):
    """A line for people. The time is in seconds since 1970 UTC."""

    time: float
    level: str
    message: str


class TaskPulse(msgspec.Struct, frozen=True):
    """What a run does now; times are in seconds since 1970 UTC."""

    run: int
    state: State
    trace: str
    since: float
    last_progress: float
    has_work: bool
    metrics: TaskMetrics
    logs: list[LogLine] = []


class Pulse(msgspec.Struct, tag=True, frozen=True):
    """All runs of the host: once a second (a host that is silent is hung) and soon after each change."""

    tasks: list[TaskPulse]


class TaskEnded(msgspec.Struct, tag=True, frozen=True):
    """A run is over; its thread is gone. A pulse with its last words came before."""

    run: int
    outcome: Outcome


class SparkReady(msgspec.Struct, tag=True, frozen=True):
    """The session is there, after so many seconds."""

    seconds: float


class SparkFailed(msgspec.Struct, tag=True, frozen=True):
    """The session could not be made. A task that needs it will try again and say so itself."""

    error: str


class FoundProblem(msgspec.Struct, frozen=True):
    """Something wrong with a configuration; see connector/v1 Problem."""

    key: str
    value: str
    reason: str
    fix: str


class Checked(msgspec.Struct, tag=True, frozen=True):
    """The answer to CheckConnector. direction is the name of a ConnectorType without its prefix, or empty."""

    plugin: str
    direction: str
    problems: list[FoundProblem]
    secret_keys: list[str]


class Planned(msgspec.Struct, tag=True, frozen=True):
    """The answer to PlanConnector: what each task is told."""

    tasks: list[dict[str, str]]
    replan_after: float | None = None


class PlanFailed(msgspec.Struct, tag=True, frozen=True):
    """The other answer to PlanConnector."""

    error: str
    permanent: bool


class PositionsChecked(msgspec.Struct, tag=True, frozen=True):
    """The answer to CheckPositions: what is wrong, and the bounds of what is there (None: not known)."""

    problems: list[FoundProblem]
    bounds: dict[str, tuple[list[int] | None, list[int] | None]]


class PositionsResolved(msgspec.Struct, tag=True, frozen=True):
    """The answer to ResolvePositions: positions, or why there are none; and what was left out, with the reason."""

    positions: dict[str, list[int]]
    problems: list[FoundProblem]
    left_out: list[FoundProblem]


class PositionsUnknown(msgspec.Struct, tag=True, frozen=True):
    """The other answer to both: nothing can be said here and now."""

    error: str


class PluginOption(msgspec.Struct, frozen=True):
    """See connector/v1 Option."""

    key: str
    type: str
    default: str
    required: bool
    secret: bool
    doc: str
    choices: list[str]


class Plugin(msgspec.Struct, frozen=True):
    """See connector/v1 Plugin."""

    name: str
    aliases: list[str]
    type: str
    version: str
    summary: str
    options: list[PluginOption]
    guarantee: str


class PluginsFound(msgspec.Struct, tag=True, frozen=True):
    """The answer to FindPlugins; broken ones are named with what is wrong with them."""

    plugins: list[Plugin]
    broken: list[str]


Event = (
    Pulse
    | TaskEnded
    | SparkReady
    | SparkFailed
    | Checked
    | Planned
    | PlanFailed
    | PositionsChecked
    | PositionsResolved
    | PositionsUnknown
    | PluginsFound
)

_encoder = msgspec.json.Encoder()
_orders: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)
_events: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode(message: Order | Event) -> bytes:
    """Return a message as a line, its end included."""
    return _encoder.encode(message) + b"\n"


def decode_order(line: bytes) -> Order:
    """Return the order in a line.

    Raises:
        msgspec.MsgspecError: it is none; both ends come from the same release, so this is a defect.
    """
    return _orders.decode(line)


def decode_event(line: bytes) -> Event:
    """Return the event in a line.

    Raises:
        msgspec.MsgspecError: it is none.
    """
    return _events.decode(line)
