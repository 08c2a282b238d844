"""Configurations in SQL: SQLite or PostgreSQL, every write on disk when its method returns.

Each write of connectors takes the next number of one sequence, whose row lock lets one such write in at a time, across all
replicas: so a decision is made on what is really there, and a watcher that has seen number N has seen everything up to N.
"""

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from rocketconnect_kit.database import reading, upsert, writing
from rocketconnect_kit.errors import Aborted, AlreadyExists, FailedPrecondition, NotFound
from services.config.domain import Changes, Connector, ConnectorType, Draft, Revision, WantedState, Worker

REQUEST_DAYS = 7
"""For so long the same request id is the same create."""

_MICROSECONDS_A_DAY = 24 * 3600 * 1_000_000
_metadata = sa.MetaData()
_connectors = sa.Table(
    "config_connectors",
    _metadata,
    sa.Column("uid", sa.String(128), primary_key=True),
    sa.Column("name", sa.String(128)),
    sa.Column("revision", sa.BigInteger),
    sa.Column("changed", sa.BigInteger),
    sa.Column("config", sa.Text),
    sa.Column("wanted_state", sa.String(16)),
    sa.Column("type", sa.String(16)),
    sa.Column("create_time", sa.BigInteger),
    sa.Column("update_time", sa.BigInteger),
    sa.Column("restarts", sa.BigInteger),
    sa.Column("delete_time", sa.BigInteger),
)
_revisions = sa.Table(
    "config_revisions",
    _metadata,
    sa.Column("sequence", sa.BigInteger, primary_key=True),
    sa.Column("connector_uid", sa.String(128)),
    sa.Column("connector", sa.String(128)),
    sa.Column("revision", sa.BigInteger),
    sa.Column("config", sa.Text),
    sa.Column("create_time", sa.BigInteger),
)
_requests = sa.Table(
    "config_requests",
    _metadata,
    sa.Column("request_id", sa.String(128), primary_key=True),
    sa.Column("fingerprint", sa.String(64)),
    sa.Column("answer", sa.Text),
    sa.Column("create_time", sa.BigInteger),
)
_workers = sa.Table(
    "config_workers",
    _metadata,
    sa.Column("worker_id", sa.String(128), primary_key=True),
    sa.Column("address", sa.String(256)),
    sa.Column("plugins", sa.Text),
    sa.Column("aliases", sa.Text),
    sa.Column("update_time", sa.BigInteger),
)
_changes = sa.Table(
    "config_changes", _metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("sequence", sa.BigInteger)
)
_Row = Mapping[str, Any] | sa.RowMapping
_living = _connectors.c.delete_time.is_(None)


