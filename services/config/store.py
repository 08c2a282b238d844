"""Configurations in SQL: SQLite or PostgreSQL, every write on disk when its method returns.

Each write of connectors takes the next number of one sequence, whose row lock lets one such write in at a time, across all
replicas: so a decision is made on what is really there, and a watcher that has seen number N has seen everything up to N.
"""

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from rocketconnect_kit.errors import FieldProblem, NotFound
from rocketconnect_kit.store.database import reading, writing
from rocketconnect_sdk.targets.owned import Target
from services.config import checks, cleanups, history, requests, tables, workers
from services.config.domain import (
    Action,
    Change,
    Changes,
    Cleanup,
    CleanupOutcome,
    Connector,
    ConnectorType,
    Deleted,
    Draft,
    Revision,
    WantedState,
    Worker,
)
from services.config.origins import rows as origins
from services.config.origins.reads import Former, Reads, ReadTwice, dump
from services.config.rows import (
    LIVING,
    Row,
    adopted_row,
    already_there,
    connector_of,
    dump_config,
    existing_row,
    find_revision,
    find_row,
    last_deleted,
    not_found,
    revision_of,
    revisions_with_history,
    write_revision,
)
from services.config.signature import Signature
from services.config.targets import rows as owned

_NOBODY = Signature("")
_WANTING = {WantedState.RUNNING: Action.RESUME, WantedState.PAUSED: Action.PAUSE, WantedState.STOPPED: Action.STOP}


@dataclass(frozen=True, slots=True)
class _Write:
    """A write under way: each leaves one entry in the history, in the same transaction."""

    connection: sa.Connection
    sequence: int
    now: int
    by: Signature

    def note(self, action: Action, row: Row, of_revision: int = 0) -> None:
        history.write(self.connection, self.sequence, history.change(action, row, self.by, self.now, of_revision))


