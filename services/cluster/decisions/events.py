"""What happens to the cluster service, and what follows from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rocketconnect_kit.errors import ServiceError
from services.cluster.model import Changes, Connector, Key
from services.cluster.view import AssignmentView


@dataclass(frozen=True, slots=True)
class Register:
    """A worker joins. Answered with its session.

    `process` names its process, and `ended_processes` those that were this worker before and are surely gone; empty: not known.
    """

    worker_id: str
    address: str
    labels: Mapping[str, str]
    plugins: frozenset[str]
    weight: int = 1
    send_deadline: float = 0.0
    pid: int = 0
    process: str = ""
    ended_processes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Offer:
    """A worker offers other plugins than before, and keeps what it holds."""

    worker_id: str
    session: int
    plugins: frozenset[str]


@dataclass(frozen=True, slots=True)
class Deregister:
    """A worker has stopped everything and leaves."""

    worker_id: str
    session: int


@dataclass(frozen=True, slots=True)
class WorkerGone:
    """The process of a worker is surely gone, and with it its hosts; what it sent last may still be under way."""

    worker_id: str
    session: int


@dataclass(frozen=True, slots=True)
class Drain:
    """A worker shall get nothing new, and its tasks shall move to others; with `force` those that nobody can take stop."""

    worker_id: str
    force: bool = False


@dataclass(frozen=True, slots=True)
class Undrain:
    """A worker that was drained shall take work again."""

    worker_id: str


@dataclass(frozen=True, slots=True)
class Release:
    """A worker has stopped a unit. `opened_generation`: the newest that the position service has opened; 0: not known."""

    worker_id: str
    session: int
    key: Key
    epoch: int
    failed: bool = False
    permanent: bool = False
    opened_generation: int = 0


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """A worker has planned a connector. Answered with the generation that holds now."""

    worker_id: str
    session: int
    connector_uid: str
    epoch: int
    tasks: tuple[Mapping[str, str], ...]
    replan_after: float | None = None


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """A task that a worker holds asks for a new plan of its connector."""

    worker_id: str
    session: int
    key: Key
    epoch: int


@dataclass(frozen=True, slots=True)
class ConnectorsChanged:
    """The config service tells connectors: all there are (`snapshot`), or those that changed and those that are gone."""

    snapshot: bool
    connectors: Sequence[Connector] = ()
    deleted: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


Event: TypeAlias = (
    Register | Offer | Deregister | Drain | Undrain | WorkerGone | Release | ReportPlan | RequestPlan | ConnectorsChanged | Tick
)


@dataclass(frozen=True, slots=True)
class Effects:
    """What follows from events.

    `changes` must be durable before anybody sees `replies` or `views`.
    """

    replies: tuple[int | ServiceError, ...]
    """One for each event, in their order."""
    changes: Changes
    views: Mapping[Key, AssignmentView | None]
    """Assignments that are to be shown anew; None: gone."""
    wake_at: float
    """When the next Tick is due at the latest, on the clock of the events."""
