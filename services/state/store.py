"""The last states and log lines in SQL: SQLite or PostgreSQL, so that something true is shown after a restart."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from rocketconnect_kit.leader.seat import require_term
from rocketconnect_kit.store.database import reading, upsert, writing
from services.state.core import Track
from services.state.model import Assignment, Connector, Key, LogLine, Report, State, TargetState
from services.state.sightings import Holding, Sighting

_metadata = sa.MetaData()
_connectors = sa.Table(
    "state_connectors",
    _metadata,
    sa.Column("uid", sa.String(128), primary_key=True),
    sa.Column("connector", sa.Text),
    sa.Column("planner", sa.String(128)),
    sa.Column("planned_revision", sa.BigInteger),
    sa.Column("plugin", sa.String(128)),
)
_tasks = sa.Table(
    "state_tasks",
    _metadata,
    sa.Column("connector_uid", sa.String(128), primary_key=True),
    sa.Column("task", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("assignment", sa.Text),
    sa.Column("report", sa.Text),
    sa.Column("metrics", sa.LargeBinary),
)
_logs = sa.Table(
    "state_logs",
    _metadata,
    sa.Column("connector_uid", sa.String(128), primary_key=True),
    sa.Column("sequence", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("time", sa.Float(53)),
    sa.Column("level", sa.String(16)),
    sa.Column("message", sa.Text),
    sa.Column("task", sa.Integer),
    sa.Column("worker", sa.String(128)),
)


@dataclass(frozen=True, slots=True)
class ConnectorRow:
    """What is stored of a connector."""

    connector: Connector | None
    planner: str
    planned_revision: int


@dataclass(frozen=True, slots=True)
class TaskRow:
    """What is stored of a task."""

    holding: Holding | None
    report: Report | None


@dataclass(frozen=True, slots=True)
class LogRows:
    """New lines of a connector's log, and the sequence of the oldest line that is still kept."""

    lines: Sequence[LogLine]
    oldest: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What one transaction writes; None: it is gone."""

    connectors: Mapping[str, ConnectorRow | None]
    tasks: Mapping[Key, TaskRow | None]
    logs: Mapping[str, LogRows | None]

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.connectors or self.tasks or self.logs)


class StateStore:
    """The durable store of the state service. Methods block; one at a time.

    Args:
        engine: a migrated database.
        term: the term in which this process leads (see `rocketconnect_kit.leader.election`).
    """

    def __init__(self, engine: sa.Engine, term: int) -> None:
        self._engine = engine
        self._term = term

    def load(self) -> dict[str, Track]:
        """Return what is stored, by connector uid. Nothing in it counts as heard of by this process."""
        tracks: dict[str, Track] = {}
        with reading(self._engine) as connection:
            for row in connection.execute(sa.select(_connectors)).mappings():
                track = tracks.setdefault(row["uid"], Track())
                track.connector = _connector(row["connector"], row["plugin"] or "")
                track.planner, track.planned_revision = row["planner"], row["planned_revision"]
            for row in connection.execute(sa.select(_tasks)).mappings():
                track = tracks.setdefault(row["connector_uid"], Track())
                key = Key(row["connector_uid"], row["task"])
                if row["assignment"] is not None:
                    track.holdings[key.task] = _holding(key, row["assignment"])
                if row["report"] is not None:
                    track.sightings[key.task] = Sighting(_report(key, row["report"], row["metrics"]), None)
            for row in connection.execute(sa.select(_logs).order_by(_logs.c.sequence)).mappings():
                columns = dict(row)
                track = tracks.setdefault(columns.pop("connector_uid"), Track())
                track.lines.append(LogLine(**columns))
                track.next_line = row["sequence"] + 1
        return tracks

    def write(self, changes: Changes) -> None:
        """Store all changes in one transaction.

        Raises:
            Aborted: TERM_OVER; nothing is written.
            Unavailable: STORE_UNAVAILABLE; the changes may be stored or not, and may be written again.
        """
        with writing(self._engine) as connection:
            require_term(connection, "state", self._term)
            _delete(connection, _connectors, [{"uid": uid} for uid, row in changes.connectors.items() if row is None])
            upsert(connection, _connectors, [_connector_row(uid, row) for uid, row in changes.connectors.items() if row])
            _delete(connection, _tasks, [key._asdict() for key, row in changes.tasks.items() if row is None])
            upsert(connection, _tasks, [_task_row(key, row) for key, row in changes.tasks.items() if row])
            for uid, rows in changes.logs.items():
                _write_log(connection, uid, rows)


def _write_log(connection: sa.Connection, uid: str, rows: LogRows | None) -> None:
    too_old = _logs.c.connector_uid == uid
    if rows is not None:
        upsert(connection, _logs, [{"connector_uid": uid, **asdict(line)} for line in rows.lines])
        too_old &= _logs.c.sequence < rows.oldest
    connection.execute(_logs.delete().where(too_old))


def _delete(connection: sa.Connection, table: sa.Table, keys: Sequence[Mapping[str, Any]]) -> None:
    if keys:
        condition = sa.and_(*(column == sa.bindparam(f"key_{column.name}") for column in table.primary_key))
        connection.execute(table.delete().where(condition), [{f"key_{name}": value for name, value in key.items()} for key in keys])


def _connector_row(uid: str, row: ConnectorRow) -> dict[str, Any]:
    columns = {} if row.connector is None else asdict(row.connector)
    # A replica of before it was known reads the others.
    plugin = columns.pop("plugin", "")
    text = json.dumps(columns) if columns else None
    made = {"uid": uid, "connector": text, "planner": row.planner, "planned_revision": row.planned_revision}
    return {**made, "plugin": plugin}


def _connector(text: str | None, plugin: str) -> Connector | None:
    if text is None:
        return None
    columns = json.loads(text)
    return Connector(**{**columns, "wanted": TargetState(columns["wanted"])}, plugin=plugin)


def _task_row(key: Key, row: TaskRow) -> dict[str, Any]:
    return {
        **key._asdict(),
        "assignment": None if row.holding is None else _dump_holding(row.holding),
        "report": None if row.report is None else json.dumps(_columns(row.report)),
        "metrics": b"" if row.report is None else row.report.metrics,
    }


def _columns(value: Assignment | Report) -> dict[str, Any]:
    # Key and metrics have columns of their own.
    return {name: item for name, item in asdict(value).items() if name not in {"key", "metrics"}}


def _dump_holding(value: Holding) -> str:
    return json.dumps({**_columns(value.assignment), "restarts": value.restarts, "failed": value.failed})


def _holding(key: Key, text: str) -> Holding:
    columns = json.loads(text)
    restarts, failed = columns.pop("restarts", 0), columns.pop("failed", False)
    return Holding(Assignment(key=key, **{**columns, "unowned": State(columns["unowned"])}), None, restarts, failed)


def _report(key: Key, text: str, metrics: bytes) -> Report:
    columns = json.loads(text)
    return Report(key=key, metrics=bytes(metrics), **{**columns, "state": State(columns["state"])})