@dataclass(frozen=True, slots=True)
class _Write:
    connection: sa.Connection
    sequence: int
    now: int


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
            return _answered(connection, draft)

    def create(self, draft: Draft, kind: ConnectorType) -> Connector:
        """Store a new connector, or return what the same create was answered before.

        Raises:
            AlreadyExists: CONNECTOR_EXISTS; REQUEST_ID_REUSED.
            NotFound: ADOPTED_UID_NOT_FOUND when no connector ever had the uid to adopt.
            FailedPrecondition: ADOPTED_UID_ALIVE when a living connector has it.
        """
        with self._write() as write:
            before = _answered(write.connection, draft)
            if before is not None:
                return before
            if _row(write.connection, draft.name) is not None:
                raise _exists(draft.name)
            config = _dump(draft.config)
            row: dict[str, Any] = {
                "name": draft.name,
                "changed": write.sequence,
                "config": config,
                "wanted_state": draft.wanted_state,
                "type": kind,
                "create_time": write.now,
                "update_time": write.now,
            }
            if draft.adopt_uid:
                row |= _adopt(write.connection, draft.adopt_uid)
                write.connection.execute(_connectors.update().where(_connectors.c.uid == row["uid"]).values(row))
            else:
                row |= {"uid": self._new_uid(), "revision": 1, "restarts": 0}
                write.connection.execute(_connectors.insert().values(row))
            _write_revision(write, row)
            connector = _connector(row)
            if draft.request_id:
                self._remember(write, draft, connector)
            return connector

    def update(self, name: str, config: Mapping[str, str], etag: str, kind: ConnectorType) -> Connector:
        """Store the next revision of a connector.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND.
            Aborted: ETAG_MISMATCH when `etag` is given and is not the current one.
            AlreadyExists: SAME_CONFIG when it is the current configuration; nothing is written.
        """
        with self._write() as write:
            row = _existing(write.connection, name, etag)
            current = _connector(row)
            refuse_same(current, config)
            row |= {"config": _dump(config), "type": kind, "revision": current.revision + 1}
            _write_revision(write, row)
            return _save(write, row)

    def delete(self, name: str, etag: str) -> Connector:
        """Remove a connector from the living ones; return it as it was.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND.
            Aborted: ETAG_MISMATCH.
        """
        with self._write() as write:
            row = _existing(write.connection, name, etag)
            values = {"delete_time": write.now, "changed": write.sequence}
            write.connection.execute(_connectors.update().where(_connectors.c.uid == row["uid"]).values(values))
            return _connector(row)

    def want(self, name: str, wanted: WantedState) -> Connector:
        """Want a connector RUNNING, PAUSED or STOPPED; writes nothing when it is so already.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND.
        """
        current = self.get(name)
        if current.wanted_state is wanted:
            return current
        with self._write() as write:
            row = _existing(write.connection, name)
            return _save(write, row | {"wanted_state": wanted})

    def restart(self, name: str) -> Connector:
        """Count one more restart of a connector, and want it RUNNING.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND.
        """
        with self._write() as write:
            row = _existing(write.connection, name)
            return _save(write, row | {"wanted_state": WantedState.RUNNING, "restarts": row["restarts"] + 1})

    def get(self, name: str) -> Connector:
        """Return a living connector.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND.
        """
        with reading(self._engine) as connection:
            return _connector(_existing(connection, name))

    def page(self, after: str, limit: int) -> list[Connector]:
        """Return at most `limit` living connectors with names above `after`, by name."""
        query = sa.select(_connectors).where(_living, _connectors.c.name > after).order_by(_connectors.c.name).limit(limit)
        with reading(self._engine) as connection:
            return [_connector(row) for row in connection.execute(query).mappings()]

    def revision(self, connector_uid: str, number: int) -> Revision:
        """Return one revision of a connector.

        Raises:
            NotFound: REVISION_NOT_FOUND.
        """
        query = sa.select(_revisions).where(_revisions.c.connector_uid == connector_uid, _revisions.c.revision == number)
        with reading(self._engine) as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            message = f"the connector has no revision {number}; list its revisions to see which there are"
            raise NotFound("REVISION_NOT_FOUND", message, revision=str(number))
        return _revision(row)

    def revisions(self, name: str, before: int | None, limit: int) -> list[Revision]:
        """Return at most `limit` revisions of all connectors, living and deleted, that had the name; the newest first.

        Raises:
            NotFound: CONNECTOR_NOT_FOUND when there never was one.
        """
        query = sa.select(_revisions).where(_revisions.c.connector == name)
        if before is not None:
            query = query.where(_revisions.c.sequence < before)
        with reading(self._engine) as connection:
            rows = connection.execute(query.order_by(_revisions.c.sequence.desc()).limit(limit)).mappings().all()
        if not rows and before is None:
            raise _not_found(name)
        return [_revision(row) for row in rows]

    def sequence(self) -> int:
        """Return the number of the last change of connectors."""
        with reading(self._engine) as connection:
            return _sequence(connection)

    def snapshot(self) -> Changes:
        """Return all living connectors and the number of the last change that they show."""
        with reading(self._engine) as connection:
            rows = connection.execute(sa.select(_connectors).where(_living)).mappings().all()
            return Changes(_sequence(connection), tuple(map(_connector, rows)), ())

    def changes_since(self, sequence: int) -> Changes:
        """Return what changed after the change number `sequence`, each connector once, as it is now."""
        query = sa.select(_connectors).where(_connectors.c.changed > sequence).order_by(_connectors.c.changed)
        with reading(self._engine) as connection:
            rows = connection.execute(query).mappings().all()
            return Changes(
                _sequence(connection),
                tuple(_connector(row) for row in rows if row["delete_time"] is None),
                tuple(row["uid"] for row in rows if row["delete_time"] is not None),
            )

    def report_worker(self, worker_id: str, address: str, plugins: Mapping[str, str], aliases: Mapping[str, str]) -> None:
        """Store what a worker offers, in place of what it said before; forget workers that were silent for a day."""
        now = self._now()
        values = {"address": address, "plugins": _dump(plugins), "aliases": _dump(aliases), "update_time": now}
        with writing(self._engine) as connection:
            connection.execute(_workers.delete().where(_workers.c.update_time < now - _MICROSECONDS_A_DAY))
            upsert(connection, _workers, [{"worker_id": worker_id, **values}])

    def workers(self, newer_than_seconds: float) -> list[Worker]:
        """Return the workers that reported within that time, the latest report first."""
        since = self._now() - int(newer_than_seconds * 1_000_000)
        query = sa.select(_workers).where(_workers.c.update_time > since).order_by(_workers.c.update_time.desc())
        with reading(self._engine) as connection:
            return [
                Worker(row.worker_id, row.address, json.loads(row.plugins), json.loads(row.aliases), row.update_time)
                for row in connection.execute(query)
            ]

    @contextmanager
    def _write(self) -> Iterator[_Write]:
        with writing(self._engine) as connection:
            bump = _changes.update().where(_changes.c.id == 1).values(sequence=_changes.c.sequence + 1)
            sequence = connection.execute(bump.returning(_changes.c.sequence)).scalar_one()
            yield _Write(connection, sequence, self._now())

    def _remember(self, write: _Write, draft: Draft, connector: Connector) -> None:
        old = _requests.c.create_time < write.now - REQUEST_DAYS * _MICROSECONDS_A_DAY
        write.connection.execute(_requests.delete().where(old))
        values = {
            "request_id": draft.request_id,
            "fingerprint": _fingerprint(draft),
            "answer": json.dumps(asdict(connector)),
            "create_time": write.now,
        }
        write.connection.execute(_requests.insert().values(values))


