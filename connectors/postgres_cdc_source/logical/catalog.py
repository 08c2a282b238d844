"""Types that are not built in, from the database's catalogue.

https://www.postgresql.org/docs/current/catalog-pg-type.html
"""

from dataclasses import dataclass
from typing import LiteralString

import psycopg
from psycopg.rows import TupleRow

from connectors.postgres_cdc_source.logical.connection import ask
from connectors.postgres_cdc_source.logical.types import GEOMETRY, HSTORE, MONEY, TEXT, PgType, array_of, builtin

_NAMED = {"hstore": HSTORE, "geometry": GEOMETRY, "geography": GEOMETRY}
"""Types of extensions, whose OIDs differ from database to database."""
_DEPTH = 32

_TYPE: LiteralString = """
SELECT typname, typtype, typbasetype, typtypmod, CASE WHEN typoutput = 'array_out'::regproc THEN typelem ELSE 0 END, typdelim
FROM pg_type WHERE oid = %s
"""


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    kind: str
    base: int
    modifier: int
    element: int
    delimiter: str


class Catalog:
    """Says what types are; asks the database once for each that is not built in. A type that is no longer there is text.

    Args:
        connection: To the database whose changes are read, as connect makes it. Used by one thread at a time.
    """

    def __init__(self, connection: psycopg.Connection[TupleRow]) -> None:
        self._connection = connection
        self._types: dict[tuple[int, int], PgType] = {}
        self._money_scale: int | None = None

    def resolve(self, oid: int, modifier: int) -> PgType:
        """The type of an OID and of what the column says besides.

        Raises:
            ConnectorError: the database does not answer.
        """
        found = self._types.get((oid, modifier))
        if found is None:
            found = self._types[oid, modifier] = self._look_up(oid, modifier, _DEPTH)
        return found

    def _look_up(self, oid: int, modifier: int, depth: int) -> PgType:
        found = builtin(oid, modifier, self._scale() if oid in MONEY else 2)
        if found is not None or not depth:
            return found or TEXT
        rows = ask(self._connection, _TYPE, [oid])
        if not rows:
            return TEXT
        row = _Row(*rows[0])
        if row.kind == "d":
            # A domain says the digits of a numeric itself, and its columns do not.
            return self._look_up(row.base, row.modifier, depth - 1)
        if row.element:
            return array_of(self._look_up(row.element, modifier, depth - 1), row.delimiter)
        return _NAMED.get(row.name, TEXT) if row.kind == "b" else TEXT

    def _scale(self) -> int:
        if self._money_scale is None:
            self._money_scale = int(ask(self._connection, "SELECT scale(1::money::numeric)")[0][0])
        return self._money_scale
