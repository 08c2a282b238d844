"""Positions in SQL: SQLite or PostgreSQL, every change on disk when its method returns.

All changes go through one writer thread of the process, which stores what has gathered while the disk was busy as one
transaction, so that the cost of reaching the disk is shared by all who wait for it. Every decision is made by `fencing` on what
the transaction has read; on PostgreSQL the rows of the connectors are locked first, so that replicas take turns.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rocketconnect_kit.errors import ServiceError
from rocketconnect_kit.store.database import reading, upsert, writing
from services.position import fencing, resets, snapshots
from services.position.domain import (
    Change,
    ConnectorRow,
    Effects,
    Fence,
    Ledger,
    Moved,
    Opened,
    Position,
    Snapshot,
    TaskRow,
    Update,
)
from services.position.sightings import Sightings
from services.position.writer import Done, GroupWriter, Outcome

if TYPE_CHECKING:
    from concurrent.futures import Future

_metadata = sa.MetaData()
_connectors = sa.Table(
    "position_connectors",
    _metadata,
    sa.Column("uid", sa.String(128), primary_key=True),
    sa.Column("generation", sa.BigInteger),
    sa.Column("incarnation", sa.BigInteger),
    sa.Column("carried_clean", sa.Boolean),
    sa.Column("revision", sa.BigInteger),
    sa.Column("wait", sa.BigInteger),
    sa.Column("wait_id", sa.BigInteger),
    sa.Column("epoch_floor", sa.BigInteger),
    sa.Column("forgotten", sa.BigInteger),
)
_tasks = sa.Table(
    "position_tasks",
    _metadata,
    sa.Column("connector_uid", sa.String(128), primary_key=True),
    sa.Column("task", sa.Integer, primary_key=True),
    sa.Column("generation", sa.BigInteger),
    sa.Column("epoch", sa.BigInteger),
    sa.Column("clean", sa.Boolean),
    sa.Column("open", sa.Boolean),
    sa.Column("lease", sa.BigInteger),
    sa.Column("lease_id", sa.BigInteger),
    sa.Column("worker", sa.String(128)),
)
_positions = sa.Table(
    "position_positions",
    _metadata,
    sa.Column("connector_uid", sa.String(128), primary_key=True),
    sa.Column("partition", sa.String(1024), primary_key=True),
    sa.Column("offset", sa.Text),
    sa.Column("incarnation", sa.BigInteger),
    sa.Column("resume", sa.Text),
    sa.Column("update_time", sa.BigInteger),
)
_snapshots = sa.Table(
    "position_snapshots",
    _metadata,
    sa.Column("connector_uid", sa.String(128), primary_key=True),
    sa.Column("revision", sa.BigInteger, primary_key=True),
    sa.Column("next_revision", sa.BigInteger),
    sa.Column("offsets", sa.Text),
    sa.Column("time", sa.BigInteger),
    sa.Column("resumes", sa.Text),
)


# The rows of many (connector, task) or (connector, partition) pairs, sent as one parameter: an IN list of pairs is a scan of the
# whole table to SQLite, and a statement of another length each time to both.
_LOOKUPS = {
    ("sqlite", "task"): sa.text(
        "SELECT t.* FROM json_each(:keys) AS k CROSS JOIN position_tasks AS t "
        "WHERE t.connector_uid = json_extract(k.value, '$[0]') AND t.task = json_extract(k.value, '$[1]')"
    ),
    ("sqlite", "partition"): sa.text(
        "SELECT p.* FROM json_each(:keys) AS k CROSS JOIN position_positions AS p "
        "WHERE p.connector_uid = json_extract(k.value, '$[0]') AND p.partition = json_extract(k.value, '$[1]')"
    ),
    ("postgresql", "task"): sa.text(
        "SELECT t.* FROM jsonb_array_elements(CAST(:keys AS jsonb)) AS k(value) CROSS JOIN position_tasks AS t "
        "WHERE t.connector_uid = k.value->>0 AND t.task = CAST(k.value->>1 AS integer)"
    ),
    ("postgresql", "partition"): sa.text(
        "SELECT p.* FROM jsonb_array_elements(CAST(:keys AS jsonb)) AS k(value) CROSS JOIN position_positions AS p "
        "WHERE p.connector_uid = k.value->>0 AND p.partition = k.value->>1"
    ),
}

Clock = Callable[[], int]
"""Microseconds since 1970."""

Decision = Callable[[Ledger], tuple[Effects, Any]]
"""Decides on what the transaction has read, after the rows were locked."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A decision to make, and the part of the ledger it needs: the task and partitions, or all of them (None)."""

    uid: str
    decide: Decision
    task: int | None = None
    partitions: tuple[str, ...] | None = None


