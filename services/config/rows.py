"""Rows of connectors and revisions, and what they say."""

import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from rocketconnect_kit.errors import AlreadyExists, FailedPrecondition, NotFound
from rocketconnect_sdk.targets.owned import Target
from services.config import history, tables
from services.config.domain import (
    Connector,
    ConnectorType,
    Deleted,
    Revision,
    WantedState,
)

Row = Mapping[str, Any] | sa.RowMapping

LIVING = tables.connectors.c.delete_time.is_(None)


def not_found(name: str) -> NotFound:
    """What is raised where no living connector has a name."""
    message = f"there is no connector {name[:128]!r}; list the connectors to see their names"
    return NotFound("CONNECTOR_NOT_FOUND", message, connector=name[:128])


def find_row(connection: sa.Connection, name: str) -> dict[str, Any] | None:
    """The row of a living connector; None: there is none."""
    row = connection.execute(sa.select(tables.connectors).where(LIVING, tables.connectors.c.name == name)).mappings().one_or_none()
    return None if row is None else dict(row)


def last_deleted(connection: sa.Connection, name: str) -> Deleted | None:
    """The connector that had a name last and is deleted; None: one lives, or there was none."""
    if "\0" in name:  # no name holds one, and PostgreSQL refuses to be asked
        return None
    connectors = tables.connectors
    query = sa.select(connectors).where(connectors.c.name == name)
    # The living one has no time of deletion.
    order = connectors.c.delete_time.is_(None).desc(), connectors.c.delete_time.desc()
    row = connection.execute(query.order_by(*order).limit(1)).mappings().one_or_none()
    if row is None or row["delete_time"] is None:
        return None
    return deleted_of(row)


def deleted_of(row: Row) -> Deleted:
    """The deleted connector in a row."""
    targets = None if row["targets"] is None else tuple(Target(*each) for each in json.loads(row["targets"]))
    return Deleted(connector_of(row), targets, row["delete_time"], row["origins"])


def existing_row(connection: sa.Connection, name: str, etag: str = "") -> dict[str, Any]:
    """The row of a living connector.

    Raises:
        NotFound: CONNECTOR_NOT_FOUND.
        Aborted: ETAG_MISMATCH: it is not as it was when the caller read it.
    """
    # No name holds a NUL, and PostgreSQL refuses to be asked for one.
    row = None if "\0" in name else find_row(connection, name)
    if row is None:
        raise not_found(name)
    if etag and etag != etag_of(row):
        raise history.etag_mismatch(connection, row, etag, current=etag_of(row))
    return row


def revisions_with_history() -> sa.Select[Any]:
    """All revisions, each with the change that made it."""
    revisions = tables.revisions
    more = [column for column in tables.history.c if column.name not in revisions.c]
    return sa.select(revisions, *more).join(tables.history, tables.history.c.sequence == revisions.c.sequence)


def find_revision(connection: sa.Connection, connector_uid: str, number: int) -> Row | None:
    """The row of one revision, with the change that made it; None: there is none."""
    mine = (tables.revisions.c.connector_uid == connector_uid) & (tables.revisions.c.revision == number)
    return connection.execute(revisions_with_history().where(mine)).mappings().one_or_none()


def dump_config(mapping: Mapping[str, str]) -> str:
    """A configuration as it stands in a row."""
    return json.dumps(dict(mapping), sort_keys=True)


def etag_of(row: Row) -> str:
    """The etag of a row."""
    return f"{row['changed']:x}"


def connector_of(row: Row) -> Connector:
    """The connector in a row."""
    return Connector(
        uid=row["uid"],
        name=row["name"],
        revision=row["revision"],
        etag=etag_of(row),
        config=json.loads(row["config"]),
        wanted_state=WantedState(row["wanted_state"]),
        type=ConnectorType(row["type"]),
        create_time=row["create_time"],
        update_time=row["update_time"],
        restarts=row["restarts"],
        apply_set=row["apply_set"],
    )


def revision_of(row: Row) -> Revision:
    """The revision in a row of `revisions_with_history`."""
    own = {name: row[name] for name in ("sequence", "connector_uid", "connector", "revision", "create_time")}
    return Revision(**own, config=json.loads(row["config"]), change=history.of_row(row))


def write_revision(connection: sa.Connection, sequence: int, now: int, row: Row) -> None:
    """Keep the configuration of a row as a revision."""
    values = {
        "sequence": sequence,
        "connector_uid": row["uid"],
        "connector": row["name"],
        "revision": row["revision"],
        "config": row["config"],
        "create_time": now,
    }
    connection.execute(tables.revisions.insert().values(values))


def already_there(name: str) -> AlreadyExists:
    """What is raised where a living connector has a name."""
    message = f"there is a connector {name!r} already; update it, delete it first, or choose another name"
    return AlreadyExists("CONNECTOR_EXISTS", message, connector=name)


def adopted_row(connection: sa.Connection, uid: str, above: int) -> dict[str, Any]:
    """What a new connector takes over from a deleted one, which has had the revision `above` whatever is stored.

    Raises:
        NotFound: ADOPTED_UID_NOT_FOUND.
        FailedPrecondition: ADOPTED_UID_ALIVE.
    """
    row = connection.execute(sa.select(tables.connectors).where(tables.connectors.c.uid == uid)).mappings().one_or_none()
    if row is None:
        message = f"no connector ever had the uid {uid!r}; take it from the revisions of the deleted connector"
        raise NotFound("ADOPTED_UID_NOT_FOUND", message, uid=uid)
    if row["delete_time"] is None:
        message = f"connector {row['name']!r} lives and has the uid {uid!r}; delete it first, or adopt none"
        raise FailedPrecondition("ADOPTED_UID_ALIVE", message, uid=uid, connector=row["name"])
    # Revisions go on counting: (uid, revision) names one configuration for ever.
    kept = {"uid": uid, "revision": max(row["revision"], above) + 1, "restarts": row["restarts"]}
    return kept | {"delete_time": None, "cleanup_due": None, "cleanup_error": None}
