"""What a host answers to what it is asked beside running tasks."""

from __future__ import annotations

import msgspec

from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.spark.needs import NOTHING, SparkNeeds
from services.executor.contract.questions import GivenPosition


class Checked(msgspec.Struct, tag=True, frozen=True):
    """The answer to CheckConnector. direction is the name of a ConnectorType without its prefix, or empty."""

    plugin: str
    direction: str
    problems: list[Problem]
    secret_keys: list[str]
    targets: list[tuple[str, str]] | None = None
    """What the connector writes and no other one may: the option that names it, and its name; None: not known."""
    warnings: list[Problem] = []
    """What is told and refuses nothing; not among the problems."""
    notes: list[str] = []
    """What is to be expected of the connector."""
    origins: list[Origin] | None = None
    """What a source reads, and where it goes; None: not known."""
    is_shared: bool = False
    """Another source may read the same into the same topic."""


class Planned(msgspec.Struct, tag=True, frozen=True):
    """The answer to PlanConnector: what each task is told."""

    tasks: list[dict[str, str]]
    replan_after: float | None = None


class PlanFailed(msgspec.Struct, tag=True, frozen=True):
    """The other answer to PlanConnector; away: a system that it needs does not answer."""

    error: str
    permanent: bool
    away: bool = False


class CleanedUp(msgspec.Struct, tag=True, frozen=True):
    """The answer to CleanUp; not called: the plugins leave nothing behind."""

    called: bool


class CleanUpFailed(msgspec.Struct, tag=True, frozen=True):
    """The other answer to CleanUp."""

    error: str
    permanent: bool


class PositionsChecked(msgspec.Struct, tag=True, frozen=True):
    """The answer to CheckPositions: what is wrong, and the bounds of what is there (None: not known)."""

    problems: list[Problem]
    bounds: dict[str, tuple[list[int] | None, list[int] | None]]


class PositionsResolved(msgspec.Struct, tag=True, frozen=True):
    """The answer to ResolvePositions: positions, or why there are none; and what was left out, with the reason."""

    positions: dict[str, GivenPosition]
    problems: list[Problem]
    left_out: list[Problem]


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
    problems: list[Problem]
    records: list[PreviewedRecord]
    trouble: str


class PeekedRecord(msgspec.Struct, frozen=True):
    """A record of a message; see topic/v1 TopicRecord."""

    queue: str
    offset: int
    row: int
    rows: int
    stored_ms: int
    bytes: int
    properties: dict[str, str]
    record: ShownRecord | None
    problem: str = ""
    body: str = ""
    source: tuple[str, int, str, int, list[int]] | None = None
    """Of RCPOS: connector uid, epoch, partition, incarnation, offset."""


class Peeked(msgspec.Struct, tag=True, frozen=True):
    """The answer to PeekTopic; trouble: why there are no more."""

    problems: list[Problem]
    records: list[PeekedRecord]
    next: dict[str, int]
    trouble: str
    is_missing: bool = False
    """There is no such topic."""


class CheckedLetter(msgspec.Struct, frozen=True):
    """Why nobody could read it, empty: it becomes a record; is_dropped: it would, and transforms leave it out."""

    problem: str
    is_dropped: bool = False


class LettersChecked(msgspec.Struct, tag=True, frozen=True):
    """The answer to CheckLetters, in their order; trouble: why nobody can know, and there are none then."""

    letters: list[CheckedLetter]
    trouble: str


class MadeAgain(msgspec.Struct, tag=True, frozen=True):
    """The answer to ReadAgain: a message, or why there is none.

    Attributes:
        body: Of it.
        properties: Of it: its key, its time and its headers.
        topic: Where it is to go.
        problem: What the source fails at; empty: nothing.
        trouble: Why nobody can know; empty: it is known.
        is_read: The source reads bytes. Otherwise nothing else is told.
    """

    body: bytes = b""
    properties: dict[str, str] = {}
    topic: str = ""
    problem: str = ""
    trouble: str = ""
    is_read: bool = True


class ReadRow(msgspec.Struct, frozen=True):
    """A row of a packed message; see deadletter/v1 PackedRow."""

    value: str
    problem: str
    key: str | None
    time_ms: int | None
    headers: dict[str, str]


class RowsRead(msgspec.Struct, tag=True, frozen=True):
    """The answer to ReadRows: the columns, each with its type, the first rows, and how many there are; or why nothing is known."""

    columns: list[tuple[str, str]]
    rows: list[ReadRow]
    count: int
    problem: str = ""


class RowsChanged(msgspec.Struct, tag=True, frozen=True):
    """The answer to ChangeRows: the body; or what is wrong with the values."""

    body: bytes
    problem: str = ""


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

    problems: list[Problem]
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
    group: str = ""
    example: str = ""


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
    needs: SparkNeeds = NOTHING


class PluginsFound(msgspec.Struct, tag=True, frozen=True):
    """The answer to FindPlugins; broken ones are named with what is wrong with them."""

    plugins: list[Plugin]
    broken: list[str]
