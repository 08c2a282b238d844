"""What the log leaves out of a row that got another key: large values that did not change.

Who reads by key takes the row for a new one, which no other record has these values of. They are read from the table: if they have
changed again since, the log says that later, too.
"""

import time
from collections.abc import Sequence
from typing import Any, LiteralString

import psycopg
from psycopg.rows import TupleRow

from connectors.postgres_cdc_source.logical.connection import ask
from connectors.postgres_cdc_source.rows.copying import Copy, values
from connectors.postgres_cdc_source.rows.table_rows import query_of_row
from connectors.postgres_cdc_source.rows.window import Shown
from connectors.postgres_cdc_source.tables import Table
from rocketconnect_sdk.errors import RetriableError

_SNAPSHOT: LiteralString = "SELECT pg_current_snapshot()::text"
_LONGEST = 30.0
_WAIT = 0.01


def current_values(
    connection: psycopg.Connection[TupleRow], table: Table, key: Sequence[Any], names: Sequence[str], xid: int
) -> Sequence[object] | None:
    """The values of columns of a row as they are now; None: there is no such row any more.

    Args:
        connection: Commits each statement.
        table: The table.
        key: The row's.
        names: Of the columns.
        xid: The transaction whose row it is.

    Raises:
        RetriableError: others do not see the transaction yet, as it waits for a standby.
        ConnectorError: the server does not answer, or refuses.
    """
    until = time.monotonic() + _LONGEST
    # The log has a transaction before others see it.
    while not Shown(ask(connection, _SNAPSHOT)[0][0])(xid):
        if time.monotonic() > until:
            msg = f"transaction {xid} of {table.name} is in the log, and not seen yet: does the server wait for a standby?"
            raise RetriableError(msg)
        time.sleep(_WAIT)
    kinds = {column.name: column.type for column in table.columns}
    with Copy(connection, query_of_row(table, key, names)) as copy:
        texts = copy.read(2, 1 << 62, len(names))
    return [values(text, kinds[name])[0] for name, text in zip(names, texts, strict=True)] if texts else None
