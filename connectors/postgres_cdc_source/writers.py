"""Transactions that were changing a table when it was published.

The log may lack what they do to it even behind that, so its rows are read when they are over.
"""

from collections.abc import Iterable
from typing import LiteralString

import psycopg
from psycopg.rows import TupleRow

from connectors.postgres_cdc_source.logical.connection import ask
from connectors.postgres_cdc_source.tables import Name

_WRITERS: LiteralString = """
SELECT DISTINCT l.virtualtransaction FROM pg_locks l
JOIN pg_class c ON c.oid = l.relation OR l.relation IN (SELECT relid FROM pg_partition_tree(c.oid))
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND l.locktype = 'relation' AND l.granted
AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND l.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
"""


class Writers:
    """Of tables that are new in the publication. For one thread.

    Args:
        control: A connection to the database that commits each statement.
    """

    def __init__(self, control: psycopg.Connection[TupleRow]) -> None:
        self._control = control
        self._held: dict[Name, frozenset[str] | None] = {}

    def hold(self, names: Iterable[Name]) -> None:
        """These are not published yet."""
        self._held.update(dict.fromkeys(names))

    def published(self, names: Iterable[Name]) -> None:
        """These are, from now on.

        Raises:
            ConnectorError: the server does not answer.
        """
        self._held.update({name: self._now(name) for name in names})

    def over(self, name: Name) -> bool:
        """Whether a table is published, and all that wrote to it when it became so has ended.

        Raises:
            ConnectorError: the server does not answer.
        """
        if name not in self._held:
            return True
        held = self._held[name]
        if held is None or held & self._now(name):
            return False
        del self._held[name]
        return True

    def _now(self, name: Name) -> frozenset[str]:
        return frozenset(number for (number,) in ask(self._control, _WRITERS, name))
