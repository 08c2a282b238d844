"""What the definition of a table says of its columns, for what the log leaves out (`TableMap.missing`).

It is that of now; a table that was altered since the rows were written has another one, so binlog_row_metadata=FULL is better.
"""

import re

from connectors.mysql_cdc_source.binlog.row_reading.table_map import ColumnFacts, TableMap
from connectors.mysql_cdc_source.binlog.server import Connection, rows_of

_COLUMNS = """
SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME FROM information_schema.COLUMNS
WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION
"""
_EXTENSIONS = {"uuid", "inet4", "inet6"}
_UNSIGNED_TYPES = {"year"}
_BYTES = {"binary", "varbinary", "blob", "tinyblob", "mediumblob", "longblob"}
_LABEL = re.compile(r"'((?:[^']|'')*)'")


def columns_of(connection: Connection, schema: str, table: str) -> list[ColumnFacts]:
    """Facts of each column in order; none when there is no such table, or the user may not see it."""
    return [column_facts(*row) for row in rows_of(connection, _COLUMNS, schema, table)]


def completed(connection: Connection, table: TableMap) -> TableMap:
    """The table with what its definition says. Raises MalformedEvent: see TableMap.completed."""
    return table.completed(columns_of(connection, table.schema, table.table))


def column_facts(name: str, data_type: str, column_type: str, charset: str | None) -> ColumnFacts:
    """The facts that information_schema.COLUMNS has of one column."""
    kind = data_type.lower()
    labels = tuple(label.replace("''", "'") for label in _LABEL.findall(column_type)) if kind in {"enum", "set"} else None
    unsigned = " unsigned" in column_type.lower() or kind in _UNSIGNED_TYPES
    is_number = charset is None and labels is None
    return ColumnFacts(
        name,
        unsigned=unsigned if is_number else None,
        charset="binary" if kind in _BYTES or kind in _EXTENSIONS else charset,
        labels=labels,
        extension=kind if kind in _EXTENSIONS else None,
    )