class PositionStore:
    """The durable store of the position service. Methods may be called from any thread; those that change return a future.

    Args:
        engine: a migrated database.
        now: the time of day, for people to read.
        elapsed: microseconds on the clock by which leases are counted; nobody can set it, and it is this machine's own.
    """

    def __init__(self, engine: sa.Engine, now: Clock, elapsed: Callable[[], int]) -> None:
        self._engine = engine
        self._now = now
        self._seen = Sightings(elapsed)
        self._writer: GroupWriter[_Change, Any] = GroupWriter(self._store_group)

    def open_task(
        self, fence: Fence, revision: int = 0, send_deadline: int = 0, *, keep_resume: bool = False, worker: str = ""
    ) -> "Future[Opened]":
        """Raise the fence of a task and return the positions (see `fencing.open_task`)."""

        def decide(ledger: Ledger) -> tuple[Effects, Opened]:
            return fencing.open_task(
                ledger, fence, self._seen, revision, self._now(), send_deadline, keep_resume=keep_resume, worker=worker
            )

        return self._writer.submit(_Change(fence.connector_uid, decide))

    def confirm(self, uid: str, fences: Sequence[Fence], lease: int, *, worker: str = "") -> "Future[tuple[Fence, ...]]":
        """Let tasks of a connector run on, and return those that are fenced (see `fencing.confirm`)."""

        def decide(ledger: Ledger) -> tuple[Effects, tuple[Fence, ...]]:
            return fencing.confirm(ledger, fences, lease, self._seen, worker=worker)

        return self._writer.submit(_Change(uid, decide, partitions=()))

    def commit(
        self, fence: Fence, updates: Sequence[Update], *, clean: bool, worker: str = ""
    ) -> "Future[Mapping[str, Sequence[Change]]]":
        """Store positions, all or none (see `fencing.commit`), and return what resets have moved (see `resets.followed`)."""

        def decide(ledger: Ledger) -> tuple[Effects, Mapping[str, Sequence[Change]]]:
            effects = fencing.commit(ledger, fence, updates, self._seen, clean=clean, now=self._now(), worker=worker)
            return effects, resets.followed(ledger, updates, effects)

        partitions = tuple(update.partition for update in updates)
        return self._writer.submit(_Change(fence.connector_uid, decide, fence.task, partitions))

    def alter(self, uid: str, wanted: Mapping[str, tuple[str, str]], *, dry_run: bool = False) -> "Future[Moved]":
        """Move positions by hand (see `fencing.alter`)."""
        return self._move(uid, lambda ledger: fencing.alter(ledger, wanted, self._now()), dry_run=dry_run)

    def reset(self, uid: str, *, dry_run: bool = False) -> "Future[Moved]":
        """Forget all positions (see `fencing.reset`)."""
        return self._move(uid, lambda ledger: fencing.reset(ledger, self._now()), dry_run=dry_run)

    def forget(self, uid: str) -> "Future[None]":
        """Forget a deleted connector for good (see `fencing.forget`)."""

        def decide(ledger: Ledger) -> tuple[Effects, None]:
            return fencing.forget(ledger, self._seen, self._now()), None

        return self._writer.submit(_Change(uid, decide))

    def put_back(self, uid: str, wanted: Mapping[str, tuple[str, str]], *, dry_run: bool = False) -> "Future[Moved]":
        """Move to exactly these positions (see `fencing.put_back`)."""
        return self._move(uid, lambda ledger: fencing.put_back(ledger, wanted, self._now()), dry_run=dry_run)

    def _move(self, uid: str, move: Callable[[Ledger], Effects], *, dry_run: bool) -> "Future[Moved]":
        """Move positions by hand and return what that did; `dry_run`: what it would do, without doing it."""

        def decide(ledger: Ledger) -> tuple[Effects, Moved]:
            effects = move(ledger)
            told = fencing.moved(ledger, effects)
            return (Effects(), replace(told, positions=_sorted(ledger))) if dry_run else (effects, told)

        return self._writer.submit(_Change(uid, decide))

    def partitions(self, uid: str) -> list[str]:
        """Return the partitions in which a connector has a position, the runtime's own rows included."""
        query = sa.select(_positions.c.partition).where(_positions.c.connector_uid == uid)
        with reading(self._engine) as connection:
            return list(connection.scalars(query.order_by(_positions.c.partition)))

    def restore(self, uid: str, revision: int) -> "Future[Moved]":
        """Move all positions to where they were when a revision ended (see `fencing.restore`). Blocks while it reads.

        Raises, in the future: NotFound: SNAPSHOT_NOT_FOUND.
        """
        # A snapshot is never edited, so it may be read before its turn to be written comes.
        _open, kept = self.snapshots(uid)

        def move(ledger: Ledger) -> Effects:
            # What was opened last has not ended yet, nor has what came after it without a task.
            ending = 0 < ledger.connector.revision <= revision
            return Effects() if ending else fencing.restore(ledger, snapshots.covering(kept, revision), self._now())

        return self._move(uid, move, dry_run=False)

    def snapshots(self, uid: str) -> tuple[int, list[Snapshot]]:
        """Return the revision that was opened last (0: not known), and the ends of earlier ones that are kept, newest first."""
        connector = sa.select(_connectors.c.revision).where(_connectors.c.uid == uid)
        query = sa.select(_snapshots).where(_snapshots.c.connector_uid == uid).order_by(_snapshots.c.revision.desc())
        with reading(self._engine) as connection:
            rows = connection.execute(query).all()
            opened = connection.execute(connector).scalar_one_or_none()
        kept = [
            Snapshot(row.revision, row.next_revision, json.loads(row.offsets), row.time, json.loads(row.resumes)) for row in rows
        ]
        return opened or 0, kept

    def newest_revision(self, uid: str) -> int:
        """Return the highest revision of which a task was opened, or whose end is known; 0: not known."""
        opened = sa.select(_connectors.c.revision).where(_connectors.c.uid == uid)
        ended = sa.select(sa.func.max(_snapshots.c.revision)).where(_snapshots.c.connector_uid == uid)
        with reading(self._engine) as connection:
            return max(connection.execute(query).scalar() or 0 for query in (opened, ended))

    def page(self, uid: str, after: str, limit: int) -> list[Position]:
        """Return at most `limit` positions of a connector with partitions above `after`, by partition."""
        query = sa.select(_positions).where(_positions.c.connector_uid == uid, _positions.c.partition > after)
        with reading(self._engine) as connection:
            return [_position(row) for row in connection.execute(query.order_by(_positions.c.partition).limit(limit))]

    def close(self) -> None:
        """Store what is waiting, and end the writer thread."""
        self._writer.close()

    def _store_group(self, changes: Sequence[_Change]) -> list[Outcome[Any]]:
        with writing(self._engine) as connection:
            books = _Books(connection, changes)
            outcomes = [books.decide(change) for change in changes]
            books.write()
            return outcomes


