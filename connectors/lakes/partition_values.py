"""Values that the name of a folder cannot hold: tables that keep partitions in such names read other ones, or cannot be written."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from rocketconnect_sdk.errors import RecordError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""What Hive, Spark and others call the partition of those that have no value."""
_LONGEST = 255
"""Bytes of the name of a folder."""
_ESCAPED = frozenset("\"#%'*/:=?\\\x7f{}[]^")
"""What has three characters in such a name, beside the control characters."""
_SHOWN = 100


def lost(rows: pa.Table, partitions: Sequence[str]) -> Mapping[int, str]:
    """By index the rows with a value that their partition cannot hold, with what to do.

    Args:
        rows: Of the table, as Spark has them.
        partitions: The columns that it is partitioned by; rows need not have all of them.
    """
    found: dict[int, str] = {}
    for name in partitions:
        if name in rows.column_names and (pa.types.is_string(kind := rows.schema.field(name).type) or pa.types.is_binary(kind)):
            held = rows.column(name).combine_chunks().dictionary_encode()
            reasons = [_reason(name, value) for value in held.dictionary.to_pylist()]
            bad = pa.array([number for number, reason in enumerate(reasons) if reason], held.indices.type)
            for row in pc.indices_nonzero(pc.is_in(held.indices, bad)).to_pylist() if len(bad) else ():
                found.setdefault(row, reasons[held.indices[row].as_py()])
    return found


def none_lost(rows: pa.Table, partitions: Sequence[str]) -> None:
    """Raises RecordError: there is such a row."""
    if found := lost(rows, partitions):
        raise RecordError(next(iter(found.values())))


def none_lost_of(rows: "DataFrame", partitions: Sequence[str]) -> None:
    """The same of rows that Spark has: it makes a job of the values of text and bytes, where there are any."""
    from pyspark.sql.types import BinaryType, StringType

    names: list[Any] = [
        rows[each.name] for each in rows.schema if each.name in partitions and isinstance(each.dataType, StringType | BinaryType)
    ]
    if names:
        none_lost(rows.select(*names).distinct().toArrow(), partitions)


def _reason(name: str, value: str | bytes) -> str:
    """Why the name of a folder cannot hold a value; empty: it can."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            fix = "Make it text with a transform, or partition a new table by another column"
            return f"the column {name} is bytes that are no text, which the name of a partition does not hold as they are. {fix}"
    why = ""
    if value in ("", NOTHING):
        why = "which would become null"
    elif "\0" in value:
        why = "and no name has the character U+0000"
    elif len(name.encode()) + 1 + _width(value) > _LONGEST:
        why = f"and a name has up to {_LONGEST} bytes"
    fix = "Give the column another value, or null, with a transform, or partition a new table by another column"
    return f"the column {name} is {value[:_SHOWN]!r}, {why}: the table keeps it in the name of a partition. {fix}" if why else ""


def _width(text: str) -> int:
    return sum(3 if sign in _ESCAPED or sign < " " else len(sign.encode()) for sign in text)
