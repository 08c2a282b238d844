"""What the position service speaks of, free of wire and store."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fence:
    """Who speaks: a task of a connector, in a plan generation, under an epoch."""

    connector_uid: str
    task: int
    generation: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a task, in which plan generation and under which epoch, as the cluster service says. No worker: nobody does."""

    worker: str = ""
    generation: int = 0
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Position:
    """Where a connector is in a partition. `offset` is canonical JSON; the time is microseconds since 1970."""

    partition: str
    offset: str
    incarnation: int
    resume: str = field(repr=False)
    update_time: int


@dataclass(frozen=True, slots=True)
class Update:
    """A position to store.

    Attributes:
        partition: where.
        offset: the new offset, canonical JSON.
        incarnation: the one that the sender knows, from this service, or a higher one from a topic or a target; 0: not given.
        resume: what the runtime or the source needs to resume; may be a secret of the source.
        expected: the offset that must be stored now; "none": no position may be stored; "": whatever is there.
        forget: the partition is no more; its position is removed, and the new offset is not stored.
        reset_group: the consumer group whose reset moves the position; "": what the task has passed does.
    """

    partition: str
    offset: str
    incarnation: int
    resume: str = field(repr=False)
    expected: str
    forget: bool = False
    reset_group: str = ""


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task that was opened: its last fence; whether it ended clean; whether its commits are let in.

    `lease`: so many microseconds it, or who is about to open it, may run without the cluster service, counted from the
    confirmation, whose id is `lease_id` (0: it was not confirmed). A task that was confirmed and never opened has generation and
    epoch 0, and is clean. `worker` is the one that opened it, where it was known who called; "": it was not.
    """

    task: int
    generation: int
    epoch: int
    clean: bool
    open: bool
    lease: int = 0
    lease_id: int = 0
    worker: str = ""


@dataclass(frozen=True, slots=True)
class ConnectorRow:
    """A connector: its highest generation; the incarnation of new partitions; whether all before the generation was clean.

    One that was never opened has generation 0, incarnation 0, and is clean. `revision` is the one that the generation is a plan
    of; 0: not known. `wait`: so many microseconds owners of its tasks that were shut out by newer ones may still write, counted
    from when it was stored, whose id is `wait_id` (0: nobody is waited for); below 0: they stopped so long ago, and what they sent
    may be under way. `epoch_floor` is the highest epoch that was opened in an earlier generation. `forgotten`: when all else of it
    was forgotten, in microseconds since 1970; 0: it was not.
    """

    uid: str
    generation: int
    incarnation: int
    carried_clean: bool
    revision: int = 0
    wait: int = 0
    wait_id: int = 0
    epoch_floor: int = 0
    forgotten: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where a connector was when `revision` ended and `next_revision` was opened: offsets by partition. Time in microseconds.

    `resumes`: what was stored beside the offsets, by partition, where the task that opened has asked for it to be kept.
    """

    revision: int
    next_revision: int
    offsets: Mapping[str, str]
    time: int
    resumes: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is stored of one connector, or as much of it as a decision needs."""

    connector: ConnectorRow
    tasks: Mapping[int, TaskRow] = field(default_factory=dict)
    positions: Mapping[str, Position] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Effects:
    """What a decision changes: rows to write, a snapshot to keep, the positions that are forgotten: some of them, or all.

    `forget_owners`: tasks and snapshots are forgotten, all of them.
    """

    connector: ConnectorRow | None = None
    tasks: tuple[TaskRow, ...] = ()
    positions: tuple[Position, ...] = ()
    forget_positions: bool = False
    forget: tuple[str, ...] = ()
    snapshot: Snapshot | None = None
    forget_owners: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """What a task is told when it opens.

    `wait` are microseconds for which older owners may still be confirmed, or what they sent last may be under way.
    """

    positions: tuple[Position, ...]
    clean: bool
    incarnation: int
    wait: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """How a position moves by hand. An offset that is None: there is no position.

    `had` and `has`: what was stored beside the offset, and what is.
    """

    partition: str
    before: str | None
    after: str | None
    had: str = field(default="", repr=False)
    has: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Moved:
    """What moving positions by hand has done, or would do.

    Attributes:
        positions: all of the connector, by partition, as they are then.
        changes: what changes, by partition, the runtime's own rows left out.
        forgotten: how many rows are no more.
    """

    positions: tuple[Position, ...]
    changes: tuple[Change, ...]
    forgotten: int
