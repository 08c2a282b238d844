"""The tables that a sink writes, for comparisons with those of a source."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from connectors.jdbc.reading.table_rows import JdbcRows, table_of
from connectors.jdbc.session import Session
from connectors.jdbc_sink.shape import Shape, fitted, met
from rocketconnect_sdk.schema import Field, Schema, Type
from rocketconnect_sdk.spark.types import to_spark
from rocketconnect_sdk.targets.rows import Rows
from rocketconnect_sdk.verification import CapturedTable, KeptRows, SinkTables


class JdbcTables(SinkTables):
    """See SinkTables.

    Args:
        session: The database.
        form: Of the names of tables.
    """

    def __init__(self, session: Session, form: str) -> None:
        self._session = session
        self._form = form

    def target(self, table: CapturedTable) -> str:
        """See SinkTables."""
        name = self._form.replace("${topic}", table.topic)
        for part, text in table.origin.items():
            name = name.replace(f"${{{part}}}", text)
        return name

    def open(self, name: str) -> KeptRows:
        """See SinkTables."""
        return _Kept(self._session, name)


class _Kept(JdbcRows, KeptRows):
    def __init__(self, session: Session, name: str) -> None:
        self._table = table_of(session, name)
        self.columns, self.key = self._table.columns, self._table.key
        self._dialect = session.dialect
        super().__init__(session, name, self.columns)

    def kept(self, rows: pa.StructArray, schema: Schema) -> tuple[pa.Table, Mapping[int, str]]:
        """See KeptRows."""
        there = {field.name: field.schema for field in schema.fields}
        # A null is compared, not refused.
        both = tuple(Field(each.name, replace(each.schema, optional=True)) for each in self.columns.fields if each.name in there)
        given = Schema(Type.STRUCT, fields=tuple(Field(each.name, there[each.name]) for each in both))
        values = pa.StructArray.from_arrays([rows.field(each.name) for each in both], [each.name for each in both])
        table = replace(self._table, columns=replace(self.columns, fields=both))
        shape = Shape(self._name, met(table, given, (), self._dialect), (), table.widths, table.checks, table.decimals)
        made, reasons = fitted(Rows(to_spark(values), given), shape, self._dialect)
        return pa.table({name: self._shown(name, made[name]) for name in made.column_names}), reasons

    def _shown(self, name: str, column: pa.ChunkedArray) -> pa.Array:
        if name in self._table.padded:
            return pc.utf8_rtrim(column.combine_chunks(), " ")
        if name not in self._table.decimals:
            return _zoneless(column)
        texts = column.cast(pa.string()).to_pylist()
        return pa.array([None if text is None else _plain_number(text) for text in texts], pa.string())


def _plain_number(text: str) -> str:
    """A number as one text, however many zeros it is written with; anything else as it is."""
    try:
        value = Decimal(text)
    except ArithmeticError:
        return text
    if not value.is_finite():
        return str(value)
    plain = f"{value:f}"
    return (plain.rstrip("0").rstrip(".") if "." in plain else plain) if value else "0"


def _zoneless(column: pa.ChunkedArray) -> pa.Array:
    """Points in time in UTC, whether the table says so or not."""
    array = column.combine_chunks()
    return array.cast(pa.timestamp(array.type.unit)) if pa.types.is_timestamp(array.type) and array.type.tz else array
