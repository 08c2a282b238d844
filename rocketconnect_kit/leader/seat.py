"""Where a service keeps who leads: one row of its own store, with a term and the time until which its leader leads.

Apart from the election itself, because services without a store do without SQL.
"""

import sqlalchemy as sa

from rocketconnect_kit.errors import Aborted
from rocketconnect_kit.leader.election import LEASE_SECONDS
from rocketconnect_kit.store.database import reading, writing


class StoredSeat:
    """The leader's row of a service, in the service's own store. Methods block.

    Args:
        engine: a migrated database with the table `<service>_leader`.
        service: such as "cluster".
        lease: for how many seconds this replica leads after a renewal.
    """

    def __init__(self, engine: sa.Engine, service: str, lease: float = LEASE_SECONDS) -> None:
        self._engine = engine
        self._table = _table(service)
        self.lease = lease
        self.is_shared = engine.dialect.name == "postgresql"
        """Whether there may be other replicas."""

    def take(self, holder: str) -> int | None:
        """Begin the next term and return it; None: somebody leads. On SQLite nobody else can.

        Returns when no transaction of an earlier term runs or can still begin.
        """
        if self.is_shared and self._is_taken():
            return None
        with writing(self._engine) as connection:
            # Waits for the transactions that have asked for the term (`require_term`); those that come later find another one.
            row = connection.execute(sa.select(self._table.c.term, self._table.c.until).with_for_update()).one()
            now = _now(connection)
            if self.is_shared and row.until > now:
                return None
            term = int(row.term) + 1
            connection.execute(self._table.update().values(holder=holder, term=term, until=now + self.lease))
        return term

    def renew(self, term: int) -> bool:
        """Lead for another lease from now; return whether the term still holds."""
        with writing(self._engine) as connection:
            renewed = self._table.update().where(self._table.c.term == term).values(until=_now(connection) + self.lease)
            return connection.execute(renewed).rowcount == 1

    def release(self, term: int) -> None:
        """End the lease of a term, so that the next one leads at once; nothing when the term is over."""
        with writing(self._engine) as connection:
            connection.execute(self._table.update().where(self._table.c.term == term).values(until=0.0))

    def _is_taken(self) -> bool:
        with reading(self._engine) as connection:
            until = connection.execute(sa.select(self._table.c.until)).scalar_one()
            return bool(until > _now(connection))


def require_term(connection: sa.Connection, service: str, term: int) -> None:
    """Return if `term` is the present one, which it then stays until the transaction ends. First thing in each that writes.

    Raises:
        Aborted: TERM_OVER.
    """
    table = _table(service)
    # KEY SHARE: renewals need not wait for a long transaction, who takes the next term does.
    asked = sa.select(table.c.term).where(table.c.term == term).with_for_update(read=True, key_share=True)
    if connection.execute(asked).scalar_one_or_none() is None:
        message = f"another {service} service leads now: it has taken the store over"
        raise Aborted("TERM_OVER", message)


def _table(service: str) -> sa.TableClause:
    return sa.table(f"{service}_leader", sa.column("holder"), sa.column("term"), sa.column("until"))


def _now(connection: sa.Connection) -> float:
    """Return the seconds since 1970 on the clock of the database."""
    if connection.dialect.name != "postgresql":
        return 0.0
    return float(connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())
