"""The rows of tables, read back for comparisons."""

from datetime import datetime
from decimal import Decimal

from connectors.doris.endpoint import literal, quoted
from connectors.doris.session import Session
from connectors.doris.tables import Table
from connectors.doris.types import Column, digits_of, parts
from connectors.jdbc.values import to_rows
from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.tables.reader import Reader, floor
from rocketconnect_sdk.verification import ReadRows

_TEXTS = ("char", "varchar", "string", "text")


class DorisReader(Reader[Column, Table]):
    """See Reader. A table with unique keys shows the newest row of each key by itself.

    Args:
        session: Statements.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def ordered(self, column: Column) -> str:
        """See Reader. What is text to us only, such as an IPV4, has an order of its own there."""
        name = quoted(column.name)
        is_other = column.schema.type is Type.STRING and parts(column.kind)[0] not in _TEXTS
        return f"CAST({name} AS STRING)" if is_other else name

    def literal(self, value: int | str | Decimal, column: Column) -> str:
        """See Reader."""
        match column.schema.type:
            case Type.TIMESTAMP:
                digits = digits_of(column.kind)
                text = datetime.fromisoformat(str(value)).isoformat(" ", "microseconds")
                return f"'{text[: 20 + digits] if digits else text[:19]}'"
            case Type.DATE | Type.STRING:
                return literal(str(value))
        return f"({floor(value, column.schema.scale):f})"

    def rows(self, table: Table, tail: str) -> ReadRows:
        """See Reader."""
        names = ", ".join(quoted(each) for each in table.names)
        found = self._session.rows(f"SELECT {names} FROM {self._session.place.table(table.name)} {tail}")  # noqa: S608  # quoted
        columns = list(map(list, zip(*found, strict=True))) if found else [[] for _ in table.columns]
        return to_rows(columns, Schema(Type.STRUCT, fields=table.fields))
