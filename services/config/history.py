"""The history of connectors in SQL: one entry for each write, under the number of the write, in its transaction."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from rocketconnect_kit.errors import Aborted
from services.config.domain import Action, Change
from services.config.signature import Signature
from services.config.tables import history, sequence

_TOLD = 3
"""So many of the changes since it was read are named to somebody whose etag is old."""

_DONE = {
    Action.UNSPECIFIED: "changed",
    Action.CREATE: "created",
    Action.UPDATE: "updated",
    Action.ROLLBACK: "rolled back",
    Action.DELETE: "deleted",
    Action.PAUSE: "paused",
    Action.RESUME: "resumed",
    Action.STOP: "stopped",
    Action.RESTART: "restarted",
    Action.MOVE_POSITIONS: "moved to other positions",
    Action.CLEAN_UP: "cleaned up",
    Action.CLEANUP_FAILED: "not cleaned up yet",
    Action.CLEANUP_GIVEN_UP: "not cleaned up",
}
_Row = Mapping[str, Any] | sa.RowMapping


def change(action: Action, row: _Row, by: Signature, now: int, of_revision: int) -> Change:
    """Return the change that has led to this row of a connector."""
    who = (by.author, by.on_behalf_of, by.reason)
    return Change(row["uid"], row["name"], action, row["revision"], of_revision, *who, now)


def write(connection: sa.Connection, sequence: int, made: Change) -> None:
    """Keep a change for as long as its connector is known, under the number of the write that made it."""
    values = {column.name: getattr(made, column.name) for column in history.c if column.name != "sequence"}
    connection.execute(history.insert().values(sequence=sequence, **values))


def of_name(connection: sa.Connection, name: str, before: int | None, limit: int) -> list[tuple[int, Change]]:
    """Return at most `limit` changes of connectors that had the name, with their numbers below `before`; the newest first."""
    query = sa.select(history).where(history.c.connector == name)
    if before is not None:
        query = query.where(history.c.sequence < before)
    rows = connection.execute(query.order_by(history.c.sequence.desc()).limit(limit)).mappings()
    return [(row["sequence"], of_row(row)) for row in rows]


def of_row(row: _Row) -> Change:
    """Return the change in a row that has the columns of the history."""
    fields = {column.name: row[column.name] for column in history.c if column.name != "sequence"}
    return Change(**(fields | {"action": Action(row["action"])}))


def etag_mismatch(connection: sa.Connection, row: _Row, etag: str, *, current: str) -> Aborted:
    """Return the error of an etag that is not the current one: it says who has changed the connector since, and when."""
    query = sa.select(history).where(history.c.connector_uid == row["uid"]).order_by(history.c.sequence.desc())
    changes = [of_row(each) for each in connection.execute(query.where(history.c.sequence > _number(etag)).limit(_TOLD)).mappings()]
    told = ", ".join(_told(each) for each in changes)
    because = f"it was {told}" if told else "its etag is another one"
    message = f"connector {row['name']!r} has changed since it was read: {because}; read it again and repeat the change"
    last = {"author": changes[0].author, "action": changes[0].action, "time": _time(changes[0].time)} if changes else {}
    return Aborted("ETAG_MISMATCH", message, connector=row["name"], etag=current, **last)


def _told(made: Change) -> str:
    who = Signature(made.author, made.on_behalf_of)
    return f"{_DONE[made.action]} by {who} at {_time(made.time)}" + (f" ({made.reason})" if made.reason else "")


def _time(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds // 1_000_000, UTC).isoformat().replace("+00:00", "Z")


def _number(etag: str) -> int:
    """Return the number of the write that an etag stands for; for what is none, that of no write."""
    try:
        return min(int(etag[:32], 16), 2**63 - 1)
    except ValueError:
        return 0


def last(connection: sa.Connection) -> int:
    """Return the number of the last change of connectors."""
    number: int = connection.execute(sa.select(sequence.c.sequence)).scalar_one()
    return number
