"""The tables in SQL: SQLite or PostgreSQL. What a method has written is on disk when it returns.

One process decides at a time, the leader: it writes in its term, and one whose term is over is refused.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from rocketconnect_kit.leader.seat import require_term
from rocketconnect_kit.store.database import reading, upsert, writing
from services.cluster.model import Changes, Connector, Key, Plan, PlanState, TargetState, Unit, Worker

_metadata = sa.MetaData()
# The services may share one database.
_PREFIX = "cluster_"
_workers = sa.Table(
    "cluster_workers",
    _metadata,
    sa.Column("id", sa.String(128), primary_key=True),
    sa.Column("session", sa.BigInteger),
    sa.Column("address", sa.String(512)),
    sa.Column("labels", sa.Text),
    sa.Column("plugins", sa.Text),
    sa.Column("weight", sa.Integer),
    sa.Column("ended", sa.Boolean),
    sa.Column("drained", sa.Boolean),
    sa.Column("pid", sa.BigInteger),
    sa.Column("process", sa.String(128)),
)
_connectors = sa.Table(
    "cluster_connectors",
    _metadata,
    sa.Column("uid", sa.String(128), primary_key=True),
    sa.Column("name", sa.String(128)),
    sa.Column("revision", sa.BigInteger),
    sa.Column("config", sa.Text),
    sa.Column("wanted", sa.String(16)),
    sa.Column("type", sa.Integer),
    sa.Column("restarts", sa.BigInteger),
    sa.Column("plan_state", sa.String(16)),
    sa.Column("deleted", sa.Boolean),
)
_plans = sa.Table(
    "cluster_plans",
    _metadata,
    sa.Column("connector_uid", sa.String(128), primary_key=True),
    sa.Column("generation", sa.BigInteger),
    sa.Column("revision", sa.BigInteger),
    sa.Column("epoch", sa.BigInteger),
    sa.Column("config", sa.Text),
    sa.Column("tasks", sa.Text),
    sa.Column("replan_after", sa.Float),
    sa.Column("asked", sa.Boolean),
)
_units = sa.Table(
    "cluster_units",
    _metadata,
    sa.Column("connector_uid", sa.String(128), primary_key=True),
    sa.Column("task", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("generation", sa.BigInteger),
    sa.Column("revision", sa.BigInteger),
    sa.Column("epoch", sa.BigInteger),
    sa.Column("worker", sa.String(128)),
    sa.Column("revoked", sa.Boolean),
    sa.Column("failures", sa.Integer),
    sa.Column("given_up", sa.Boolean),
)
_generations = sa.Table(
    "cluster_generations",
    _metadata,
    sa.Column("connector_uid", sa.String(128), primary_key=True),
    sa.Column("generation", sa.BigInteger),
)
_counters = sa.Table(
    "cluster_counters", _metadata, sa.Column("name", sa.String(64), primary_key=True), sa.Column("value", sa.BigInteger)
)


class ClusterStore:
    """The durable store of the cluster service. Methods block; one at a time.

    Args:
        engine: a migrated database.
        term: the term in which this process leads (see `rocketconnect_kit.leader.election`).
    """

    def __init__(self, engine: sa.Engine, term: int) -> None:
        self._engine = engine
        self._term = term

    def load(self) -> Changes:
        """Return all that is stored, as changes to empty tables."""
        with reading(self._engine) as connection:
            rows = {
                table.name.removeprefix(_PREFIX): connection.execute(sa.select(table)).mappings().all()
                for table in _metadata.sorted_tables
            }
        return Changes(
            workers={row["id"]: _worker(row) for row in rows["workers"]},
            connectors={row["uid"]: _connector(row) for row in rows["connectors"]},
            plans={row["connector_uid"]: _plan(row) for row in rows["plans"]},
            units={(unit := _unit(row)).key: unit for row in rows["units"]},
            generations={row["connector_uid"]: row["generation"] for row in rows["generations"]},
            counters={row["name"]: row["value"] for row in rows["counters"]},
        )

    def write(self, changes: Changes) -> None:
        """Store all changes in one transaction. Without changes it only asks whether the term still holds.

        Raises:
            Aborted: TERM_OVER; nothing is written.
            Unavailable: STORE_UNAVAILABLE; the changes may be stored or not.
        """
        with writing(self._engine) as connection:
            require_term(connection, "cluster", self._term)
            _save(connection, _workers, changes.workers, lambda key: {"id": key}, _worker_row)
            _save(connection, _connectors, changes.connectors, lambda key: {"uid": key}, _connector_row)
            _save(connection, _plans, changes.plans, _by_uid, _plan_row)
            _save(connection, _units, changes.units, lambda key: key._asdict(), _unit_row)
            _save(connection, _generations, changes.generations, _by_uid, lambda number: {"generation": number})
            _save(connection, _counters, changes.counters, lambda key: {"name": key}, lambda number: {"value": number})


def _save(
    connection: sa.Connection,
    table: sa.Table,
    changes: Mapping[Any, Any],
    key_columns: Callable[[Any], dict[str, Any]],
    other_columns: Callable[[Any], dict[str, Any]],
) -> None:
    gone = [key_columns(key) for key, row in changes.items() if row is None]
    if gone:
        condition = sa.and_(*(column == sa.bindparam(f"key_{column.name}") for column in table.primary_key))
        connection.execute(table.delete().where(condition), [{f"key_{name}": value for name, value in key.items()} for key in gone])
    upsert(connection, table, [key_columns(key) | other_columns(row) for key, row in changes.items() if row is not None])


def _by_uid(uid: str) -> dict[str, Any]:
    return {"connector_uid": uid}


def _worker_row(worker: Worker) -> dict[str, Any]:
    return {
        "session": worker.session,
        "address": worker.address,
        "labels": json.dumps(dict(worker.labels)),
        "plugins": json.dumps(sorted(worker.plugins)),
        "weight": worker.weight,
        "ended": worker.ended,
        "drained": worker.drained,
        "pid": worker.pid,
        "process": worker.process,
    }


def _worker(row: sa.RowMapping) -> Worker:
    return Worker(**{**row, "labels": json.loads(row["labels"]), "plugins": frozenset(json.loads(row["plugins"]))})


def _connector_row(connector: Connector) -> dict[str, Any]:
    row = asdict(connector)
    del row["uid"]
    return row | {"config": json.dumps(row["config"])}


def _connector(row: sa.RowMapping) -> Connector:
    texts = {"config": json.loads(row["config"]), "wanted": TargetState(row["wanted"]), "plan_state": PlanState(row["plan_state"])}
    return Connector(**{**row, **texts})


def _plan_row(plan: Plan) -> dict[str, Any]:
    row = asdict(plan)
    del row["connector_uid"]
    return row | {"config": json.dumps(row["config"]), "tasks": json.dumps(row["tasks"])}


def _plan(row: sa.RowMapping) -> Plan:
    return Plan(**{**row, "config": json.loads(row["config"]), "tasks": tuple(json.loads(row["tasks"]))})


def _unit_row(unit: Unit) -> dict[str, Any]:
    return {
        "generation": unit.generation,
        "revision": unit.revision,
        "epoch": unit.epoch,
        "worker": unit.worker,
        "revoked": unit.revoked,
        "failures": unit.failures,
        "given_up": unit.given_up,
    }


def _unit(row: sa.RowMapping) -> Unit:
    columns = dict(row)
    return Unit(Key(columns.pop("connector_uid"), columns.pop("task")), **columns)
