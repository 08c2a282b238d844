"""Deleted connectors that are forgotten, in SQL.

What is forgotten goes in one transaction, which takes turns with every other write of connectors: so a connector is adopted, or it
is forgotten. In the same transaction its uid is noted for the position service, and the note goes when that has forgotten it, too.
Whoever is killed in between leaves the note, and the next look goes on with it.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from rocketconnect_kit.store.database import reading, writing
from services.config import tables

MOST = 100
"""So many are forgotten in one transaction, and told at once."""


class ForgettingStore:
    """What a store forgets. Methods block, and may be called from several threads and replicas.

    Args:
        engine: A migrated database.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def forget(self, before: int) -> int:
        """Forget connectors that were deleted before a time, in microseconds; return how many: below MOST, those are all.

        With a connector go its revisions, its history and what it read and wrote. One behind which a cleanup is left stays.
        """
        connectors = tables.connectors
        # The time of a deletion is unknown of those that live.
        over = (connectors.c.delete_time < before) & connectors.c.cleanup_due.is_(None)
        with reading(self._engine) as connection:
            if connection.execute(sa.select(connectors.c.uid).where(over).limit(1)).first() is None:
                return 0
        with writing(self._engine) as connection:
            turn = tables.sequence.update().where(tables.sequence.c.id == 1).values(sequence=tables.sequence.c.sequence)
            connection.execute(turn)
            uids = connection.execute(sa.select(connectors.c.uid).where(over).limit(MOST)).scalars().all()
            if uids:
                for of in (
                    connectors.c.uid,
                    *(table.c.connector_uid for table in (tables.revisions, tables.history, tables.origins)),
                ):
                    connection.execute(of.table.delete().where(of.in_(uids)))
                connection.execute(tables.forgotten.insert(), [{"connector_uid": uid} for uid in uids])
        return len(uids)

    def untold(self) -> Sequence[str]:
        """Return uids of forgotten connectors of which the position service may not know it; at most MOST."""
        query = sa.select(tables.forgotten.c.connector_uid).limit(MOST)
        with reading(self._engine) as connection:
            return connection.execute(query).scalars().all()

    def told(self, uids: Sequence[str]) -> None:
        """The position service has forgotten these."""
        with writing(self._engine) as connection:
            connection.execute(tables.forgotten.delete().where(tables.forgotten.c.connector_uid.in_(uids)))