def refuse_etag(connector: Connector, etag: str) -> None:
    """Raise Aborted (ETAG_MISMATCH) when an etag is given and the connector has changed since it was read."""
    if etag and etag != connector.etag:
        message = f"connector {connector.name!r} has changed since it was read; read it again and repeat the change"
        raise Aborted("ETAG_MISMATCH", message, connector=connector.name, etag=connector.etag)


def refuse_same(connector: Connector, config: Mapping[str, str]) -> None:
    """Raise AlreadyExists (SAME_CONFIG) when the connector has this configuration already."""
    if connector.config == dict(config):
        message = f"connector {connector.name!r} has this configuration already; nothing was written"
        raise AlreadyExists("SAME_CONFIG", message, connector=connector.name)


def _not_found(name: str) -> NotFound:
    message = f"there is no connector {name[:128]!r}; list the connectors to see their names"
    return NotFound("CONNECTOR_NOT_FOUND", message, connector=name[:128])


def _exists(name: str) -> AlreadyExists:
    message = f"there is a connector {name!r} already; update it, delete it first, or choose another name"
    return AlreadyExists("CONNECTOR_EXISTS", message, connector=name)


def _row(connection: sa.Connection, name: str) -> dict[str, Any] | None:
    row = connection.execute(sa.select(_connectors).where(_living, _connectors.c.name == name)).mappings().one_or_none()
    return None if row is None else dict(row)


def _existing(connection: sa.Connection, name: str, etag: str = "") -> dict[str, Any]:
    # No name holds a NUL, and PostgreSQL refuses to be asked for one.
    row = None if "\0" in name else _row(connection, name)
    if row is None:
        raise _not_found(name)
    refuse_etag(_connector(row), etag)
    return row


def _adopt(connection: sa.Connection, uid: str) -> dict[str, Any]:
    row = connection.execute(sa.select(_connectors).where(_connectors.c.uid == uid)).mappings().one_or_none()
    if row is None:
        message = f"no connector ever had the uid {uid!r}; take it from the revisions of the deleted connector"
        raise NotFound("ADOPTED_UID_NOT_FOUND", message, uid=uid)
    if row["delete_time"] is None:
        message = f"connector {row['name']!r} lives and has the uid {uid!r}; delete it first, or adopt none"
        raise FailedPrecondition("ADOPTED_UID_ALIVE", message, uid=uid, connector=row["name"])
    # Revisions go on counting: (uid, revision) names one configuration for ever.
    return {"uid": uid, "revision": row["revision"] + 1, "restarts": row["restarts"], "delete_time": None}


def _save(write: _Write, row: dict[str, Any]) -> Connector:
    row |= {"changed": write.sequence, "update_time": write.now}
    write.connection.execute(_connectors.update().where(_connectors.c.uid == row["uid"]).values(row))
    return _connector(row)


def _write_revision(write: _Write, row: Mapping[str, Any]) -> None:
    values = {
        "sequence": write.sequence,
        "connector_uid": row["uid"],
        "connector": row["name"],
        "revision": row["revision"],
        "config": row["config"],
        "create_time": write.now,
    }
    write.connection.execute(_revisions.insert().values(values))


def _answered(connection: sa.Connection, draft: Draft) -> Connector | None:
    if not draft.request_id:
        return None
    row = connection.execute(sa.select(_requests).where(_requests.c.request_id == draft.request_id)).one_or_none()
    if row is None:
        return None
    if row.fingerprint != _fingerprint(draft):
        message = f"the request id {draft.request_id!r} was used for another create; choose a fresh one for each connector"
        raise AlreadyExists("REQUEST_ID_REUSED", message, request_id=draft.request_id)
    fields = json.loads(row.answer)
    kinds = {"wanted_state": WantedState(fields["wanted_state"]), "type": ConnectorType(fields["type"])}
    return Connector(**(fields | kinds))


def _fingerprint(draft: Draft) -> str:
    body = json.dumps([draft.name, draft.config, draft.wanted_state, draft.adopt_uid], sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()


def _sequence(connection: sa.Connection) -> int:
    number: int = connection.execute(sa.select(_changes.c.sequence)).scalar_one()
    return number


def _dump(mapping: Mapping[str, str]) -> str:
    return json.dumps(dict(mapping), sort_keys=True)


def _connector(row: _Row) -> Connector:
    return Connector(
        uid=row["uid"],
        name=row["name"],
        revision=row["revision"],
        etag=f"{row['changed']:x}",
        config=json.loads(row["config"]),
        wanted_state=WantedState(row["wanted_state"]),
        type=ConnectorType(row["type"]),
        create_time=row["create_time"],
        update_time=row["update_time"],
        restarts=row["restarts"],
    )


def _revision(row: _Row) -> Revision:
    return Revision(**{**row, "config": json.loads(row["config"])})
