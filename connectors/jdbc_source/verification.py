"""The tables that a source reads, for comparisons with those of a sink."""

from collections.abc import Sequence

from connectors.jdbc.reading.table_rows import JdbcRows, table_of
from connectors.jdbc.session import Session
from connectors.jdbc_source.tables import TableSettings, names, topic_of
from rocketconnect_sdk.verification import CapturedTable, SourceTables, TableRows


class JdbcTables(SourceTables):
    """See SourceTables.

    Args:
        session: The database.
        wanted: What is read of it.
        topic: Of the configuration.
    """

    def __init__(self, session: Session, wanted: TableSettings, topic: str) -> None:
        self._session = session
        self._wanted = wanted
        self._topic = topic

    def tables(self) -> Sequence[CapturedTable]:
        """See SourceTables. Rows, unlike changes, do not say where they come from. A query is no table."""
        found = [] if self._wanted.query else names(self._session, self._wanted)
        return [CapturedTable(name, topic_of(self._wanted, name) or self._topic, {}) for name in found]

    def open(self, name: str) -> TableRows:
        """See SourceTables."""
        return _Rows(self._session, name, self._wanted.key)


class _Rows(JdbcRows, TableRows):
    def __init__(self, session: Session, name: str, key: Sequence[str]) -> None:
        table = table_of(session, name)
        self.columns, self.key = table.columns, tuple(key) or table.key
        super().__init__(session, name, table.columns)
