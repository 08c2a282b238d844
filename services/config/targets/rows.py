"""Looks up which connectors alone may write to targets."""

import json
from collections.abc import Sequence

import sqlalchemy as sa

from rocketconnect_kit.errors import FieldProblem
from rocketconnect_sdk.targets.owned import Target
from services.config import checks, tables
from services.config.domain import Connector, ConnectorType, Deleted
from services.config.rows import LIVING, connector_of, deleted_of, find_row

_FORMER = 10
"""So many deleted connectors are looked at, those that were deleted last."""


def dump(targets: Sequence[Target] | None) -> str | None:
    """Targets as they stand in a row."""
    return None if targets is None else json.dumps([[target.key, target.name] for target in targets])


def taken(connection: sa.Connection, targets: Sequence[Target] | None, name: str) -> list[FieldProblem]:
    """What is wrong with targets that another living connector has."""
    if not targets:
        return []
    known = LIVING & tables.connectors.c.targets.is_not(None) & (tables.connectors.c.name != name)
    rows = connection.execute(sa.select(tables.connectors.c.name, tables.connectors.c.targets).where(known))
    owners = {found: owner for owner, stored in rows for _, found in json.loads(stored)}
    return [checks.taken(target, owners[target.name]) for target in targets if target.name in owners]


def of_unknown(connection: sa.Connection) -> list[Connector]:
    """The living connectors that write and of which no executor has said yet what they alone may write."""
    unknown = tables.connectors.c.targets.is_(None) & (tables.connectors.c.type != ConnectorType.SOURCE)
    return [connector_of(row) for row in connection.execute(sa.select(tables.connectors).where(LIVING, unknown)).mappings()]


def former_writers(connection: sa.Connection, targets: Sequence[Target], name: str) -> list[tuple[Deleted, Target]]:
    """Deleted connectors of other names that alone might write one of the targets, the one that was deleted last first.

    Each with the first target that it has in common with these; none where the living connector of this name has one of them
    already: it writes there, and begins nothing anew.
    """
    wanted = {target.name: target for target in targets}
    row = None if "\0" in name else find_row(connection, name)
    if not wanted or (row is not None and wanted.keys() & _names(row["targets"])):
        return []
    connectors = tables.connectors
    # The text of the row has what it names, as JSON writes it.
    having = [connectors.c.targets.contains(json.dumps(each), autoescape=True) for each in sorted(wanted)]
    query = sa.select(connectors).where(~LIVING, connectors.c.name != name, sa.or_(*having))
    rows = connection.execute(query.order_by(connectors.c.delete_time.desc()).limit(_FORMER)).mappings()
    return [
        (deleted_of(row), wanted[common[0]])
        for row in rows
        if (common := [each for each in wanted if each in _names(row["targets"])])
    ]


def _names(targets: str | None) -> set[str]:
    return set() if targets is None else {name for _, name in json.loads(targets)}
