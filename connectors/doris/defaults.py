"""The defaults of columns that records do not name. Pure."""

import re
from collections.abc import Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from connectors.doris.types import Column, digits_of, parts

_NOW = re.compile(r"(current_timestamp|current_date|now)\b.*", re.IGNORECASE | re.DOTALL)
_CLOCKS = ("date", "datetime")


def filled(rows: pa.Table, columns: Sequence[Column], unnamed: Sequence[Sequence[str]], now: datetime) -> pa.Table:
    """Rows with the defaults of all columns that they do not name.

    A load names its columns once for all of its rows, so that the server gives a column its default in each of them or in none.
    What a row has must not depend on the others: no default is left to the server, but the numbers that it makes.

    Args:
        rows: See connectors.doris.shape.fitted.
        columns: Of the table.
        unnamed: By row the columns among those of the rows that it does not name.
        now: What CURRENT_TIMESTAMP is, in UTC, as all moments that are written.
    """
    for column in columns:
        if column.default is None or column.in_key:
            continue
        text = pa.scalar(_text(column.kind, column.default, now), pa.string())
        if column.name not in rows.column_names:
            rows = rows.append_column(column.name, pa.repeat(text, rows.num_rows))
        elif any(column.name in names for names in unnamed):
            left = pa.array([column.name in names for names in unnamed], pa.bool_())
            place = rows.column_names.index(column.name)
            rows = rows.set_column(place, column.name, pc.if_else(left, text, rows.column(place).cast(pa.string())))
    return rows


def _text(kind: str, default: str, now: datetime) -> str:
    name, _ = parts(kind)
    if not (name.startswith(_CLOCKS) and _NOW.fullmatch(default.strip())):
        return default
    if not name.startswith("datetime"):
        return now.date().isoformat()
    digits = digits_of(kind)
    return now.strftime("%Y-%m-%d %H:%M:%S") + (f".{now.microsecond:06}"[: digits + 1] if digits else "")
