"""What is asked of a host beside running tasks."""

from __future__ import annotations

import msgspec

from services.executor.contract.endpoints import Endpoints


class Neighbour(msgspec.Struct, frozen=True):
    """A connector that there is.

    Attributes:
        name: Its name.
        uid: Its uid, which its messages carry.
        reads: It is a sink that reads the topic of the connector that is checked.
    """

    name: str
    uid: str
    reads: bool = False


class GivenPosition(msgspec.Struct, frozen=True):
    """A position that is stored, or that somebody wants: the offset, and what goes with it (JSON, or nothing)."""

    offset: list[int]
    resume: str = ""


class CheckConnector(msgspec.Struct, tag=True, frozen=True):
    """Check a configuration, answer and end.

    Attributes:
        config: The configuration.
        endpoints: Where topics are, whose newest messages are looked at.
        name: The name that the connector has or would get; empty: not known.
        neighbours: The connectors that there are around its topic.
        previous: The configuration whose place it takes, of a source that has read already; empty: there is none.
        positions: How far that source came.
    """

    config: dict[str, str]
    endpoints: Endpoints
    name: str = ""
    neighbours: list[Neighbour] = []
    previous: dict[str, str] = {}
    positions: dict[str, GivenPosition] = {}


class PlanConnector(msgspec.Struct, tag=True, frozen=True):
    """Split a connector into tasks, answer and end.

    Attributes:
        config: Its configuration.
        positions: Of a source what is stored, by partition.
    """

    config: dict[str, str]
    positions: dict[str, GivenPosition]


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
    """Show what becomes of a few records, answer and end.

    Attributes:
        connector: Its name.
        config: Its configuration.
        records: How many at most.
        seconds: How long to look.
        endpoints: Where topics are.
        source: The configuration of a source whose first messages are shown where the topics of a sink have none; empty: of none.
    """

    connector: str
    config: dict[str, str]
    records: int
    seconds: float
    endpoints: Endpoints
    source: dict[str, str] = {}


class PeekTopic(msgspec.Struct, tag=True, frozen=True):
    """Show messages of a topic, answer and end. See PeekTopicRequest of the protos.

    Attributes:
        topic: Which.
        config: Converters with their options, and a user of RocketMQ.
        messages: How many at most.
        queue: Only this one; empty: all.
        start: Where to begin; None: the last messages.
        seconds: How long to look.
        endpoints: Where the brokers are.
        reader_hosts: Who may only read asks: no secret is used, no file is read, and only to these hosts is spoken; see
            permissions.hosts. None: who asks may have all that connectors may.
        key: Only messages with this key, the newest; `start` is None or a time then. Empty: all.
    """

    topic: str
    config: dict[str, str]
    messages: int
    queue: str
    start: AtOffset | AtTime | AtPlaces | None
    seconds: float
    endpoints: Endpoints
    reader_hosts: str | None = None
    key: str = ""


class AtOffset(msgspec.Struct, tag=True, frozen=True):
    """An offset, in each queue."""

    offset: int


class AtTime(msgspec.Struct, tag=True, frozen=True):
    """The first message that was stored at or after a time, in milliseconds since 1970 UTC."""

    time_ms: int


class AtPlaces(msgspec.Struct, tag=True, frozen=True):
    """An offset for each queue; queues that it does not name begin with their first message."""

    offsets: dict[str, int]


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
    next_table: bool = False


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


class ReadAgain(msgspec.Struct, tag=True, frozen=True):
    """Make the message of what a source could not read, as it is corrected; answer and end.

    Attributes:
        config: That of the source.
        partition: The source partition of the record.
        original: The bytes in its place.
    """

    config: dict[str, str]
    partition: str
    original: bytes


class ReadRows(msgspec.Struct, tag=True, frozen=True):
    """Say what a packed message has, answer and end."""

    body: bytes


class ChangeRows(msgspec.Struct, tag=True, frozen=True):
    """Give the rows of a packed message other values, answer and end. See EditDeadLetterRequest of the protos for the text."""

    body: bytes
    rows: str


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
    | PeekTopic
    | VerifyConnector
    | CheckLetters
    | ReadAgain
    | ReadRows
    | ChangeRows
    | CleanUp
    | FindPlugins
)
"""Orders that a fresh host answers once, and ends."""
