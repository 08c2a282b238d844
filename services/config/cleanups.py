"""Cleanups behind deleted connectors in SQL: columns of the row of a deleted connector say when one is due, and how it failed.

Who takes one moves the time on: so nobody else takes it meanwhile, and it is due again when its taker is lost.
"""

import json
from collections.abc import Collection

import sqlalchemy as sa

from rocketconnect_sdk.configuration.runtime_options import CLASS
from services.config.domain import Action, Cleanup, CleanupOutcome
from services.config.tables import connectors

FIRST_RETRY_SECONDS = 10
LAST_RETRY_SECONDS = 300
TOO_EARLY_SECONDS = 2
"""The tasks of a deleted connector end soon."""

ACTIONS = {
    CleanupOutcome.DONE: Action.CLEAN_UP,
    CleanupOutcome.FAILED: Action.CLEANUP_FAILED,
    CleanupOutcome.GIVEN_UP: Action.CLEANUP_GIVEN_UP,
}
"""Of the outcomes that people are told."""

_SECOND = 1_000_000


def due(connection: sa.Connection, plugins: Collection[str], now: int) -> list[Cleanup]:
    """Return what is due of these plugins, the longest due first."""
    query = sa.select(connectors).where(connectors.c.delete_time.is_not(None), connectors.c.cleanup_due <= now)
    rows = connection.execute(query.order_by(connectors.c.cleanup_due)).mappings()
    found = [Cleanup(row["uid"], row["name"], json.loads(row["config"]), row["delete_time"]) for row in rows]
    return [each for each in found if each.config.get(CLASS.key) in plugins]


def take(connection: sa.Connection, cleanup: Cleanup, now: int, seconds: int) -> bool:
    """Let it be due again after so many seconds; return False when somebody else was faster."""
    free = sa.and_(_same(cleanup.connector_uid, cleanup.delete_time), connectors.c.cleanup_due <= now)
    return connection.execute(connectors.update().where(free).values(cleanup_due=now + seconds * _SECOND)).rowcount == 1


def pending(connection: sa.Connection, uid: str, delete_time: int) -> sa.RowMapping | None:
    """Return the row of a connector behind which a cleanup is left; None: it was adopted, deleted again, or the cleanup is over."""
    query = sa.select(connectors).where(_same(uid, delete_time), connectors.c.cleanup_due.is_not(None))
    return connection.execute(query).mappings().one_or_none()


def settle(connection: sa.Connection, row: sa.RowMapping, outcome: CleanupOutcome, error: str, now: int) -> None:
    """Keep what became of the cleanup behind the connector of a row, and when it is tried again."""
    wait = _wait(outcome, (now - row["delete_time"]) // _SECOND)
    due_then = None if wait is None else now + wait * _SECOND
    told = row["cleanup_error"] if outcome is CleanupOutcome.TOO_EARLY else error
    values = {"cleanup_due": due_then, "cleanup_error": told}
    connection.execute(connectors.update().where(connectors.c.uid == row["uid"]).values(values))


def _wait(outcome: CleanupOutcome, age: int) -> int | None:
    """Return the seconds until the next try; None: there is none. As long as was tried already, so the times double."""
    match outcome:
        case CleanupOutcome.FAILED:
            return max(FIRST_RETRY_SECONDS, min(age, LAST_RETRY_SECONDS))
        case CleanupOutcome.TOO_EARLY:
            return TOO_EARLY_SECONDS
        case _:
            return None


def _same(uid: str, delete_time: int) -> sa.ColumnElement[bool]:
    return sa.and_(connectors.c.uid == uid, connectors.c.delete_time == delete_time)