@dataclass(slots=True)
class _Pages:
    """What is known of one connector within a transaction; changes as decisions are made."""

    connector: ConnectorRow
    tasks: dict[int, TaskRow] = field(default_factory=dict)
    positions: dict[str, Position] = field(default_factory=dict)


class _Books:
    """The ledgers of one transaction: read once for all its changes, written once at its end."""

    def __init__(self, connection: sa.Connection, changes: Sequence[_Change]) -> None:
        self._connection = connection
        self._connectors: dict[str, ConnectorRow] = {}
        self._tasks: dict[tuple[str, int], TaskRow] = {}
        self._positions: dict[tuple[str, str], Position] = {}
        self._forgotten: set[str] = set()
        self._forgotten_partitions: set[tuple[str, str]] = set()
        self._without_owners: set[str] = set()
        self._snapshots: list[tuple[str, Snapshot]] = []
        self._pages = {change.uid: _Pages(ConnectorRow(change.uid, 0, 0, carried_clean=True)) for change in changes}
        all_tasks = {change.uid for change in changes if change.task is None}
        all_positions = {change.uid for change in changes if change.partitions is None}
        self._lock(all_tasks)
        for row in [
            *self._all(_tasks, all_tasks),
            *self._look_up("task", {(change.uid, change.task) for change in changes if change.uid not in all_tasks}),
        ]:
            fields = (row.task, row.generation, row.epoch, bool(row.clean), bool(row.open), row.lease, row.lease_id, row.worker)
            self._pages[row.connector_uid].tasks[row.task] = TaskRow(*fields)
        some = {(change.uid, each) for change in changes if change.uid not in all_positions for each in change.partitions or ()}
        for row in [*self._all(_positions, all_positions), *self._look_up("partition", some)]:
            self._pages[row.connector_uid].positions[row.partition] = _position(row)

    def decide(self, change: _Change) -> Outcome[Any]:
        """Return the outcome of a change on what the changes before it have left."""
        pages = self._pages[change.uid]
        try:
            effects, result = change.decide(Ledger(pages.connector, pages.tasks, pages.positions))
        except ServiceError as error:
            return error
        if effects.connector is not None:
            pages.connector = self._connectors[change.uid] = effects.connector
        if effects.forget_owners:
            self._without_owners.add(change.uid)
            for number in pages.tasks:
                self._tasks.pop((change.uid, number), None)
            pages.tasks.clear()
            self._snapshots = [each for each in self._snapshots if each[0] != change.uid]
        for task in effects.tasks:
            pages.tasks[task.task] = self._tasks[change.uid, task.task] = task
        if effects.forget_positions:
            self._forgotten.add(change.uid)
            for partition in pages.positions:
                self._positions.pop((change.uid, partition), None)
            pages.positions.clear()
        for partition in effects.forget:
            pages.positions.pop(partition)
            self._positions.pop((change.uid, partition), None)
            self._forgotten_partitions.add((change.uid, partition))
        if effects.snapshot is not None:
            self._snapshots.append((change.uid, effects.snapshot))
        for position in effects.positions:
            pages.positions[position.partition] = self._positions[change.uid, position.partition] = position
        return Done(result)

    def write(self) -> None:
        """Write what has changed."""
        for uid in sorted(self._forgotten):
            self._connection.execute(_positions.delete().where(_positions.c.connector_uid == uid))
        for uid in sorted(self._without_owners):
            self._connection.execute(_tasks.delete().where(_tasks.c.connector_uid == uid))
            self._connection.execute(_snapshots.delete().where(_snapshots.c.connector_uid == uid))
        if self._forgotten_partitions:
            row = (_positions.c.connector_uid == sa.bindparam("of_uid")) & (_positions.c.partition == sa.bindparam("of_partition"))
            gone = [{"of_uid": uid, "of_partition": partition} for uid, partition in sorted(self._forgotten_partitions)]
            self._connection.execute(_positions.delete().where(row), gone)
        for uid, snapshot in self._snapshots:
            self._keep(uid, snapshot)
        upsert(self._connection, _connectors, [asdict(row) for row in self._connectors.values()])
        upsert(self._connection, _tasks, [{"connector_uid": uid, **asdict(row)} for (uid, _), row in self._tasks.items()])
        upsert(self._connection, _positions, [{"connector_uid": uid, **asdict(row)} for (uid, _), row in self._positions.items()])

    def _keep(self, uid: str, snapshot: Snapshot) -> None:
        row = {**asdict(snapshot), "offsets": json.dumps(dict(snapshot.offsets)), "resumes": json.dumps(dict(snapshot.resumes))}
        upsert(self._connection, _snapshots, [{"connector_uid": uid, **row}])
        own = _snapshots.c.connector_uid == uid
        revisions = sa.select(_snapshots.c.revision).where(own).order_by(_snapshots.c.revision.desc())
        # Invariant 7, on disk: what is beyond the last so many is let go.
        beyond = self._connection.execute(revisions.offset(snapshots.KEPT).limit(1)).scalar_one_or_none()
        if beyond is not None:
            self._connection.execute(_snapshots.delete().where(own, _snapshots.c.revision <= beyond))

    def _lock(self, new: Iterable[str]) -> None:
        query = sa.select(_connectors).where(_connectors.c.uid.in_(sorted(self._pages))).order_by(_connectors.c.uid)
        if self._connection.dialect.name == "postgresql":
            # A row that is not there can't be locked; one that says nothing yet is as good as none.
            if fresh := [asdict(ConnectorRow(uid, 0, 0, carried_clean=True)) for uid in sorted(new)]:
                from sqlalchemy.dialects.postgresql import insert

                self._connection.execute(insert(_connectors).on_conflict_do_nothing(), fresh)
            query = query.with_for_update()
        for row in self._connection.execute(query):
            self._pages[row.uid].connector = ConnectorRow(
                row.uid,
                row.generation,
                row.incarnation,
                row.carried_clean,
                row.revision,
                row.wait,
                row.wait_id,
                row.epoch_floor,
                row.forgotten,
            )

    def _all(self, table: sa.Table, uids: Collection[str]) -> Iterable[sa.Row[Any]]:
        return self._connection.execute(sa.select(table).where(table.c.connector_uid.in_(sorted(uids)))) if uids else ()

    def _look_up(self, kind: str, pairs: Iterable[tuple[str, Any]]) -> Iterable[sa.Row[Any]]:
        keys = list(pairs)
        if not keys:
            return ()
        return self._connection.execute(_LOOKUPS[self._connection.dialect.name, kind], {"keys": json.dumps(keys)})


def _position(row: sa.Row[Any]) -> Position:
    return Position(row.partition, row.offset, row.incarnation, row.resume, row.update_time)


def _sorted(ledger: Ledger) -> tuple[Position, ...]:
    return tuple(ledger.positions[partition] for partition in sorted(ledger.positions))
