"""What creates with a request id were answered: the same request again is answered the same."""

import hashlib
import json
from dataclasses import asdict

import sqlalchemy as sa

from rocketconnect_kit.errors import AlreadyExists
from services.config import tables
from services.config.domain import Connector, ConnectorType, Draft, WantedState

REQUEST_DAYS = 7
"""For so long the same request id is the same create."""

MICROSECONDS_A_DAY = 24 * 3600 * 1_000_000


def answered(connection: sa.Connection, draft: Draft) -> Connector | None:
    """Return what a create with this request id was answered, or None when there was none.

    Raises:
        AlreadyExists: REQUEST_ID_REUSED: it was another create.
    """
    if not draft.request_id:
        return None
    row = connection.execute(sa.select(tables.requests).where(tables.requests.c.request_id == draft.request_id)).one_or_none()
    if row is None:
        return None
    if row.fingerprint != _fingerprint(draft):
        message = f"the request id {draft.request_id!r} was used for another create; choose a fresh one for each connector"
        raise AlreadyExists("REQUEST_ID_REUSED", message, request_id=draft.request_id)
    fields = json.loads(row.answer)
    kinds = {"wanted_state": WantedState(fields["wanted_state"]), "type": ConnectorType(fields["type"])}
    return Connector(**(fields | kinds))


def remember(connection: sa.Connection, now: int, draft: Draft, connector: Connector) -> None:
    """Keep what a create is answered, and forget what is older than REQUEST_DAYS."""
    old = tables.requests.c.create_time < now - REQUEST_DAYS * MICROSECONDS_A_DAY
    connection.execute(tables.requests.delete().where(old))
    values = {
        "request_id": draft.request_id,
        "fingerprint": _fingerprint(draft),
        "answer": json.dumps(asdict(connector)),
        "create_time": now,
    }
    connection.execute(tables.requests.insert().values(values))


def _fingerprint(draft: Draft) -> str:
    said = [draft.name, draft.config, draft.wanted_state, draft.adopt_uid]
    # Without a set the fingerprint is what it was before there were sets, for requests that are repeated across an upgrade.
    body = json.dumps([*said, draft.apply_set] if draft.apply_set else said, sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()
