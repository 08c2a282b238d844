"""What executor and host say to each other: one JSON object a line, in both directions, over a socket pair.

The executor sends orders, the host answers with events. A run is one start of one task, numbered by the executor.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal

import msgspec

from rocketconnect_sdk.errors import Problem
from services.executor.contract.answers import (
    Checked,
    CleanedUp,
    CleanUpFailed,
    LettersChecked,
    MadeAgain,
    Peeked,
    PlanFailed,
    Planned,
    PluginsFound,
    PositionsChecked,
    PositionsResolved,
    PositionsUnknown,
    Previewed,
    RowsChanged,
    RowsRead,
    Verified,
)
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.metrics import TaskMetrics
from services.executor.contract.questions import Question
from services.executor.contract.spans import Span
from services.executor.contract.task import Outcome, State, TaskSpec

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
    """The lease ends at this time, by `boot_seconds`."""

    until: float


class StartTask(msgspec.Struct, tag=True, frozen=True):
    """Start a task."""

    run: int
    spec: TaskSpec
    paused: bool


class DirectTask(msgspec.Struct, tag=True, frozen=True):
    """What is wanted of a running task from now on."""

    run: int
    wish: Literal["stop", "pause", "resume", "fence"]


class LogLevels(msgspec.Struct, tag=True, frozen=True):
    """From now on these levels are set, and no others."""

    levels: list[tuple[str, str, int]]
    """Connector (empty: all), logger ("root": all), level of the module logging."""


class SignalTask(msgspec.Struct, tag=True, frozen=True):
    """Tell a running task something, and answer with this number."""

    run: int
    number: int
    name: str
    arguments: dict[str, str]


class StartSpark(msgspec.Struct, tag=True, frozen=True):
    """This host is the driver of a Spark profile: the session is made now, before the first task asks for it."""

    profile: dict[str, str]
    classes: str
    """The folder with the archive of Spark's classes; empty: there is none."""
    title: str = ""
    jars: str = ""
    """The list of the jars that the sinks in it need; see SparkNeeds."""
    name: str = ""
    """What the profile is called for people."""


Order = Begin | Renew | StartTask | DirectTask | LogLevels | SignalTask | StartSpark | Question


class LogLine(msgspec.Struct, frozen=True):
    """A line for people. The time is in seconds since 1970 UTC."""

    time: float
    level: str
    message: str
    trace_id: str = ""
    """Of the traced record that it is about; empty: none."""


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
    asks_for_plan: bool = False
    """It has asked for a new plan since the last pulse."""
    spans: list[Span] = []
    """Of traced records, since the last pulse."""


class Pulse(msgspec.Struct, tag=True, frozen=True):
    """All runs of the host: once a second (a host that is silent is hung) and soon after each change."""

    tasks: list[TaskPulse]


class TaskEnded(msgspec.Struct, tag=True, frozen=True):
    """A run is over; its thread is gone. A pulse with its last words came before."""

    run: int
    outcome: Outcome


class SparkFetches(msgspec.Struct, tag=True, frozen=True):
    """So many of the jars that sinks in this driver need are here; the others are on their way."""

    title: str
    done: int
    total: int


class SparkReady(msgspec.Struct, tag=True, frozen=True):
    """The session is there, after so many seconds."""

    seconds: float


class SparkFailed(msgspec.Struct, tag=True, frozen=True):
    """The session could not be made. A task that needs it will try again and say so itself."""

    error: str


class SignalAnswered(msgspec.Struct, tag=True, frozen=True):
    """The answer to SignalTask: what the task says; or what is wrong with the signal; or why nothing was done."""

    number: int
    text: str = ""
    problems: list[Problem] = []
    trouble: str = ""


Event = (
    Pulse
    | TaskEnded
    | SignalAnswered
    | SparkFetches
    | SparkReady
    | SparkFailed
    | Checked
    | Planned
    | PlanFailed
    | CleanedUp
    | CleanUpFailed
    | PositionsChecked
    | Previewed
    | Peeked
    | Verified
    | LettersChecked
    | MadeAgain
    | RowsRead
    | RowsChanged
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
