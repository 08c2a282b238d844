"""What the config service speaks of, free of wire and store."""

from dataclasses import dataclass
from enum import StrEnum

from rocketconnect_sdk.targets.owned import Target


class WantedState(StrEnum):
    """What the user wants of a connector."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


class ConnectorType(StrEnum):
    """The direction of a connector, as its plugin says."""

    UNSPECIFIED = "UNSPECIFIED"
    SOURCE = "SOURCE"
    SINK = "SINK"
    DIRECT = "DIRECT"


@dataclass(frozen=True, slots=True)
class Connector:
    """A living connector. Times are microseconds since 1970."""

    uid: str
    name: str
    revision: int
    etag: str
    config: dict[str, str]
    wanted_state: WantedState
    type: ConnectorType
    create_time: int
    update_time: int
    restarts: int
    apply_set: str = ""


@dataclass(frozen=True, slots=True)
class Deleted:
    """A deleted connector as it was.

    Attributes:
        connector: What it was.
        targets: What it alone might write; None: not known.
        delete_time: Microseconds since 1970.
        origins: What it read, as `origins.reads` writes it; None: not known.
    """

    connector: Connector
    targets: tuple[Target, ...] | None
    delete_time: int
    origins: str | None = None


class Action(StrEnum):
    """What was done to a connector."""

    UNSPECIFIED = "UNSPECIFIED"
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    ROLLBACK = "ROLLBACK"
    DELETE = "DELETE"
    PAUSE = "PAUSE"
    RESUME = "RESUME"
    STOP = "STOP"
    RESTART = "RESTART"
    MOVE_POSITIONS = "MOVE_POSITIONS"
    CLEAN_UP = "CLEAN_UP"
    CLEANUP_FAILED = "CLEANUP_FAILED"
    CLEANUP_GIVEN_UP = "CLEANUP_GIVEN_UP"


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to a connector, by whom, when and why.

    Attributes:
        revision: the one that was current afterwards.
        of_revision: of a rollback, the one whose configuration it took; otherwise 0.
        author: who did it (see `signature.Signature`, also for the next two).
        time: microseconds since 1970.
    """

    connector_uid: str
    connector: str
    action: Action
    revision: int
    of_revision: int
    author: str
    on_behalf_of: str
    reason: str
    time: int


@dataclass(frozen=True, slots=True)
class Revision:
    """A configuration that a connector has or had; `sequence` orders all revisions of all connectors."""

    sequence: int
    connector_uid: str
    connector: str
    revision: int
    config: dict[str, str]
    create_time: int
    change: Change


@dataclass(frozen=True, slots=True)
class Cleanup:
    """What is left to do behind a deleted connector; `delete_time`, in microseconds since 1970, says which deletion is meant."""

    connector_uid: str
    connector: str
    config: dict[str, str]
    delete_time: int


class CleanupOutcome(StrEnum):
    """What became of a cleanup; see config_service.proto."""

    DONE = "DONE"
    NOTHING = "NOTHING"
    TOO_EARLY = "TOO_EARLY"
    FAILED = "FAILED"
    GIVEN_UP = "GIVEN_UP"


@dataclass(frozen=True, slots=True)
class Draft:
    """A connector that is to be created."""

    name: str
    config: dict[str, str]
    wanted_state: WantedState
    request_id: str
    adopt_uid: str
    apply_set: str = ""


@dataclass(frozen=True, slots=True)
class Worker:
    """An executor and what it said last; `plugins` maps each plugin's name to its description as JSON."""

    worker_id: str
    address: str
    plugins: dict[str, str]
    aliases: dict[str, str]
    update_time: int

    def plugin(self, class_name: str) -> str | None:
        """Return the own name of the plugin that answers to `class_name`, or None."""
        return class_name if class_name in self.plugins else self.aliases.get(class_name)


@dataclass(frozen=True, slots=True)
class Changes:
    """Connectors that changed up to and including `sequence`, and uids of those that were deleted."""

    sequence: int
    connectors: tuple[Connector, ...]
    deleted_uids: tuple[str, ...]