class ConfigStore:
    """The durable store of the config service. Methods block, and may be called from several threads and replicas.

    Args:
        engine: a migrated database.
        now: microseconds since 1970.
        new_uid: makes the uid of a new connector.
    """

    def __init__(self, engine: sa.Engine, now: Callable[[], int], new_uid: Callable[[], str] = lambda: uuid.uuid4().hex) -> None:
        self._engine = engine
        self._now = now
        self._new_uid = new_uid

    def answered(self, draft: Draft) -> Connector | None:
        """Return what a create with this request id was answered, or None when there was none.

        Raises:
            AlreadyExists: REQUEST_ID_REUSED when it was another create.
        """
        with reading(self._engine) as connection:
            return requests.answered(connection, draft)

    def create(
        self,
        draft: Draft,
        kind: ConnectorType,
        by: Signature = _NOBODY,
        targets: Sequence[Target] | None = None,
        reads: Reads | None = None,
        above: int = 0,
    ) -> Connector:
        """Store a new connector that alone may write `targets` and reads so, or return what the same create was answered before.

        Raises:
            InvalidArgument: CONFIG_INVALID when a living connector has one of the targets, or reads the same into the same topic.
            AlreadyExists: CONNECTOR_EXISTS; REQUEST_ID_REUSED.
            NotFound: ADOPTED_UID_NOT_FOUND when no connector ever had the uid to adopt.
            FailedPrecondition: ADOPTED_UID_ALIVE when a living connector has it.
        """
        with self._write(by) as write:
            before = requests.answered(write.connection, draft)
            if before is not None:
                return before
            if find_row(write.connection, draft.name) is not None:
                raise already_there(draft.name)
            _refuse_others(write.connection, draft.name, targets, reads)
            config = dump_config(draft.config)
            row: dict[str, Any] = {
                "name": draft.name,
                "changed": write.sequence,
                "config": config,
                "wanted_state": draft.wanted_state,
                "type": kind,
                "create_time": write.now,
                "update_time": write.now,
                "apply_set": draft.apply_set,
                "targets": owned.dump(targets),
                "origins": dump(reads),
            }
            if draft.adopt_uid:
                row |= adopted_row(write.connection, draft.adopt_uid, above)
                write.connection.execute(tables.connectors.update().where(tables.connectors.c.uid == row["uid"]).values(row))
            else:
                row |= {"uid": self._new_uid(), "revision": 1, "restarts": 0}
                write.connection.execute(tables.connectors.insert().values(row))
            write_revision(write.connection, write.sequence, write.now, row)
            origins.keep(write.connection, row["uid"], reads)
            write.note(Action.CREATE, row)
            connector = connector_of(row)
            if draft.request_id:
                requests.remember(write.connection, write.now, draft, connector)
            return connector

    def update(
        self,
        name: str,
        config: Mapping[str, str],
        etag: str,
        kind: ConnectorType,
        by: Signature = _NOBODY,
        targets: Sequence[Target] | None = None,
        reads: Reads | None = None,
        *,
        of_revision: int = 0,
        above: int = 0,
    ) -> Connector:
        """Store the next revision of a connector, higher than `above`; `of_revision`: that this is a rollback to, 0 for none.

        Raises:
            InvalidArgument: CONFIG_INVALID when another living connector has one of the targets, or reads the same into the same
                topic, which it did not before.
            NotFound: CONNECTOR_NOT_FOUND.
            Aborted: ETAG_MISMATCH when `etag` is given and is not the current one.
            AlreadyExists: SAME_CONFIG when it is the current configuration; nothing is written.
        """
        with self._write(by) as write:
            row = existing_row(write.connection, name, etag)
            checks.refuse_same(connector_of(row), config)
            _refuse_others(write.connection, name, targets, reads)
            row |= {"config": dump_config(config), "type": kind, "revision": max(row["revision"], above) + 1}
            row |= {"targets": owned.dump(targets), "origins": dump(reads)}
            origins.keep(write.connection, row["uid"], reads)
            write_revision(write.connection, write.sequence, write.now, row)
            write.note(Action.ROLLBACK if of_revision else Action.UPDATE, row, of_revision)
            return _save(write, row)

    def taken(self, targets: Sequence[Target] | None, name: str) -> list[FieldProblem]:
        """Return the problems of a connector of this name with targets that others have, as far as those are known."""
        with reading(self._engine) as connection:
            return owned.taken(connection, targets, name)

    def read_twice(self, reads: Reads | None, name: str) -> ReadTwice:
        """Return what is to be said of a connector of this name that reads so, as others read the same into the same topic."""
        with reading(self._engine) as connection:
            return origins.read_twice(connection, reads, name)

    def former_readers(self, reads: Reads, name: str) -> list[Former]:
        """Return deleted connectors that read some of it, the last first; none where the connector of this name read it already."""
        with reading(self._engine) as connection:
            return origins.former_readers(connection, reads, name)

    def former_writers(self, targets: Sequence[Target], name: str) -> list[tuple[Deleted, Target]]:
        """Return deleted connectors of other names that alone might write one of the targets, the last first, with that."""
        with reading(self._engine) as connection:
            return owned.former_writers(connection, targets, name)

    def of_unknown_targets(self) -> list[Connector]:
        """Return the living connectors that write and of which no executor has said yet what they alone may write."""
        with reading(self._engine) as connection:
            return owned.of_unknown(connection)

    def know_targets(self, connector: Connector, targets: Sequence[Target]) -> None:
        """Store what an executor says of a connector as it was read; changes nothing when it has changed since."""
        with self._write(_NOBODY) as write:
            mine = (tables.connectors.c.uid == connector.uid) & (tables.connectors.c.revision == connector.revision)
            write.connection.execute(tables.connectors.update().where(mine).values(targets=owned.dump(targets)))

    def delete(self, name: str, etag: str, by: Signature = _NOBODY) -> Connector:
        """Remove a connector from the living ones; return it as it was.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND.
            Aborted: ETAG_MISMATCH.
        """
        with self._write(by) as write:
            row = existing_row(write.connection, name, etag)
            write.note(Action.DELETE, row)
            values = {"delete_time": write.now, "changed": write.sequence, "cleanup_due": write.now}
            write.connection.execute(tables.connectors.update().where(tables.connectors.c.uid == row["uid"]).values(values))
            return connector_of(row)

    def want(self, name: str, wanted: WantedState, etag: str = "", by: Signature = _NOBODY) -> Connector:
        """Want a connector RUNNING, PAUSED or STOPPED; writes nothing when it is so already.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND.
        """
        current = self.get(name, etag)
        if current.wanted_state is wanted:
            return current
        with self._write(by) as write:
            row = existing_row(write.connection, name, etag) | {"wanted_state": wanted}
            write.note(_WANTING[wanted], row)
            return _save(write, row)

    def restart(self, name: str, etag: str = "", by: Signature = _NOBODY) -> Connector:
        """Count one more restart of a connector, and want it RUNNING.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND.
        """
        with self._write(by) as write:
            row = existing_row(write.connection, name, etag)
            row |= {"wanted_state": WantedState.RUNNING, "restarts": row["restarts"] + 1}
            write.note(Action.RESTART, row)
            return _save(write, row)

    def record_positions_move(self, uid: str, by: Signature) -> None:
        """Keep in the history of a living connector that its positions were moved. The connector and its etag stay as they are.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND.
        """
        with self._write(by) as write:
            query = sa.select(tables.connectors).where(LIVING, tables.connectors.c.uid == uid)
            row = write.connection.execute(query).mappings().one_or_none()
            if row is None:
                raise not_found(uid)
            write.note(Action.MOVE_POSITIONS, row)

    def take_cleanup(self, plugins: Collection[str], seconds: int) -> Cleanup | None:
        """Give the caller, for so long, the cleanup behind a deleted connector of one of the plugins; None: nothing is due."""
        now = self._now()
        with reading(self._engine) as connection:
            found = cleanups.due(connection, plugins, now)
        for cleanup in found:
            with writing(self._engine) as connection:
                if cleanups.take(connection, cleanup, now, seconds):
                    return cleanup
        return None

    def report_cleanup(self, uid: str, delete_time: int, outcome: CleanupOutcome, by: Signature) -> None:
        """Keep what became of a cleanup, and in the history what is new to people; the reason of `by` says why it failed.

        Changes nothing when the connector was adopted or deleted again since, or the cleanup is over.
        """
        with self._write(by) as write:
            row = cleanups.pending(write.connection, uid, delete_time)
            if row is None:
                return
            cleanups.settle(write.connection, row, outcome, by.reason, write.now)
            is_told = outcome is CleanupOutcome.FAILED and row["cleanup_error"] == by.reason
            if outcome in cleanups.ACTIONS and not is_told:
                write.note(cleanups.ACTIONS[outcome], row)

    def get(self, name: str, etag: str = "") -> Connector:
        """Return a living connector.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND.
            Aborted: ETAG_MISMATCH when `etag` is given and is not the current one.
        """
        with reading(self._engine) as connection:
            return connector_of(existing_row(connection, name, etag))

    def last_deleted(self, name: str) -> Deleted | None:
        """Return the connector that had a name last and is deleted; None: one lives, or there was none."""
        with reading(self._engine) as connection:
            return last_deleted(connection, name)

    def page(self, after: str, limit: int) -> list[Connector]:
        """Return at most `limit` living connectors with names above `after`, by name."""
        query = (
            sa.select(tables.connectors)
            .where(LIVING, tables.connectors.c.name > after)
            .order_by(tables.connectors.c.name)
            .limit(limit)
        )
        with reading(self._engine) as connection:
            return [connector_of(row) for row in connection.execute(query).mappings()]

    def revision(self, connector_uid: str, number: int) -> Revision:
        """Return one revision of a connector.

        Raises:
            NotFound: REVISION_NOT_FOUND.
        """
        with reading(self._engine) as connection:
            row = find_revision(connection, connector_uid, number)
        if row is None:
            message = f"the connector has no revision {number}; list its revisions to see which there are"
            raise NotFound("REVISION_NOT_FOUND", message, revision=str(number))
        return revision_of(row)

    def revisions(self, name: str, before: int | None, limit: int) -> list[Revision]:
        """Return at most `limit` revisions of all connectors, living and deleted, that had the name; the newest first.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND when there never was one.
        """
        query = revisions_with_history().where(tables.revisions.c.connector == name)
        if before is not None:
            query = query.where(tables.revisions.c.sequence < before)
        with reading(self._engine) as connection:
            rows = connection.execute(query.order_by(tables.revisions.c.sequence.desc()).limit(limit)).mappings().all()
        if not rows and before is None:
            raise not_found(name)
        return [revision_of(row) for row in rows]

    def history(self, name: str, before: int | None, limit: int) -> list[tuple[int, Change]]:
        """Return at most `limit` changes of all connectors that had the name, with their numbers; the newest first.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND when there never was one.
        """
        with reading(self._engine) as connection:
            found = history.of_name(connection, name, before, limit)
        if not found and before is None:
            raise not_found(name)
        return found

    def sequence(self) -> int:
        """Return the number of the last change of connectors."""
        with reading(self._engine) as connection:
            return history.last(connection)

    def snapshot(self) -> Changes:
        """Return all living connectors and the number of the last change that they show."""
        with reading(self._engine) as connection:
            rows = connection.execute(sa.select(tables.connectors).where(LIVING)).mappings().all()
            return Changes(history.last(connection), tuple(map(connector_of, rows)), ())

    def changes_since(self, sequence: int) -> Changes:
        """Return what changed after the change number `sequence`, each connector once, as it is now."""
        query = sa.select(tables.connectors).where(tables.connectors.c.changed > sequence).order_by(tables.connectors.c.changed)
        with reading(self._engine) as connection:
            rows = connection.execute(query).mappings().all()
            return Changes(
                history.last(connection),
                tuple(connector_of(row) for row in rows if row["delete_time"] is None),
                tuple(row["uid"] for row in rows if row["delete_time"] is not None),
            )

    def report_worker(self, worker_id: str, address: str, plugins: Mapping[str, str], aliases: Mapping[str, str]) -> None:
        """Store what a worker offers, in place of what it said before; forget workers that were silent for a day."""
        with writing(self._engine) as connection:
            workers.report(connection, Worker(worker_id, address, dict(plugins), dict(aliases), self._now()))

    def workers(self, newer_than_seconds: float) -> list[Worker]:
        """Return the workers that reported within that time, the latest report first."""
        with reading(self._engine) as connection:
            return workers.newer_than(connection, self._now() - int(newer_than_seconds * 1_000_000))

    @contextmanager
    def _write(self, by: Signature) -> Iterator[_Write]:
        with writing(self._engine) as connection:
            bump = tables.sequence.update().where(tables.sequence.c.id == 1).values(sequence=tables.sequence.c.sequence + 1)
            sequence = connection.execute(bump.returning(tables.sequence.c.sequence)).scalar_one()
            yield _Write(connection, sequence, self._now(), by)


def _save(write: _Write, row: dict[str, Any]) -> Connector:
    row |= {"changed": write.sequence, "update_time": write.now}
    write.connection.execute(tables.connectors.update().where(tables.connectors.c.uid == row["uid"]).values(row))
    return connector_of(row)


def _refuse_others(connection: sa.Connection, name: str, targets: Sequence[Target] | None, reads: Reads | None) -> None:
    checks.refuse([*owned.taken(connection, targets, name), *origins.read_twice(connection, reads, name).problems])
