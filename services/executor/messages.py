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
    """The lease ends at this time, by `boot_seconds`."""

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


class PreviewConnector(msgspec.Struct, tag=True, frozen=True):
    """Show what becomes of a few records, answer and end."""

    connector: str
    config: dict[str, str]
    records: int
    seconds: float
    endpoints: Endpoints


class NamedConnector(msgspec.Struct, frozen=True):
    """A connector."""

    name: str
    config: dict[str, str]


class TableKey(msgspec.Struct, frozen=True):
    """A row of a table of a source: its key as a JSON array."""

    table: str
    key: str


class VerifyConnector(msgspec.Struct, tag=True, frozen=True):
    """Compare tables of a source with those of sinks, answer and end. See VerifyConnectorRequest of the protos."""

    source: NamedConnector
    sinks: list[NamedConnector]
    tables: dict[str, str]
    keys: list[TableKey]
    page_token: str
    seconds: float


class LetterToCheck(msgspec.Struct, frozen=True):
    """A dead letter as it would be sent."""

    body: bytes
    properties: dict[str, str]


class CheckLetters(msgspec.Struct, tag=True, frozen=True):
    """Say whether dead letters of a source or sink can be read where they would go, answer and end.

    Attributes:
        config: That of the connector that failed at them.
        topic: Where they would go.
        letters: They.
    """

    config: dict[str, str]
    topic: str
    letters: list[LetterToCheck]


class CleanUp(msgspec.Struct, tag=True, frozen=True):
    """Let the plugins of a deleted connector clean up, answer and end."""

    config: dict[str, str]
    connector_uid: str


class FindPlugins(msgspec.Struct, tag=True, frozen=True):
    """Look for plugins, answer and end."""


Question = (
    CheckConnector
    | PlanConnector
    | CheckPositions
    | ResolvePositions
    | PreviewConnector
    | VerifyConnector
    | CheckLetters
    | CleanUp
    | FindPlugins
)
"""Orders that a fresh host answers once, and ends."""

Order = Begin | Renew | StartTask | DirectTask | SignalTask | StartSpark | Question


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


class SignalAnswered(msgspec.Struct, tag=True, frozen=True):
    """The answer to SignalTask: what the task says; or what is wrong with the signal; or why nothing was done."""

    number: int
    text: str = ""
    problems: list[FoundProblem] = []
    trouble: str = ""


class Checked(msgspec.Struct, tag=True, frozen=True):
    """The answer to CheckConnector. direction is the name of a ConnectorType without its prefix, or empty."""

    plugin: str
    direction: str
    problems: list[FoundProblem]
    secret_keys: list[str]
    targets: list[tuple[str, str]] | None = None
    """What the connector writes and no other one may: the option that names it, and its name; None: not known."""


class Planned(msgspec.Struct, tag=True, frozen=True):
    """The answer to PlanConnector: what each task is told."""

    tasks: list[dict[str, str]]
    replan_after: float | None = None


class PlanFailed(msgspec.Struct, tag=True, frozen=True):
    """The other answer to PlanConnector."""

    error: str
    permanent: bool


class CleanedUp(msgspec.Struct, tag=True, frozen=True):
    """The answer to CleanUp; not called: the plugins leave nothing behind."""

    called: bool


class CleanUpFailed(msgspec.Struct, tag=True, frozen=True):
    """The other answer to CleanUp."""

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


class ShownRecord(msgspec.Struct, frozen=True):
    """A record as people read it; a value or key of None is none."""

    value: str | None
    schema: str
    key: str | None
    topic: str
    time_ms: int | None
    headers: dict[str, str]


class PreviewedStep(msgspec.Struct, frozen=True):
    """What a step made of a record: no record: it was dropped, or the problem says why there is none."""

    name: str
    plugin: str
    record: ShownRecord | None
    problem: str = ""


class PreviewedRecord(msgspec.Struct, frozen=True):
    """A record: where it is, and its steps."""

    position: str
    steps: list[PreviewedStep]


class Previewed(msgspec.Struct, tag=True, frozen=True):
    """The answer to PreviewConnector; trouble: why there are no more."""

    plugin: str
    problems: list[FoundProblem]
    records: list[PreviewedRecord]
    trouble: str


class CheckedLetter(msgspec.Struct, frozen=True):
    """Why nobody could read it, empty: it becomes a record; is_dropped: it would, and transforms leave it out."""

    problem: str
    is_dropped: bool = False


class LettersChecked(msgspec.Struct, tag=True, frozen=True):
    """The answer to CheckLetters, in their order; trouble: why nobody can know, and there are none then."""

    letters: list[CheckedLetter]
    trouble: str


class TableCompared(msgspec.Struct, frozen=True):
    """How far a table was compared; see record/v1 TableCompared."""

    table: str
    sink: str
    target: str
    rows: int
    done: bool
    left_out: list[str]


class RowDifference(msgspec.Struct, frozen=True):
    """A row that differs; see record/v1 RowDifference."""

    table: str
    sink: str
    target: str
    key: str
    kind: str
    about: str
    source_digest: str
    sink_digest: str
    condition: str


class Verified(msgspec.Struct, tag=True, frozen=True):
    """The answer to VerifyConnector; trouble: why it could not go on."""

    problems: list[FoundProblem]
    tables: list[TableCompared]
    differences: list[RowDifference]
    next_page_token: str
    trouble: str


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
    aliases: list[str]
    minimum: str
    maximum: str


class PluginSignal(msgspec.Struct, frozen=True):
    """See connector/v1 Signal."""

    name: str
    doc: str
    arguments: list[PluginOption]


class Plugin(msgspec.Struct, frozen=True):
    """See connector/v1 Plugin."""

    name: str
    aliases: list[str]
    type: str
    package: str
    version: str
    summary: str
    documentation: str
    options: list[PluginOption]
    guarantee: str
    engines: list[str]
    signals: list[PluginSignal]


class PluginsFound(msgspec.Struct, tag=True, frozen=True):
    """The answer to FindPlugins; broken ones are named with what is wrong with them."""

    plugins: list[Plugin]
    broken: list[str]


Event = (
    Pulse
    | TaskEnded
    | SignalAnswered
    | SparkReady
    | SparkFailed
    | Checked
    | Planned
    | PlanFailed
    | CleanedUp
    | CleanUpFailed
    | PositionsChecked
    | Previewed
    | Verified
    | LettersChecked
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
